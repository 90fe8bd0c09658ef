#!/bin/sh
# sluice snapshot: exports the live queue for plan and sim.
# shellcheck disable=SC2154 # lib.sh and daemon.sh set home, id, root and tmp
. "$(dirname "$0")/lib.sh"
. "$here/daemon.sh"

run sluice snapshot
exits 3 'no daemon: exit code'
rule 'no daemon: nothing on stdout' [ ! -s "$tmp/out" ]
rule 'no daemon: one line' [ "$(wc -l <"$tmp/err")" -eq 1 ]
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
rule 'an empty queue: nothing to do' [ "$(cat plan.txt)" = '0 tasks: nothing to do' ]

# Hostile texts appear only where names are, or not at all.
add --project 'we"b <\u00e9>' --title 'a "title" \ <b>' --kind 'review' -- sh -c 'echo "a prompt"'
add --project api --kind 'k "<x>.y' --priority 50 --resource 'gpu "a"' -- true
add --project api --after "$id" -- true
"$SLUICE" snapshot >queue.json
report $? 'a queue'
rule 'titles and commands are not in it' not grep -q 'title\|prompt\|echo' queue.json
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
rule 'anonymous: no name is in it' not grep -q 'web\|api\|review\|gpu\|<' anonymous.json
"$SLUICE" plan --json --set limits.runs=8 anonymous.json | sed -n 's/.*"task":"task-\([0-9]*\)".*/\1/p' >neutral
sed -n 's/.*"task":"[a-z]*-\([0-9]*\)".*/\1/p' plan.json >real
rule 'anonymous: the same decisions' cmp real neutral
run sluice snapshot --json
exits 0 'with --json: exit code'

rule 'no file stays in the home' [ -z "$(ls -A "$home/snapshots" 2>/dev/null)" ]

run sluice down --wait
run sluice snapshot
exits 3 'after down: exit code'
finish
