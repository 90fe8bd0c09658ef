#!/bin/sh
# docs/migrate/loopr.md, with a few loops of a small project.
# shellcheck disable=SC1091,SC2154 # kit.sh sets tmp
. "$(dirname "$0")/kit.sh"
document docs/migrate/loopr.md
state_of loopr "$HOME/.loopr/3f9a1c07be52d684"
repository "$HOME/src/shop"
after 'sluice init' agents_can_log
play
drained
says_that 'sluice import loopr --project shop --path ~/src/shop --dry-run' '5 would be added, 0 already, 0 skipped, 0 refused'
says_that 'sluice import loopr --project shop --path ~/src/shop --settings' '5 added, 0 already, 0 skipped, 0 refused'
are 'done' 1769590800 1769592300 1769593200 1769593201 1769594400
rule 'what was complete has not run again' [ "$(started claude)" = 3 ]
prompted 'Fix the off-by-one in the moon phase icon' 'a loop is a prompt'
prompted 'Feedback of the iterations so far:' 'what was running gets the feedback so far'
rule 'all of them run in the repository' [ "$(sort -u "$log"/*.cwd)" = "$HOME/src/shop" ]
played
