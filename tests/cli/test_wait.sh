#!/bin/sh
# sluice wait: waits until tasks have ended; the exit code says how they ended.
# shellcheck disable=SC1091,SC2034,SC2154 # lib.sh and daemon.sh set home, id, root and tmp
. "$(dirname "$0")/lib.sh"
. "$here/daemon.sh"

run sluice wait web-1
exits 3 'no daemon: exit code'
start
add -- true
good=$id
add --retries 0 -- sh -c 'exit 7'
bad=$id
add --hold -- true
held=$id
mkfifo go
add -- sh -c 'read -r _ <go' # it runs in the current directory
slow=$id

run sluice wait "$good"
exits 0 'done: exit code'
prints "$good is done" 'done'
run sluice wait "$good" "$bad"
exits 1 'one has failed: exit code'
prints "$good is done
$bad is failed: exit code 7" 'each with its end'
run sluice wait --any "$slow" "$good"
exits 0 'any: one that is done is enough'
run sluice wait --any "$slow" "$bad"
exits 1 'any: one that has failed ends it too'
run sluice wait "$held"
exits 6 'held: exit code'
prints "$held is held: it needs a person: held; release it to let it go on" 'held by a person is an answer'
run sluice wait --timeout 0 "$slow"
exits 5 'it only looks: exit code'
has "$slow is " 'and tells how it stands'
run sluice wait --json --timeout 0 "$good" "$slow"
exits 5 'as JSON: exit code'
has '"timed_out":true' 'as JSON: the time is over'
has "{\"id\":\"$good\",\"state\":\"done\",\"reason\":\"succeeded\",\"finished\":true,\"needs_person\":false,\"why\":null,\"run\":{\"outcome\":\"ok\",\"exit_code\":0" \
    'as JSON: how it ended'
run sluice wait --timeout 1 "$slow"
exits 5 'the time is over: exit code'

becomes "$slow" running
timeout "$patience" "$SLUICE" wait "$slow" >waited 2>&1 &
waiter=$!
timeout "$patience" sh -c 'echo >go'
rule 'it is told when the task ends' wait $waiter
rule 'and says so' [ "$(cat waited)" = "$slow is done" ]

add --group two -- true
first=$id
add --group two -- true
run sluice wait --group two
exits 0 'a group: exit code'
prints "$first is done
$id is done" 'a group: each of its tasks'
run sluice wait --group nothing
exits 1 'no such group: exit code'

run sluice wait nothing-99
exits 1 'no such task: exit code'
[ "$(wc -l <err)" = 1 ] && [ ! -s out ]
report $? 'no such task: one sentence'
run sluice wait
exits 2 'no id'
run sluice wait --timeout 10m "$good"
exits 0 'a time with a unit'
run sluice wait --timeout soon "$good"
exits 2 'a time that is none'
run sluice wait ''
exits 2 'an empty id'
finish
