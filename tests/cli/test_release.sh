#!/bin/sh
# sluice release: lets held tasks start.
# shellcheck disable=SC2154 # lib.sh and daemon.sh set home, id, root and tmp
. "$(dirname "$0")/lib.sh"
. "$here/daemon.sh"

run sluice pause
run sluice project add web
add --project web --hold -- true
add --project web --hold -- true
run sluice release web-1
exits 0 'release: exit code'
prints 'web-1 released: ready' 'release'
run sluice release web-1
prints 'web-1 is ready already' 'release a second time'

# Bad input: one error message, and no change.
usage='usage: sluice release ID...|--all [--project P] [--group G] [--message TEXT]'
run sluice release
exits 2 'no task: exit code'
says "sluice: 'release' needs the IDs of tasks, or --all
$usage" 'no task'
run sluice release ''
exits 2 'an empty id: exit code'
says "sluice: an ID is empty
$usage" 'an empty id'
run sluice release web-2 nope-99
exits 1 'an unknown task among others: exit code'
says "sluice: there is no task 'nope-99'" 'an unknown task among others'
rule 'and nothing is printed' [ ! -s out ]
run sluice release --all web-2
exits 2 '--all and an id: exit code'
says "sluice: '--all' and 'web-2' cannot be used together
$usage" '--all and an id'
run sluice release --project web web-2
exits 2 'a filter without --all: exit code'
says "sluice: option '--project' needs --all
$usage" 'a filter without --all'

rule 'the other one is still held' [ "$(value web-2 state)" = held ]
run sluice release --all
prints 'web-2 released: ready' 'release --all'
run sluice release --all
prints 'nothing to release' 'nothing left'

# A task that waits for a review is not released.
run sluice resume
add --project web --review -- true
becomes web-3 held
run sluice release web-3
exits 4 'what waits for review: exit code'
says "sluice: task 'web-3' is held: it waits for review: approve or reject it" 'what waits for review'
add --project web --hold -- true
add --project web --hold -- true
run sluice release --all
exits 0 '--all leaves it out: exit code'
says "sluice: task 'web-3' is held: it waits for review: approve or reject it (left out)" \
    '--all leaves it out'
grep -c '^web-[45] released' out >count
rule 'and lets the others go' [ "$(cat count)" = 2 ]
finish
