#!/bin/sh
# plan.sh: writes a plan from the prompt. The feedback of a failed check says what is missing.
set -eu
{
    echo "# Plan"
    cat
    if [ -n "${SLUICE_FEEDBACK-}" ] && grep -q 'acceptance' "$SLUICE_FEEDBACK"; then
        printf '\n## Acceptance\n\n- sign in with the right password\n- sign out\n'
    fi
} >"$SLUICE_ARTIFACTS/plan.md"

cat >"$SLUICE_ARTIFACTS/next.yaml" <<END
- title: specify the sign-in
  kind: spec
  agent: specifier
  artifact: iterations/{iteration}/artifacts/plan.md
  prompt: "Specify what $SLUICE_TASK has planned: $SLUICE_ARTIFACTS/plan.md"
  spawn: next.yaml
  checks: ['test -s "\$SLUICE_ARTIFACTS/spec.md"']
END
echo "plan.md has $(wc -l <"$SLUICE_ARTIFACTS/plan.md") lines"
