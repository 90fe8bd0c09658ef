#!/bin/sh
# build.sh: alone in its workspace, or it says so.
set -eu
mkdir building || { echo "somebody else builds in $PWD" >&2 && exit 1; }
echo "$SLUICE_TASK in ${PWD##*/}"
sleep 0.3
rmdir building
sluice report --tokens 100
