#!/bin/sh
# phase.sh: adds the coding tasks of this phase.
set -eu
phase=$(cat)
echo "Write code/$phase.sh; code/test.sh $phase says whether it is good." >"$SLUICE_ARTIFACTS/phase.md"
cat >"$SLUICE_ARTIFACTS/next.yaml" <<END
- title: code $phase
  kind: ralph
  agent: coder
  artifact: iterations/{iteration}/artifacts/phase.md
  prompt: $phase
  checks: [code/test.sh $phase]
END
echo "one ralph for $phase"
