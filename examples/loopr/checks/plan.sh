#!/bin/sh
# plan.sh: is this a plan that one can work with?
grep -q '^## Acceptance' "$SLUICE_ARTIFACTS/plan.md" && exit 0
echo "plan.md has no section 'Acceptance': say how one sees that it is done (acceptance)"
exit 1
