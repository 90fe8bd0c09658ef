#!/bin/sh
# draw.sh: simulates a short run.
set -eu
sleep 1
echo '(o)' >picture.txt
sluice report --done
