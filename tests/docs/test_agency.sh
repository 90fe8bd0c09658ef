#!/bin/sh
# docs/migrate/agency.md, with a small board.
# shellcheck disable=SC1091,SC2046,SC2154 # kit.sh sets tmp
. "$(dirname "$0")/kit.sh"
document docs/migrate/agency.md
state_of agency "$HOME/src/app"
after 'sluice init' agents_can_log
arrived() {
    drained
    are 'done' 1.1-recipe-model 1.2-recipe-list 1.3-recipe-photos
    are draft 1.4-units
    rule 'what was running and what was queued has run' [ "$(started codex)" = 2 ]
    "$SLUICE" sling 1.4-units >/dev/null
    drained
    are 'done' 1.4-units
}
after 'sluice import agency --agent codex --project app --settings' arrived
# The second import reads the same cards in another way.
delete_all() {
    "$SLUICE" delete $("$SLUICE" list --all --ids) >/dev/null
}
before 'sluice import cards --agent codex --project app --dry-run' delete_all
play
drained
says_that 'sluice import agency --agent codex --project app --dry-run' '4 would be added, 0 already, 0 skipped, 0 refused'
says_that 'sluice import agency --agent codex --project app --settings' '4 added, 0 already, 0 skipped, 0 refused'
rule 'the open cards of the board are done' [ "$(task_count 'done')" = 3 ]
rule 'all of them run in the folder of the project' [ "$(sort -u "$log"/*.cwd)" = "$HOME/src/app" ]
prompted 'Recipe Photos' 'a card is a prompt'
played
