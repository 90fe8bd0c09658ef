#!/bin/sh
# kills.sh: the daemon is killed at random moments under load (tests/torture).
. tests/proof/kit.sh
. tests/proof/torture.sh
each=${SLUICE_PROOF_CHUNK:-50}
while time_left; do
    run_chunk "$PROOF_BUILD/tests/torture/test_kill_daemon" "$each" "$(take_numbers 1)"
    add_figure kills "$each"
    add_figure tasks "$(number_before tasks "$PROOF_STATE/out")"
    add_figure runs "$(number_before runs "$PROOF_STATE/out")"
    raise_figure at_once "$(awk '/at once/ { print $(NF - 2) }' "$PROOF_STATE/out")"
done
