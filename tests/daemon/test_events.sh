#!/bin/sh
# Events: one for every change, numbered without gaps, and a stream that can be resumed.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"
start
mkfifo go

"$SLUICE" events -f --after 0 --json >stream 2>err &
follower=$!
add -- sh -c 'read -r _ <go; exit 0'
task=$id
rule 'events -f tells what happens, as it happens' appears '"kind":"run.started"' stream
kill -9 "$(pid_of_daemon)"
unblock go
"$SLUICE" up >/dev/null 2>&1
rule 'events -f goes on after kill -9 of the daemon' appears '"to":"done"' stream
"$SLUICE" down >/dev/null 2>&1
"$SLUICE" up >/dev/null 2>&1
add -- true
becomes "$id" 'done'
last=$(last_event)
rule 'and after it was stopped and started' appears "\"seq\":$last," stream
kill $follower
wait $follower 2>/dev/null
sed 's/^{"seq":\([0-9]*\),.*/\1/' stream >out
i=0
while [ $i -lt "$last" ]; do
    i=$((i + 1))
    echo $i
done >want
compare want out 'the stream has every number once, in order, over three daemons'
run sluice events --after 0 --limit 1000 --json
sed -n 's/.*"seq":\([0-9]*\),.*/\1/p' out >list
rule 'the list has the same' cmp -s want list
run sluice events --task "$task"
rule 'the story of one task' [ "$(sed 's/^[^ ]* [^ ]*  [0-9]* *//' out | awk '{ print $1 }' | tr '\n' ' ')" = \
    'task.added task.state run.started task.state run.ended task.state ' ]
has 'from=running  to=done  reason=succeeded' 'each change has its reason'
run sluice events --limit 2
rule 'the newest, the last one below' [ "$(awk '{ print $3 }' out | tail -n 1)" = "$last" ]
run sluice events --after "$last"
rule 'nothing is behind the last' [ ! -s out ]
run sluice events --task t-99
exits 1 'of a task that is not there'
run sluice debug events
rule 'debug events: one object per line' [ "$(grep -c '^{"seq":' out)" = "$last" ]
finish
