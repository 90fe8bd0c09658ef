#!/bin/sh
# docs/guide/budgets.md: a task with budgets, raised and corrected.
# shellcheck disable=SC1091 # kit.sh
. "$(dirname "$0")/kit.sh"
document docs/guide/budgets.md
repository "$HOME/src/web"
"$SLUICE" project add web --path "$HOME/src/web" >/dev/null 2>&1
agents_can_log
before 'sluice budget web-1 --booked-tokens' drained
play
says_that 'sluice budget web-1   ' '$5'
played
