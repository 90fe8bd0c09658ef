#!/bin/sh
# pictures.sh: leaves the work to a child of its own, and is done itself. Its task is not, until the child is.
set -eu
sluice add --project "$SLUICE_PROJECT" --parent "$SLUICE_TASK" --title 'draw' -- agents/draw.sh
sluice report --done
