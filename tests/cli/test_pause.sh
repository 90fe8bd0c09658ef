#!/bin/sh
# sluice pause: no new run starts.
# shellcheck disable=SC2154 # lib.sh and daemon.sh set home, id, root and tmp
. "$(dirname "$0")/lib.sh"
. "$here/daemon.sh"

run sluice pause
exits 0 'f124: pause: exit code'
prints 'paused; running tasks continue, nothing new starts' 'f124: pause'
run sluice pause
exits 0 'a second time: exit code'
rule 'f124: a second time: who paused it' grep -Eq "^the queue is paused already, by $(id -un) (just now|[0-9]+ s ago)\$" out
run sluice pause --json
rule 'as JSON' grep -Eq "^\{\"paused\":true,\"already\":true,\"paused_by\":\"$(id -un)\",\"paused_at\":[0-9]{13}\}\$" out
SLUICE_RUN=web-17.2 "$SLUICE" pause --json >out
rule 'f124: the first who paused it is kept' grep -q "\"paused_by\":\"$(id -un)\"" out
run sluice resume
SLUICE_RUN=web-17.2 "$SLUICE" pause --json >out
rule 'f124: a run that pauses is named' grep -q '"paused_by":"web-17.2"' out
add -- true
rule 'what is added waits' [ "$(value "$id" gate)" = paused ]
run sluice down
start
rule 'the pause outlives the daemon' [ "$(value "$id" gate)" = paused ]
run sluice resume
rule 'and ends with resume' becomes "$id" 'done'

run sluice project add web
run sluice project add api
run sluice pause web api
prints 'web paused; running tasks continue, nothing new starts
api paused; running tasks continue, nothing new starts' 'projects'
run sluice pause web api --json
rule 'projects, as JSON' [ "$(grep -o '"already":true,"paused_by":"[^"]*"' out | wc -l)" -eq 2 ]
run sluice project show web
rule 'f124: the project tells who paused it' grep -q "^web (paused by $(id -un) " out
add --project web -- true
rule 'a task of a paused project waits' [ "$(value "$id" gate)" = project ]
run sluice pause nope
exits 1 'no such project: exit code'
says "sluice: there is no project 'nope'" 'no such project'
run sluice pause ''
exits 2 'an empty name: exit code'
says "sluice: the name of a project is empty
usage: sluice pause [PROJECT...]" 'an empty name'
run sluice pause --now
exits 2 'an unknown option'

# A daemon that cannot be started.
run sluice down
config 'limits: {rnus: 1}'
run sluice pause
exits 3 'no daemon can be started: exit code'
[ ! -s out ] && [ "$(wc -l <err)" -eq 1 ] && grep -q "unknown key 'limits.rnus'" err
report $? 'no daemon can be started: one sentence, with the reason'
finish
