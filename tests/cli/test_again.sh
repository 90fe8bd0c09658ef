#!/bin/sh
# sluice again: runs finished tasks again.
# shellcheck disable=SC2154 # lib.sh and daemon.sh set home, id, root and tmp
. "$(dirname "$0")/lib.sh"
. "$here/daemon.sh"

config "agents: {me: {adapter: plain, command: [sh, -c, 'cat >>$tmp/got']}}"
start
run sluice project add web
add --project web -- true
becomes web-1 'done'
run sluice pause
run sluice again web-1
exits 0 'again: exit code'
prints 'web-1 again: ready' 'again'
run sluice show --json web-1
has '"depth":0,"iteration":2,' 'a new iteration'
run sluice again web-1
exits 4 'a task that is not done: exit code'
says "sluice: task 'web-1' is ready: only what is done can be done again" 'a task that is not done'

# Bad input: one error message, and no change.
usage='usage: sluice again [-m TEXT] ID...'
run sluice again
exits 2 'no task: exit code'
says "sluice: 'again' needs at least 1 argument
$usage" 'no task'
run sluice again ''
exits 2 'an empty id: exit code'
says "sluice: an ID is empty
$usage" 'an empty id'
run sluice again web-1 nope-99
exits 1 'an unknown task among others: exit code'
says "sluice: there is no task 'nope-99'" 'an unknown task among others'
rule 'and nothing is printed' [ ! -s out ]

# With a message.
run sluice again -m '' web-1
exits 2 'an empty message: exit code'
says "sluice: the message is empty
$usage" 'an empty message'
run sluice again -m hello web-1 web-2
exits 2 'a message for two tasks: exit code'
says "sluice: '--message' is for one task
$usage" 'a message for two tasks'
run sluice resume
becomes web-1 'done'
run sluice again -m hello web-1
exits 2 'a message for a command: exit code'
says "sluice: task 'web-1' is a command: it has no prompt that a message could follow; 'sluice again web-1' runs it again without one" 'a message for a command'
add --project web --agent me 'first text'
becomes web-2 'done'
run sluice again --json --message 'second text' web-2
exits 0 'a message: exit code'
has '"tasks":[{"id":"web-2",' 'a message: the answer'
becomes web-2 'done'
rule 'the agent has got it' appears 'second text' got
run sluice again -m hello nope-99
exits 1 'a message for an unknown task: exit code'
says "sluice: there is no task 'nope-99'" 'a message for an unknown task'
finish
