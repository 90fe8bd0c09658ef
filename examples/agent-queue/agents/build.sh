#!/bin/sh
# build.sh: fails unless it is alone in its workspace.
set -eu
mkdir building || { echo "somebody else builds in $PWD" >&2 && exit 1; }
echo "$SLUICE_TASK in ${PWD##*/}"
sleep 0.3
rmdir building
sluice report --tokens 100
