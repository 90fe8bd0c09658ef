#!/bin/sh
# sluice snapshot: the live queue, for plan and sim.
# shellcheck disable=SC2154 # lib.sh and daemon.sh set home, id, root and tmp
. "$(dirname "$0")/lib.sh"
. "$here/daemon.sh"

run sluice snapshot
exits 3 'no daemon: exit code'
[ ! -s "$tmp/out" ]
report $? 'no daemon: nothing on stdout'
[ "$(wc -l <"$tmp/err")" -eq 1 ]
report $? 'no daemon: one line'
run sluice snapshot queue.json
exits 2 'an argument is refused'

config 'limits: {runs: 0, resource: {"gpu \"a\"": 1}}
projects: {"we\"b <\\u00e9>": {prefix: web, weight: 3}, api: {prefix: api}}
kinds: {review: {max_running: 1}, "k \"<x>.y": {max_running: 2}}'
start

run sluice snapshot
exits 0 'an empty queue: exit code'
"$SLUICE" plan "$tmp/out" >plan.txt
report $? 'an empty queue is a snapshot'
[ "$(cat plan.txt)" = '0 tasks: nothing to do' ]
report $? 'an empty queue: nothing to do'

# Hostile texts: they are where names are, or not there at all.
add --project 'we"b <\u00e9>' --title 'a "title" \ <b>' --kind 'review' -- sh -c 'echo "a prompt"'
add --project api --kind 'k "<x>.y' --priority 50 --resource 'gpu "a"' -- true
add --project api --after "$id" -- true
"$SLUICE" snapshot >queue.json
report $? 'a queue'
! grep -q 'title\|prompt\|echo' queue.json
report $? 'titles and commands are not in it'
"$SLUICE" plan --json --set limits.runs=8 queue.json >plan.json
report $? 'plan reads it'
[ "$(grep -c '"gate":"dependency"' plan.json)" -eq 1 ] && [ "$(sed -n '2,/]/p' plan.json | grep -c '"task"')" -ge 2 ]
report $? 'two start, one waits for its dependency'
"$SLUICE" plan --json queue.json | grep -q '"task":"web-1","gate":"lease:runs"'
report $? 'without --set the limit of the daemon counts'
"$SLUICE" sim --json --set limits.runs=8 queue.json >/dev/null
report $? 'sim reads it'

"$SLUICE" snapshot --anonymous >anonymous.json
report $? 'anonymous'
! grep -q 'web\|api\|review\|gpu\|<' anonymous.json
report $? 'anonymous: no name is in it'
"$SLUICE" plan --json --set limits.runs=8 anonymous.json | sed -n 's/.*"task":"task-\([0-9]*\)".*/\1/p' >neutral
sed -n 's/.*"task":"[a-z]*-\([0-9]*\)".*/\1/p' plan.json >real
cmp real neutral
report $? 'anonymous: the same decisions'
run sluice snapshot --json
exits 0 'with --json: exit code'

[ -z "$(ls -A "$home/snapshots" 2>/dev/null)" ]
report $? 'no file stays in the home'

run sluice down --wait
run sluice snapshot
exits 3 'after down: exit code'
finish
