#!/bin/sh
# polecat.sh: takes a moment over one bead.
set -eu
echo "$SLUICE_TASK: $1"
sleep 0.3
echo "$SLUICE_TASK" >>merged.txt
