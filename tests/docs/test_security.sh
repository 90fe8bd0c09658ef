#!/bin/sh
# docs/guide/security.md: a token for another program.
# shellcheck disable=SC1091 # kit.sh
. "$(dirname "$0")/kit.sh"
document docs/guide/security.md
play
says_that 'curl -H' '"version"'
played
