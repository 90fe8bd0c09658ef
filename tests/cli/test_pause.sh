#!/bin/sh
# sluice pause: nothing new starts.
# shellcheck disable=SC2154 # lib.sh and daemon.sh set home, id, root and tmp
. "$(dirname "$0")/lib.sh"
. "$here/daemon.sh"

run sluice pause
exits 0 'f124: pause: exit code'
prints 'paused; what runs goes on, nothing new starts' 'f124: pause'
run sluice pause
exits 0 'a second time: exit code'
grep -Eq "^the queue is paused already, by $(id -un) (just now|[0-9]+ s ago)\$" out
report $? 'f124: a second time: who paused it'
run sluice pause --json
grep -Eq "^\{\"paused\":true,\"already\":true,\"paused_by\":\"$(id -un)\",\"paused_at\":[0-9]{13}\}\$" out
report $? 'as JSON'
SLUICE_RUN=web-17.2 "$SLUICE" pause --json >out
grep -q "\"paused_by\":\"$(id -un)\"" out
report $? 'f124: the first who paused it is kept'
run sluice resume
SLUICE_RUN=web-17.2 "$SLUICE" pause --json >out
grep -q '"paused_by":"web-17.2"' out
report $? 'f124: a run that pauses is named'
add -- true
[ "$(value "$id" gate)" = paused ]
report $? 'what is added waits'
run sluice down
start
[ "$(value "$id" gate)" = paused ]
report $? 'the pause outlives the daemon'
run sluice resume
becomes "$id" 'done'
report $? 'and ends with resume'

run sluice project add web
run sluice project add api
run sluice pause web api
prints 'web paused; what runs goes on, nothing new starts
api paused; what runs goes on, nothing new starts' 'projects'
run sluice pause web api --json
[ "$(grep -o '"already":true,"paused_by":"[^"]*"' out | wc -l)" -eq 2 ]
report $? 'projects, as JSON'
run sluice project show web
grep -q "^web (paused by $(id -un) " out
report $? 'f124: the project tells who paused it'
add --project web -- true
[ "$(value "$id" gate)" = project ]
report $? 'a task of a paused project waits'
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
