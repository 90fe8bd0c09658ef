#!/bin/sh
# ralph.sh: writes code; the first version lacks the exit code. The test fails, and its message is in the feedback.
set -eu
name=$(head -n 1)
{
    echo "echo $name works"
    [ -z "${SLUICE_FEEDBACK-}" ] || echo "exit 0 # because of: $(grep -m 1 'says' "$SLUICE_FEEDBACK")"
    echo 'exit 1'
} >"code/$name.sh"
echo "wrote code/$name.sh"
