#!/bin/sh
# print.sh: everything it needs must be there.
set -eu
cat draft.txt picture.txt
sluice report --done
