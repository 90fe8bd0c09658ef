#!/bin/sh
# pictures.sh: adds a child task and exits. Its own task is done when the child is done.
set -eu
sluice add --project "$SLUICE_PROJECT" --parent "$SLUICE_TASK" --title 'draw' -- agents/draw.sh
sluice report --done
