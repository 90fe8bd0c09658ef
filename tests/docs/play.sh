#!/bin/sh
# play.sh: plays a document that needs nothing prepared: SLUICE=build/sluice tests/docs/play.sh docs/bus.md
# shellcheck disable=SC1091 # kit.sh
. "$(dirname "$0")/kit.sh"
document "$1"
play
played
