#!/bin/sh
# sluice events: lists and follows events.
# shellcheck disable=SC2154 # lib.sh and daemon.sh set home, id, root and tmp
. "$(dirname "$0")/lib.sh"
. "$here/daemon.sh"

run sluice events
exits 3 'no daemon: exit code'
start
run sluice project add web
add --project web -- true
becomes web-1 'done'
run sluice events
exits 0 'the newest: exit code'
has 'daemon.started' 'the daemon has started'
rule 'one line per event: time, number, kind, task, data' grep -q '^20[0-9-]* [0-9:]*  [0-9]*  *task.state  *web-1\.1 .*to=done' out
run sluice events --json --limit 1000
seq=$(sed -n 's/.*"seq":\([0-9]*\).*/\1/p' out | tail -n 1)
first=$(sed -n 's/.*{"items":\[{"seq":\([0-9]*\).*/\1/p' out)
rule 'the numbers have no gaps' [ "$(grep -c '"seq":' out)" -eq $((seq - first + 1)) ]
run sluice events --after $((seq - 2))
rule '--after: those behind it' [ "$(wc -l <out)" -eq 2 ]
run sluice events --after 0 --limit 3
rule '--limit' [ "$(wc -l <out)" -eq 3 ]
run sluice events --after "$seq"
rule 'nothing new' [ ! -s out ]
run sluice events --task web-1
! grep -q 'daemon.started' out && grep -q 'web-1' out
report $? '--task: only its own'

# Following continues across a restart of the daemon.
timeout "$patience" "$SLUICE" events -f --after "$seq" >followed 2>follow.err &
follower=$!
add --project web -- true
rule '--follow shows what happens' appears 'web-2.1  outcome=ok' followed
run sluice down
rule 'and says that the daemon has stopped' appears 'the daemon has stopped; waiting for it' follow.err
start
add --project web -- true
rule 'and goes on with the next one' appears 'web-3.1  outcome=ok' followed
kill $follower
wait $follower 2>/dev/null
rule 'and misses nothing' awk -v at="$seq" '$3 != ++at { exit 1 }' followed

# The command notices a closed pipe at once, not only with the next event.
timeout "$patience" sh -c '"$SLUICE" events -f | head -n 1' >first 2>err
[ $? = 0 ] && [ "$(wc -l <first)" = 1 ] && [ ! -s err ]
report $? '--follow ends when nobody reads any more'
rule 'also before the first event' timeout "$patience" sh -c '"$SLUICE" events -f --json --task web-1 --limit 0 | true'

usage='usage: sluice events [--follow] [--task ID] [--after N] [--limit N]'
run sluice events --task nope-9
exits 1 'no such task: exit code'
says "sluice: there is no task 'nope-9'" 'no such task'
run sluice events --task ''
exits 2 'an empty id'
run sluice events --after x
exits 2 '--after x: exit code'
says "sluice: option '--after': expected a whole number of at least 0, got 'x'
$usage" '--after x'
for call in '--after -1' '--limit 0' '--limit x' '--limit -5' 'web-1'; do
    # shellcheck disable=SC2086 # words
    run sluice events $call
    exits 2 "events $call"
done
finish
