#!/bin/sh
# sluice report: a run reports tokens, limits and its end.
# shellcheck disable=SC2154 # lib.sh and daemon.sh set home, id, root and tmp
. "$(dirname "$0")/lib.sh"
. "$here/daemon.sh"

start
run sluice project add web
mkfifo go told
add --project web -- sh -c "'$SLUICE' report --tokens-in 1200 --tokens-out 80 --cost 0.125 && echo told >'$tmp/told'
    read -r word <'$tmp/go'"
cat told >/dev/null
[ "$(value web-1 tokens_in)" = 1200 ] && [ "$(value web-1 tokens_out)" = 80 ]
report $? 'tokens'

# From outside, in the name of the run: the variables of its environment suffice.
export SLUICE_TASK=web-1 SLUICE_RUN=web-1.1 SLUICE_SOCKET="$home/sluice.sock"
run sluice report --tokens 2000
exits 0 'more tokens: exit code'
rule 'more tokens: says nothing' [ ! -s out ]
rule 'totals rise' [ "$(value web-1 tokens_in) $(value web-1 tokens_out)" = '1200 800' ]
run sluice report --tokens 500 --json
prints '{"ok":true}' 'as JSON'
SLUICE_RUN=web-1.7
run sluice report --tokens 900
exits 4 'another attempt: exit code'
says "sluice: attempt 7 of task 'web-1' is not the one that runs" 'another attempt'
SLUICE_RUN=web-1.1
echo >go
becomes web-1 'done'
run sluice report --tokens 900
exits 4 'a run that has ended: exit code'
says "sluice: task 'web-1' does not run: nothing can be reported of it" 'a run that has ended'

# A total, then the same tokens split into input and output: they are counted once.
add --project web -- sh -c "'$SLUICE' report --tokens 1000 && '$SLUICE' report --tokens-in 600 --tokens-out 400"
becomes "$id" 'done'
rule 'a total and its parts count once' [ "$(value "$id" tokens_in) $(value "$id" tokens_out)" = '600 400' ]
add --project web -- sh -c "'$SLUICE' report --tokens 1000 && '$SLUICE' report --tokens-in 600"
becomes "$id" 'done'
rule 'a total, then what was read of it' [ "$(value "$id" tokens_in) $(value "$id" tokens_out)" = '600 400' ]
add --project web -- sh -c "'$SLUICE' report --tokens 1000 && '$SLUICE' report --tokens-in 600 && '$SLUICE' report --tokens-in 700"
becomes "$id" 'done'
rule 'and then more of it' [ "$(value "$id" tokens_in) $(value "$id" tokens_out)" = '700 300' ]
add --project web -- sh -c "'$SLUICE' report --tokens-out 400 && '$SLUICE' report --tokens-in 600"
becomes "$id" 'done'
rule 'both parts, one after the other' [ "$(value "$id" tokens_in) $(value "$id" tokens_out)" = '600 400' ]

# DONE, with a daemon and without one.
add --project web --until 'done' -- sh -c "'$SLUICE' report --done"
rule '--done ends a task with until: done' becomes "$id" 'done'
run sluice down
SLUICE_DONE=$tmp/marker
export SLUICE_DONE
run sluice report --done
exits 0 'no daemon: exit code'
says 'sluice: no daemon is running: created the DONE marker, which the next one will find' 'no daemon'
rule 'the marker is there' [ -e marker ]
rm marker
run sluice report --done --tokens 5
exits 3 'no daemon, and numbers: exit code'
rule 'the marker is there all the same' [ -e marker ]
run sluice report --tokens 5
exits 3 'no daemon, only numbers: exit code'
rule 'and none was started' [ ! -S "$home/sluice.sock" ]

usage='usage: sluice report [--tokens N] [--tokens-in N] [--tokens-out N] [--cost USD] [--done] [--rate-limited SECS]'
run sluice report
exits 2 'nothing: exit code'
says "sluice: nothing to report: give at least one option
$usage" 'nothing'
for call in '--tokens x' '--tokens -1' '--tokens 1.5' '--cost free' '--cost -1' '--cost 1e3' '--cost 1.2.3' \
    '--cost .' '--rate-limited soon' '--rate-limited -1' '--tokens 1 --tokens-out 2' '--done web-1'; do
    # shellcheck disable=SC2086 # words
    run sluice report $call
    exits 2 "report $call"
done
unset SLUICE_RUN
run sluice report --done
exits 2 'not inside a run: exit code'
says "sluice: not inside a run: SLUICE_RUN is not set
$usage" 'not inside a run'
finish
