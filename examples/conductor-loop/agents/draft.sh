#!/bin/sh
# draft.sh: fails the first time; with this preset that counts as one more restart.
set -eu
[ "$SLUICE_ATTEMPT" -gt 1 ] || { echo 'lost my thread' >&2 && exit 1; }
sed 's/^/about /' notes.txt >draft.txt
sluice bus post --type FACT 'the draft is in draft.txt'
sluice report --done
