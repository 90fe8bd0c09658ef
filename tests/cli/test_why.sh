#!/bin/sh
# sluice why: all gates of a task, the first closed gate, and what opens it.
# shellcheck disable=SC1091,SC2034,SC2154 # lib.sh and daemon.sh set home, id, root and tmp
. "$(dirname "$0")/lib.sh"
. "$here/daemon.sh"

LC_ALL=C
export LC_ALL
run sluice why web-1
exits 3 'no daemon: exit code'
start
add --hold -- true
first=$id
add --after "$first" -- true
run sluice why "$id"
exits 0 'why: exit code'
sed 1q out | grep -q "^$id  waiting  .*$first"
report $? 'the reason first'
rule 'a gate that is open' grep -q '^  + paused  *open$' out
rule 'the gate that is closed, and why' grep -q "^  x dependency  *closed  .*$first" out
run sluice why "$id" --json
has '"first":"dependency"' 'as JSON: the first gate'
has '{"gate":"paused","open":true' 'as JSON: all gates'
run env LC_ALL=C.UTF-8 "$SLUICE" why "$id"
has '✗ dependency' 'a nicer mark where it can be shown'

run sluice why "$first"
rule 'held by hand' grep -q '^  x held  *closed' out
add --in 1h -- true
run sluice why "$id"
rule 'a gate that opens by itself says when' grep -q '(opens in [0-9]* m)$' out
add -- true
ends "$id"
becomes "$id" 'done'
run sluice why "$id"
exits 0 'of a finished task: exit code'
sed 1q out | grep -qx "$id  done  it has succeeded"
report $? 'of a finished task'

add --retries 0 -- sh -c 'exit 7'
ends "$id"
run sluice why "$id"
prints "$id  failed  retry it when the cause is gone; its last run: exit code 7" 'of a failed task: why'
add --cwd "$tmp" -- ./no-such-program
becomes "$id" held
run sluice why "$id"
rule 'a breaker tells the error that opened it' grep -q "^  x breaker  *closed  .*: cannot run './no-such-program'.*; release it to try again" out
"$SLUICE" pause >/dev/null
run sluice why "$id"
rule 'a pause says since when' grep -Eq "^  x paused  *closed  everything is paused by '.*'; go on with: sluice resume \\(paused (just now|[0-9]+ s ago)\\)\$" out
"$SLUICE" resume >/dev/null

run sluice why nothing-99
exits 1 'no such task: exit code'
[ "$(wc -l <err)" = 1 ] && [ ! -s out ]
report $? 'no such task: one sentence'
run sluice why
exits 2 'no id'
finish
