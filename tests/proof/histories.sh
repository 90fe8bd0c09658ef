#!/bin/sh
# histories.sh: random histories, the core compared with the slow model (tests/model).
. tests/proof/kit.sh
each=${SLUICE_PROOF_CHUNK:-2000}
while time_left; do
    first=$(take_numbers "$each")
    run_chunk "$PROOF_BUILD/tests/model/test_differential" --first "$first" --seeds "$each"
    for word in histories steps decisions starts; do
        add_figure $word "$(number_before $word "$PROOF_STATE/out")"
    done
done
