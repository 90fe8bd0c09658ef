#!/bin/sh
# power.sh: the power is cut at random moments under load, on ext4 and XFS (tests/torture). Needs root.
. tests/proof/kit.sh
. tests/proof/torture.sh
each=${SLUICE_PROOF_CHUNK:-25}
code=0
"$PROOF_BUILD/tests/torture/test_power_cut" 1 >"$PROOF_STATE/types" 2>&1 || code=$?
[ $code != 77 ] || skip "$(tr '\n' ' ' <"$PROOF_STATE/types")"
while time_left; do
    for type in ext4 xfs; do
        ! grep -q "no cuts on $type" "$PROOF_STATE/types" || continue
        run_chunk "$PROOF_BUILD/tests/torture/test_power_cut" "$each" "$(take_numbers 1)" $type
        add_figure cuts "$each"
        add_figure cuts_$type "$each"
        add_figure tasks "$(number_before tasks "$PROOF_STATE/out")"
        add_figure runs "$(number_before runs "$PROOF_STATE/out")"
        add_figure events "$(number_before events "$PROOF_STATE/out")"
    done
done
