#!/bin/sh
# sluice ask: a run asks a person.
# shellcheck disable=SC2154 # lib.sh and daemon.sh set home, id, root and tmp
. "$(dirname "$0")/lib.sh"
. "$here/daemon.sh"

start
run sluice project add web
mkfifo go
add --project web -- sh -c "'$SLUICE' ask --choice blue --choice red 'Which one?' >'$tmp/told'; read -r word <'$tmp/go'"
soon [ -s told ]
rule 'it returns at once, and says what to do' \
    grep -qF 'The question is stored. End your turn now: the answer will be your next prompt in this session.' told
rule 'it is listed' sh -c "'$SLUICE' questions | grep -q 'web-1 .* blue red .* Which one?'"

# From outside, in the name of the run: the variables of its environment suffice.
export SLUICE_TASK=web-1 SLUICE_RUN=web-1.1 SLUICE_SOCKET="$home/sluice.sock"
run sluice ask 'And when?'
exits 4 'another question: exit code'
says "sluice: task 'web-1' has an open question already: end your turn, and the answer will be your next prompt" 'another question'
run sluice ask --wait 1s 'Which one?'
exits 5 'no answer in time: exit code'
"$SLUICE" answer web-1 blue >/dev/null
run sluice ask --wait 1h 'Which one?'
exits 0 'with an answer: exit code'
prints 'blue' 'the answer is printed'
run sluice ask --wait 1h --json 'Which one?' &
waiting=$!
soon sh -c "'$SLUICE' questions | grep -q 'Which one?'"
"$SLUICE" answer web-1 'the red one' >/dev/null
wait "$waiting"
rule 'a call that waits gets it' grep -qF '"answer":"the red one"' out
SLUICE_RUN=web-1.7
run sluice ask 'Again?'
exits 4 'another attempt: exit code'
says "sluice: attempt 7 of task 'web-1' is not the one that runs" 'another attempt'
SLUICE_RUN=web-1.1
echo >go
rule 'what was used does not hold the task' becomes web-1 'done'
run sluice ask 'Again?'
exits 4 'a run that has ended: exit code'
says "sluice: task 'web-1' does not run: only a run can ask" 'a run that has ended'
run sluice down
run sluice ask 'Again?'
exits 3 'no daemon: exit code'
rule 'and none was started' [ ! -S "$home/sluice.sock" ]

usage='usage: sluice ask [--choice TEXT]... [--default TEXT] [--deadline SPAN] [--wait SPAN] QUESTION'
run sluice ask ' '
exits 2 'an empty question: exit code'
says "sluice: the question is empty
$usage" 'an empty question'
run sluice ask --default no 'Really?'
exits 2 'a default without a deadline: exit code'
says "sluice: '--default' needs '--deadline', after which it is used
$usage" 'a default without a deadline'
for call in '--deadline soon' '--deadline 0' '--wait -1' '--wait soon' 'more words'; do
    # shellcheck disable=SC2086 # words
    run sluice ask $call 'Really?'
    exits 2 "ask $call"
done
unset SLUICE_RUN
run sluice ask 'Really?'
exits 2 'not inside a run: exit code'
says "sluice: not inside a run: SLUICE_RUN is not set
$usage" 'not inside a run'
finish
