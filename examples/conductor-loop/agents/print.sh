#!/bin/sh
# print.sh: fails unless all of its inputs exist.
set -eu
cat draft.txt picture.txt
sluice report --done
