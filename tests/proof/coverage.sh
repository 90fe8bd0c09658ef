#!/bin/sh
# coverage.sh: the share of lines and branches that the tests execute (make coverage).
. tests/proof/kit.sh
scripts/setup --proof
code=0
scripts/coverage "$PROOF_BUILD-coverage" >"$PROOF_STATE/out" 2>&1 || code=$?
cat "$PROOF_STATE/out"
for folder in core rundir store; do
    set_figure ${folder}_lines "$(awk -v of="src/$folder" '$1 == of { print $2 }' "$PROOF_STATE/out")"
    set_figure ${folder}_branches "$(awk -v of="src/$folder" '$1 == of { print $6 }' "$PROOF_STATE/out")"
done
exit $code
