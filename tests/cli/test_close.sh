#!/bin/sh
# sluice close: marks a task done whose end comes from outside (--until external).
# shellcheck disable=SC2154 # lib.sh and daemon.sh set home, id, root and tmp
. "$(dirname "$0")/lib.sh"
. "$here/daemon.sh"

start
run sluice project add web
add --project web --until external -- true
becomes web-1 held
run sluice close web-1
exits 0 'close: exit code'
prints 'web-1 closed: done' 'close'
run sluice close web-1
prints 'web-1 is done already' 'close a second time'

# Bad input: one error message, and no change.
usage='usage: sluice close [--reason TEXT] ID...'
run sluice close
exits 2 'no task: exit code'
says "sluice: 'close' needs at least 1 argument
$usage" 'no task'
run sluice close ''
exits 2 'an empty id: exit code'
says "sluice: an ID is empty
$usage" 'an empty id'
run sluice close web-1 nope-99
exits 1 'an unknown task among others: exit code'
says "sluice: there is no task 'nope-99'" 'an unknown task among others'
rule 'and nothing is printed' [ ! -s out ]
finish
