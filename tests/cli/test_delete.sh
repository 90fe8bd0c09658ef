#!/bin/sh
# sluice delete: removes finished tasks permanently.
# shellcheck disable=SC2154 # lib.sh and daemon.sh set home, id, root and tmp
. "$(dirname "$0")/lib.sh"
. "$here/daemon.sh"

start
run sluice project add web
add --project web -- true
becomes web-1 'done'
run sluice pause
add --project web -- true
add --project web --draft -- true
run sluice delete web-2
exits 4 'what waits: exit code'
says "sluice: task 'web-2' is ready: cancel it first" 'what waits'

# Bad input: one error message, and no change.
usage='usage: sluice delete ID...|--all [--project P] [--group G] [--state S]'
run sluice delete
exits 2 'no task: exit code'
says "sluice: 'delete' needs the IDs of tasks, or --all
$usage" 'no task'
run sluice delete ''
exits 2 'an empty id: exit code'
says "sluice: an ID is empty
$usage" 'an empty id'
run sluice delete web-1 nope-99
exits 1 'an unknown task among others: exit code'
says "sluice: there is no task 'nope-99'" 'an unknown task among others'
rule 'and nothing is printed' [ ! -s out ]
run sluice delete --all web-1
exits 2 '--all and an id: exit code'
says "sluice: '--all' and 'web-1' cannot be used together
$usage" '--all and an id'
run sluice delete --project web web-1
exits 2 'a filter without --all: exit code'
says "sluice: option '--project' needs --all
$usage" 'a filter without --all'

rule 'the other one is still there' [ "$(value web-1 state)" = 'done' ]
run sluice delete --all
exits 0 '--all: exit code'
prints 'web-1 deleted' '--all: what is over, no drafts'
run sluice show web-1
exits 1 'it is gone'
run sluice delete web-3
prints 'web-3 deleted' 'a draft'
run sluice delete web-3
exits 1 'a second time: exit code'
says "sluice: there is no task 'web-3'" 'a second time'
run sluice delete --all --state ready
exits 2 'a state that cannot be deleted'
finish
