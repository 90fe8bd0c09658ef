#!/bin/sh
# docs/guide/lists.md: its lists of inputs, and the output of their groups.
# shellcheck disable=SC1091,SC2119 # kit.sh
. "$(dirname "$0")/kit.sh"
document docs/guide/lists.md
"$SLUICE" up >/dev/null 2>&1 # its message is not shown in the document
play
drained
are 'done' t-1 t-2 t-3 t-4 t-5 t-6
played
