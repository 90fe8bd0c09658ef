#!/bin/sh
# docs/guide/bus.md: a bus is moved away.
# shellcheck disable=SC1091 # kit.sh
. "$(dirname "$0")/kit.sh"
document docs/guide/bus.md
"$SLUICE" project add web >/dev/null 2>&1
"$SLUICE" bus post --project web 'a note' >/dev/null
play
rule 'a new bus begins' "$SLUICE" bus post --project web 'another note'
played
