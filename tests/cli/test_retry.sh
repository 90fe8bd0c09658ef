#!/bin/sh
# sluice retry: runs failed tasks again, with counters reset.
# shellcheck disable=SC2154 # lib.sh and daemon.sh set home, id, root and tmp
. "$(dirname "$0")/lib.sh"
. "$here/daemon.sh"

config 'retry: {failed: {max: 0}}'
start
run sluice project add web
add --project web -- sh -c 'test "$SLUICE_ATTEMPT" -gt 1'
becomes "$id" failed
run sluice pause
run sluice retry web-1
exits 0 'a failed task: exit code'
prints 'web-1 retried: ready' 'a failed task'
rule 'its counters are 0' [ "$(value web-1 failures)" = 0 ]
run sluice resume
rule 'and the new attempt counts on' becomes web-1 'done'
run sluice retry web-1
exits 4 'a task that is done: exit code'
says "sluice: task 'web-1' is done: only what has failed, was canceled or waits for its next attempt can be retried" 'a task that is done'

# Bad input: one error message, and no change.
usage='usage: sluice retry [--allow RULE]... ID...|--all [--project P] [--group G] [--state S]'
run sluice retry
exits 2 'no task: exit code'
says "sluice: 'retry' needs the IDs of tasks, or --all
$usage" 'no task'
run sluice retry ''
exits 2 'an empty id: exit code'
says "sluice: an ID is empty
$usage" 'an empty id'
run sluice retry web-1 nope-99
exits 1 'an unknown task among others: exit code'
says "sluice: there is no task 'nope-99'" 'an unknown task among others'
rule 'and nothing is printed' [ ! -s out ]
run sluice retry --all web-1
exits 2 '--all and an id: exit code'
says "sluice: '--all' and 'web-1' cannot be used together
$usage" '--all and an id'
run sluice retry --project web web-1
exits 2 'a filter without --all: exit code'
says "sluice: option '--project' needs --all
$usage" 'a filter without --all'

run sluice pause
add --project web -- true
run sluice cancel web-2
run sluice retry --all
exits 0 '--all: exit code'
prints 'nothing to retry' '--all leaves out what was canceled'
run sluice retry --all --state failed,canceled
prints 'web-2 retried: ready' '--all --state failed,canceled'
finish
