#!/bin/sh
# worlds.sh: random worlds against the invariants (tests/world), one process per processor.
. tests/proof/kit.sh
each=${SLUICE_PROOF_CHUNK:-1000}
set_figure failed "$(figure failed)"
# What an interrupted proof has used already.
before=$(figure processor_ms)
while time_left; do
    first=$(take_numbers $((each * $(nproc))))
    pids='' codes=0
    for i in $(seq 0 $(($(nproc) - 1))); do
        "$PROOF_BUILD/tests/world/test_world" --first $((first + i * each)) --seeds "$each" >"$PROOF_STATE/out.$i" &
        pids="$pids $!"
    done
    for pid in $pids; do
        wait "$pid" || codes=1
    done
    for i in $(seq 0 $(($(nproc) - 1))); do
        cat "$PROOF_STATE/out.$i"
        add_figure seeds "$(number_before seeds "$PROOF_STATE/out.$i")"
        add_figure steps "$(number_before steps "$PROOF_STATE/out.$i")"
        rm "$PROOF_STATE/out.$i"
    done
    [ $codes = 0 ] || { add_figure failed 1 && exit 1; }
    note_processor_ms
    set_figure processor_ms $((before + $(cat "$PROOF_STATE/processor_ms")))
    set_figure seeds_per_s "$(awk -v n="$(figure seeds)" -v ms="$(figure processor_ms)" 'BEGIN { printf "%.1f", n * 1000 / ms }')"
    set_figure steps_per_s "$(awk -v n="$(figure steps)" -v ms="$(figure processor_ms)" 'BEGIN { printf "%d", n * 1000 / ms }')"
done
