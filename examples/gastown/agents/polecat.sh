#!/bin/sh
# polecat.sh: simulates a short run for one bead.
set -eu
echo "$SLUICE_TASK: $1"
sleep 0.3
echo "$SLUICE_TASK" >>merged.txt
