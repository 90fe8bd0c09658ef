#!/bin/sh
# docs/migrate/conductor-loop.md, with a small storage root.
# shellcheck disable=SC1091,SC2154 # kit.sh sets tmp
. "$(dirname "$0")/kit.sh"
document docs/migrate/conductor-loop.md
state_of conductor "$HOME/run-agent"
mkdir -p "$HOME/book" "$HOME/src/harbor-api"
after 'sluice init' agents_can_log
play
drained
says_that 'sluice import conductor --dry-run' '4 would be added, 0 already, 0 skipped, 0 refused'
says_that 'sluice import conductor --settings' '4 added, 0 already, 0 skipped, 0 refused'
are 'done' task-20260224-081500-berth-model task-20260224-083000-berth-api task-20260224-090500-berth-docs \
    task-20260224-091000-fix-readme
rule 'an agent that reports its end is not launched again' [ "$(started claude)" = 3 ]
prompted 'When everything is finished, run: sluice report --done' 'each prompt says how to end the loop'
rule 'the settings are applied' [ "$("$SLUICE" config get limits.runs)-$("$SLUICE" config get limits.roots)-$("$SLUICE" config get tasks.timeout_s)" = 4-2-3600 ]
rule 'all of them run in the folder of their project' [ "$(sort -u "$log"/*.cwd)" = "$HOME/src/harbor-api" ]
played
