#!/bin/sh
# play.sh: tests a document that needs no setup: SLUICE=build/sluice tests/docs/play.sh docs/guide/bus.md
# shellcheck disable=SC1091 # kit.sh
. "$(dirname "$0")/kit.sh"
document "$1"
play
played
