#!/bin/sh
# ralph.sh: codes, and forgets the exit code the first time. The test says so, and the feedback tells it.
set -eu
name=$(head -n 1)
{
    echo "echo $name works"
    [ -z "${SLUICE_FEEDBACK-}" ] || echo "exit 0 # because of: $(grep -m 1 'says' "$SLUICE_FEEDBACK")"
    echo 'exit 1'
} >"code/$name.sh"
echo "wrote code/$name.sh"
