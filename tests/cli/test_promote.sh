#!/bin/sh
# sluice promote: moves a task forward in the queue.
# shellcheck disable=SC2154 # lib.sh and daemon.sh set home, id, root and tmp
. "$(dirname "$0")/lib.sh"
. "$here/daemon.sh"

run sluice pause
run sluice project add web
add --project web -- true
add --project web -- true
add --project web -- true
run sluice promote web-3
exits 0 'promote: exit code'
prints 'web-3 promoted: ready' 'promote'
run sluice tick --dry-run --json
run sluice list --order queue --ids
prints 'web-3
web-1
web-2' 'the order of the queue'
run sluice promote --priority 5 web-2
prints 'web-2 promoted: ready' 'a number'
rule 'is the priority' [ "$(value web-2 priority)" = 5 ]
run sluice promote --priority 5 web-2
exits 0 'a second time: exit code'
prints 'web-2 is at the front already' 'a second time'
usage='usage: sluice promote [--priority N] ID...'
for given in high '' 1.5 99999999999 5x; do
    run sluice promote --priority "$given" web-2
    exits 2 "--priority '$given': exit code"
    says "sluice: option '--priority': expected a whole number from -1000000 to 1000000, got '$given'
$usage" "--priority '$given'"
done

# Bad input: one error message, and no change.
usage='usage: sluice promote [--priority N] ID...'
run sluice promote
exits 2 'no task: exit code'
says "sluice: 'promote' needs at least 1 argument
$usage" 'no task'
run sluice promote ''
exits 2 'an empty id: exit code'
says "sluice: an ID is empty
$usage" 'an empty id'
run sluice promote web-1 nope-99
exits 1 'an unknown task among others: exit code'
says "sluice: there is no task 'nope-99'" 'an unknown task among others'
rule 'and nothing is printed' [ ! -s out ]
finish
