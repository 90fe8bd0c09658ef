#!/bin/sh
# docs/migrate/README.md: has no commands yet.
# shellcheck disable=SC1091 # kit.sh
. "$(dirname "$0")/kit.sh"
document docs/migrate/README.md
play
played
