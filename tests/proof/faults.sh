#!/bin/sh
# faults.sh: one system call or allocation of the daemon fails, each time another one (tests/torture).
. tests/proof/kit.sh
. tests/proof/torture.sh
NTH_CALL=$PROOF_BUILD/tests/harness/libnth_call.so
export NTH_CALL
each=${SLUICE_PROOF_CHUNK:-3}
while time_left; do
    run_chunk "$PROOF_BUILD/tests/torture/test_nth_call" "$each" "$(take_numbers 1)"
    add_figure faults "$(number_before faults "$PROOF_STATE/out")"
    # How many calls could have failed.
    set_figure calls "$(awk '/ calls failed/ { n += $(NF - 2) } END { print n }' "$PROOF_STATE/out")"
done
