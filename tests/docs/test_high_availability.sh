#!/bin/sh
# docs/guide/high-availability.md: two daemons on one machine.
# shellcheck disable=SC1091 # kit.sh
. "$(dirname "$0")/kit.sh"
document docs/guide/high-availability.md
play
for name in a b; do
    rule "daemon $name runs" env SLUICE_HOME="$HOME/sluice-$name" "$SLUICE" down --wait
done
played
