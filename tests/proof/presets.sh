#!/bin/sh
# presets.sh: each preset drains a graph of tasks while its daemon is killed, then worktrees are merged over kills (tests/torture).
. tests/proof/kit.sh
. tests/proof/torture.sh
tasks=${SLUICE_PROOF_CHUNK:-300}
while time_left; do
    run_chunk "$PROOF_BUILD/tests/torture/test_presets" "$tasks" "$(take_numbers 1)"
    add_figure rounds 1
    ! time_left || {
        run_chunk "$PROOF_BUILD/tests/torture/test_workspaces" 60 "$(take_numbers 1)"
        add_figure merge_rounds 1
    }
done
