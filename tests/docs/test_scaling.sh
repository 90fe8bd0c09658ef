#!/bin/sh
# docs/guide/scaling.md: back from a server to a file.
# shellcheck disable=SC1091 # kit.sh
. "$(dirname "$0")/kit.sh"
document docs/guide/scaling.md
"$SLUICE" run -- true >/dev/null 2>&1
play
rule 'the copy has the task' [ "$("$SLUICE" list --all --ids)" = t-1 ]
played
