#!/bin/sh
# sluice answer: answers the question of a task.
# shellcheck disable=SC2154 # lib.sh and daemon.sh set home, id, root and tmp
. "$(dirname "$0")/lib.sh"
. "$here/daemon.sh"

start
run sluice project add web
add --project web -- sh -c "[ -n \"\${SLUICE_ANSWER:-}\" ] || exec '$SLUICE' ask --choice blue --choice red 'Which one?'; echo \"\$SLUICE_ANSWER\" >'$tmp/got'"
becomes web-1 held
run sluice answer web-1 green
exits 2 'not one of the choices: exit code'
says "sluice: 'green' is not one of the choices: 'blue', 'red'" 'not one of the choices'
run sluice answer web-1 blue
exits 0 'answer: exit code'
prints 'web-1 answered' 'answer'
becomes web-1 'done'
rule 'the task has it' [ "$(cat got)" = blue ]
run sluice answer web-1 blue
exits 4 'a second answer: exit code'
says "sluice: task 'web-1' has no open question" 'a second answer'

# Bad input: one error message, and no change.
usage='usage: sluice answer ID TEXT'
run sluice answer web-1
exits 2 'no text: exit code'
says "sluice: 'answer' needs 2 arguments
$usage" 'no text'
run sluice answer web-1 ''
exits 2 'an empty answer: exit code'
says "sluice: the answer is empty
$usage" 'an empty answer'
run sluice answer nope-99 blue
exits 1 'an unknown task: exit code'
says "sluice: there is no task 'nope-99'" 'an unknown task'
finish
