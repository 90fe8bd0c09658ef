#!/bin/sh
# sluice hold: keeps tasks from starting.
# shellcheck disable=SC2154 # lib.sh and daemon.sh set home, id, root and tmp
. "$(dirname "$0")/lib.sh"
. "$here/daemon.sh"

run sluice pause
run sluice project add web
add --project web -- true
run sluice hold web-1
exits 0 'hold: exit code'
prints 'web-1 held' 'hold'
run sluice hold web-1
prints 'web-1 is held already' 'hold a second time'
run sluice hold --until 1d web-1
prints 'web-1 held' 'hold --until: a span'
rule 'and it has a time' [ "$(value web-1 not_before)" -gt "$(date +%s)000" ]
for when in 23:59 23:59:30 2099-01-31 2099-01-31T18:30 '2099-01-31 18:30:15' 1.5h; do
    run sluice hold --until "$when" web-1
    exits 0 "--until '$when'"
done
usage='usage: sluice hold [--until WHEN] ID...'
for when in soon 5 5x -1h 25:00 2099-13-01 2099-02-30 18:30:99 2099-01-31T '' 1e3s; do
    run sluice hold --until "$when" web-1
    exits 2 "--until '$when': exit code"
done
run sluice hold --until soon web-1
says "sluice: option '--until': not a moment: 'soon' (examples: 30m, 18:30, 2027-01-31, 2027-01-31T18:30)
$usage" 'not a moment'
run sluice hold --until 2099-02-30 web-1
says "sluice: option '--until': there is no such day: '2099-02-30'
$usage" 'no such day'
run sluice hold --until 2001-01-01 web-1
says "sluice: option '--until': '2001-01-01' has passed
$usage" 'a time that has passed'
run sluice hold --until 0s web-1
exits 2 'no time at all'

# Bad input: one error message, and no change.
usage='usage: sluice hold [--until WHEN] ID...'
run sluice hold
exits 2 'no task: exit code'
says "sluice: 'hold' needs at least 1 argument
$usage" 'no task'
run sluice hold ''
exits 2 'an empty id: exit code'
says "sluice: an ID is empty
$usage" 'an empty id'
run sluice hold web-1 nope-99
exits 1 'an unknown task among others: exit code'
says "sluice: there is no task 'nope-99'" 'an unknown task among others'
rule 'and nothing is printed' [ ! -s out ]

run sluice release web-1
run sluice resume
becomes web-1 'done'
run sluice hold web-1
exits 4 'what is over: exit code'
says "sluice: task 'web-1' is done: only what waits can be held" 'what is over'
finish
