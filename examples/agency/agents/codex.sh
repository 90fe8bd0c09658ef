#!/bin/sh
# codex.sh: reads the card from standard input and simulates a short run.
set -eu
card=$(cat)
echo "$SLUICE_TASK begins: $card"
sleep 0.3
case $card in
*'always fails'*) [ -e spark ] || { echo 'no idea' >&2 && exit 1; } ;;
*'fails at first'*) [ "$SLUICE_ATTEMPT" -gt 1 ] || { echo 'the server did not answer' >&2 && exit 1; } ;;
esac
echo "$SLUICE_TASK ends"
