#!/bin/sh
# sluice approve: accepts finished work that waits for review.
# shellcheck disable=SC2154 # lib.sh and daemon.sh set home, id, root and tmp
. "$(dirname "$0")/lib.sh"
. "$here/daemon.sh"

start
run sluice project add web
add --project web --review -- true
becomes web-1 held
run sluice approve web-1
exits 0 'approve: exit code'
prints 'web-1 approved: done' 'approve'
run sluice approve web-1
prints 'web-1 is done already' 'approve a second time'
run sluice pause
add --project web -- true
run sluice approve web-2
exits 4 'what is not finished: exit code'
says "sluice: task 'web-2' is ready: only what waits for review or to be closed can be approved" 'what is not finished'

# Bad input: one error message, and no change.
usage='usage: sluice approve [--reason TEXT] ID...'
run sluice approve
exits 2 'no task: exit code'
says "sluice: 'approve' needs at least 1 argument
$usage" 'no task'
run sluice approve ''
exits 2 'an empty id: exit code'
says "sluice: an ID is empty
$usage" 'an empty id'
run sluice approve web-1 nope-99
exits 1 'an unknown task among others: exit code'
says "sluice: there is no task 'nope-99'" 'an unknown task among others'
rule 'and nothing is printed' [ ! -s out ]
finish
