#!/bin/sh
# fuzz.sh: random input for every reader. The corpus is kept between proofs and is never in the repository.
. tests/proof/kit.sh
scripts/setup --fuzz
build=$PROOF_BUILD-fuzz
mkdir -p "$PROOF_STATE/keep/corpus" "$build"
[ -e "$build/corpus" ] || ln -s "$(cd "$PROOF_STATE/keep/corpus" && pwd)" "$build/corpus"
targets=$(find tests/fuzz -name 'fuzz_*.c' | sed 's,.*/fuzz_,,; s,\.c$,,' | sort)
set_figure targets "$(echo "$targets" | wc -l)"
# Short rounds over all targets, so that every target has its share of any time.
while :; do
    seconds=$(($(seconds_left) / $(echo "$targets" | wc -l)))
    [ $seconds -le 60 ] || seconds=60
    [ $seconds -ge 1 ] || seconds=1
    for target in $targets; do
        run_chunk scripts/fuzz "$build" $seconds "$target"
        add_figure inputs "$(number_before inputs "$PROOF_STATE/out")"
        time_left || exit 0
    done
done
