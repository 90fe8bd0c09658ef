#!/bin/sh
# sluice resume: ends a pause.
# shellcheck disable=SC2154 # lib.sh and daemon.sh set home, id, root and tmp
. "$(dirname "$0")/lib.sh"
. "$here/daemon.sh"

run sluice resume
exits 0 'nothing to resume: exit code'
prints 'the queue is not paused' 'nothing to resume'
run sluice pause
add -- true
run sluice resume
exits 0 'f124: resume: exit code'
prints 'resumed' 'f124: resume'
rule 'what waited starts' becomes "$id" 'done'
run sluice project add web
run sluice pause web
run sluice resume web
prints 'web resumed' 'a project'
run sluice resume web --json
prints '{"paused":false,"already":true}' 'as JSON'
run sluice resume nope
exits 1 'no such project: exit code'
says "sluice: there is no project 'nope'" 'no such project'
run sluice resume ''
exits 2 'an empty name'
finish
