#!/bin/sh
# sluice reject: sends finished work back for another run.
# shellcheck disable=SC2154 # lib.sh and daemon.sh set home, id, root and tmp
. "$(dirname "$0")/lib.sh"
. "$here/daemon.sh"

start
run sluice project add web
add --project web --review -- true
becomes web-1 held
run sluice pause
run sluice reject web-1
exits 0 'reject: exit code'
prints 'web-1 rejected: ready' 'reject'
run sluice show --json web-1
has '"depth":0,"iteration":2,' 'a new iteration'
run sluice reject web-1
exits 4 'what is not finished: exit code'
says "sluice: task 'web-1' is ready: only what waits for review or to be closed can be rejected" 'what is not finished'

# Bad input: one error message, and no change.
usage='usage: sluice reject [--reason TEXT] ID...'
run sluice reject
exits 2 'no task: exit code'
says "sluice: 'reject' needs at least 1 argument
$usage" 'no task'
run sluice reject ''
exits 2 'an empty id: exit code'
says "sluice: an ID is empty
$usage" 'an empty id'
run sluice reject web-1 nope-99
exits 1 'an unknown task among others: exit code'
says "sluice: there is no task 'nope-99'" 'an unknown task among others'
rule 'and nothing is printed' [ ! -s out ]
finish
