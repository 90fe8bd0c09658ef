#!/bin/sh
# work.sh: reports 1000 tokens.
set -eu
sluice report --tokens 1000
echo "$SLUICE_TASK" >>"$LEDGER"
