#!/bin/sh
# plan.sh: checks that the plan is complete.
grep -q '^## Acceptance' "$SLUICE_ARTIFACTS/plan.md" && exit 0
echo "plan.md has no section 'Acceptance': say how one sees that it is done (acceptance)"
exit 1
