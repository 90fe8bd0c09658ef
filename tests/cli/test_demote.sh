#!/bin/sh
# sluice demote: moves a task back in the queue.
# shellcheck disable=SC2154 # lib.sh and daemon.sh set home, id, root and tmp
. "$(dirname "$0")/lib.sh"
. "$here/daemon.sh"

run sluice pause
run sluice project add web
add --project web -- true
add --project web -- true
add --project web -- true
run sluice demote web-1
exits 0 'demote: exit code'
prints 'web-1 demoted: ready' 'demote'
run sluice tick --dry-run --json
run sluice list --order queue --ids
prints 'web-2
web-3
web-1' 'the order of the queue'
run sluice demote --priority 500 web-2
prints 'web-2 demoted: ready' 'a number'
rule 'is the priority' [ "$(value web-2 priority)" = 500 ]
run sluice demote --priority 500 web-2
exits 0 'a second time: exit code'
prints 'web-2 is at the back already' 'a second time'
usage='usage: sluice demote [--priority N] ID...'
for given in high '' 1.5 99999999999 5x; do
    run sluice demote --priority "$given" web-2
    exits 2 "--priority '$given': exit code"
    says "sluice: option '--priority': expected a whole number from -1000000 to 1000000, got '$given'
$usage" "--priority '$given'"
done

# Bad input: one error message, and no change.
usage='usage: sluice demote [--priority N] ID...'
run sluice demote
exits 2 'no task: exit code'
says "sluice: 'demote' needs at least 1 argument
$usage" 'no task'
run sluice demote ''
exits 2 'an empty id: exit code'
says "sluice: an ID is empty
$usage" 'an empty id'
run sluice demote web-1 nope-99
exits 1 'an unknown task among others: exit code'
says "sluice: there is no task 'nope-99'" 'an unknown task among others'
rule 'and nothing is printed' [ ! -s out ]
finish
