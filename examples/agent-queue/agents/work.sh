#!/bin/sh
# work.sh: uses 1000 tokens and says so.
set -eu
sluice report --tokens 1000
echo "$SLUICE_TASK" >>"$LEDGER"
