#!/bin/sh
# bench.sh: the daemon measured in a release build (make bench). Figures are of this machine, busy or not.
. tests/proof/kit.sh
scripts/setup --bench
scripts/build "$PROOF_BUILD-bench" --buildtype=release
# A missed goal of bench ends with 1; the figures count here.
scripts/bench "$PROOF_BUILD-bench" submit latency idle drain depth >"$PROOF_STATE/out" 2>&1 || :
cat "$PROOF_STATE/out"
grep -q 'goal met' "$PROOF_STATE/out" || { echo 'bench measured nothing' && exit 1; }
set_figure missed "$(grep -c 'GOAL MISSED' "$PROOF_STATE/out" || :)"
median() { # the median of the numbers on standard input
    sort -n | awk '{ n[NR] = $1 } END { print n[int((NR + 1) / 2)] + 0 }'
}
set_figure submits_per_s "$(sed -n 's/.*  1 client \([0-9]*\).*/\1/p' "$PROOF_STATE/out" | median)"
set_figure submits_per_s_many "$(sed -n 's/.* clients \([0-9]*\) .*/\1/p' "$PROOF_STATE/out" | median)"
set_figure bulk_per_s "$(sed -n 's/.* bulk \([0-9]*\)$/\1/p' "$PROOF_STATE/out" | median)"
set_figure shim_kb "$(sed -n 's/.*a shim is \([0-9]*\) kB.*/\1/p' "$PROOF_STATE/out" | median)"
set_figure runs_per_s "$(sed -n 's/.* at once: \([0-9]*\)$/\1/p' "$PROOF_STATE/out" | sort -n | tail -n 1)"
set_figure daemon_mb "$(sed -n 's/.*100000 queued in \([0-9]*\) MB.*/\1/p' "$PROOF_STATE/out" | head -n 1)"
set_figure restart_s "$(sed -n 's/.* 100000 queued: serving \([0-9.]*\) s.*/\1/p' "$PROOF_STATE/out" | head -n 1)"
set_figure restart_million_s "$(sed -n 's/.* 1000000 queued: serving \([0-9.]*\) s.*/\1/p' "$PROOF_STATE/out" | head -n 1)"
