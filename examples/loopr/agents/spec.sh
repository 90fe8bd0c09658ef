#!/bin/sh
# spec.sh: writes a specification and adds its two phases.
set -eu
plan=$(sed 's/.*: //')
sed -n 's/^- /It must be possible to /p' "$plan" >"$SLUICE_ARTIFACTS/spec.md"
for phase in in out; do
    cat <<END
- title: phase sign-$phase
  kind: phase
  agent: phaser
  artifact: iterations/{iteration}/artifacts/spec.md
  prompt: sign-$phase
  spawn: next.yaml
  checks: ['test -s "\$SLUICE_ARTIFACTS/phase.md"']
END
done >"$SLUICE_ARTIFACTS/next.yaml"
cat "$SLUICE_ARTIFACTS/spec.md"
