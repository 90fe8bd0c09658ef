#!/bin/sh
# failover.sh: two daemons and one store; the active one is killed or stopped under load (tests/torture).
. tests/proof/kit.sh
. tests/proof/torture.sh
each=${SLUICE_PROOF_CHUNK:-20}
while time_left; do
    run_chunk "$PROOF_BUILD/tests/torture/test_failover" "$each" "$(take_numbers 1)"
    add_figure changes "$each"
    add_figure tasks "$(number_before tasks "$PROOF_STATE/out")"
done
