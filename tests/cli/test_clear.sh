#!/bin/sh
# sluice clear: removes tasks from the queue without deleting them.
# shellcheck disable=SC2154 # lib.sh and daemon.sh set home, id, root and tmp
. "$(dirname "$0")/lib.sh"
. "$here/daemon.sh"

run sluice pause
run sluice project add web
add --project web -- true
add --project web -- true
run sluice clear web-1
exits 0 'f125: one task: exit code'
prints 'web-1 cleared: draft' 'f125: one task'
run sluice clear web-1
prints 'web-1 is draft already' 'a second time'

# Bad input: one error message, and no change.
usage='usage: sluice clear ID...|--all [--project P] [--group G] [--state S]'
run sluice clear
exits 2 'no task: exit code'
says "sluice: 'clear' needs the IDs of tasks, or --all
$usage" 'no task'
run sluice clear ''
exits 2 'an empty id: exit code'
says "sluice: an ID is empty
$usage" 'an empty id'
run sluice clear web-2 nope-99
exits 1 'an unknown task among others: exit code'
says "sluice: there is no task 'nope-99'" 'an unknown task among others'
rule 'and nothing is printed' [ ! -s out ]
run sluice clear --all web-2
exits 2 '--all and an id: exit code'
says "sluice: '--all' and 'web-2' cannot be used together
$usage" '--all and an id'
run sluice clear --project web web-2
exits 2 'a filter without --all: exit code'
says "sluice: option '--project' needs --all
$usage" 'a filter without --all'

rule 'the other one was not cleared' [ "$(value web-2 state)" = ready ]
run sluice clear --all
prints 'web-2 cleared: draft' 'f125: everything'
run sluice clear --all --state running
exits 2 'a state that cannot be cleared'
run sluice sling web-1
run sluice resume
becomes web-1 'done'
run sluice clear web-1
exits 4 'what is over: exit code'
says "sluice: task 'web-1' is done: only what waits can become a draft again" 'what is over'
finish
