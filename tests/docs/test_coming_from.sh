#!/bin/sh
# docs/coming-from/README.md: has no commands yet.
# shellcheck disable=SC1091 # kit.sh
. "$(dirname "$0")/kit.sh"
document docs/coming-from/README.md
play
played
