#!/bin/sh
# docs/guide/schedules.md: schedules as settings and by command, of tasks and of backups.
# shellcheck disable=SC1091 # kit.sh
. "$(dirname "$0")/kit.sh"
document docs/guide/schedules.md
"$SLUICE" project add web >/dev/null 2>&1
play
played
