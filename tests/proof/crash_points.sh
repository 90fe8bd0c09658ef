#!/bin/sh
# crash_points.sh: the store is killed, torn and cut from power at every operation of a history (tests/store).
. tests/proof/kit.sh
while time_left; do
    run_chunk "$PROOF_BUILD/tests/store/test_sqlite_crash" "$(take_numbers 1)" 4
    add_figure histories 1
    add_figure points "$(number_before crash "$PROOF_STATE/out")"
    add_figure recovery_points "$(number_before recovery "$PROOF_STATE/out")"
done
