#!/bin/sh
# docs/guide/tasks.md: its task files.
# shellcheck disable=SC1091 # kit.sh
. "$(dirname "$0")/kit.sh"
document docs/guide/tasks.md
"$SLUICE" project add web --path "$HOME/src" >/dev/null 2>&1
play
played
