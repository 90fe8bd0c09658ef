#!/bin/sh
# Metrics: valid for Prometheus, documented on the page, and complete for the dashboard and the alert rules.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home, tmp and root; $ is for inner shells
. "$(dirname "$0")/kit.sh"
config 'limits: {runs: 2}
budget: 100000
projects: {web: {budget: 5000}}
kinds: {plan: {max_running: 1}}
agents: {bot: {command: [sh, -c, "sluice report --tokens-in 100 --tokens-out 20 --cost 0.25"], limiter: account}}
limiters: {account: {max_running: 4}}'
PATH=$(dirname "$SLUICE"):$PATH
start

add --project web --agent bot 'say what it took'
becomes "$id" 'done'
add --project web --kind plan -- false
"$SLUICE" cancel --now "$id" >/dev/null
curl -s --unix-socket "$home/sluice.sock" http://localhost/metrics >text

rule 'what a run has reported is counted' grep -qx 'sluice_tokens_total{project="web",agent="bot",type="input"} 100' text
rule 'its money too' grep -qx 'sluice_cost_usd_total{project="web",agent="bot"} 0.250000' text
rule 'every turn and every commit is in a histogram' \
    [ "$(sed -n 's/^sluice_store_commit_duration_seconds_count //p' text)" = "$(sed -n 's/^sluice_store_commits_total //p' text)" ]

# --- the names -----------------------------------------------------------------------------------------

sed -n 's/^# TYPE \([a-z_]*\) .*/\1/p' text | sort >told
grep -o '`sluice_[a-z_]*' "$root/docs/reference/metrics.md" | tr -d '`' | grep -v '_$' | sort -u >written
comm -23 told written >missing
rule "docs/reference/metrics.md names every family: $(tr '\n' ' ' <missing)" [ ! -s missing ]
store_is_file || echo sluice_store_log_bytes >>told # a file's
sort -o told told
comm -13 told written >invented
rule "docs/reference/metrics.md names no other: $(tr '\n' ' ' <invented)" [ ! -s invented ]

for file in grafana/sluice.json prometheus/alerts.yml; do
    grep -oE 'sluice_[a-z_]+' "$root/contrib/$file" | sed -E 's/_(bucket|sum|count)$//' | sort -u >asked
    comm -23 asked told >unknown
    rule "contrib/$file asks for nothing that is not told: $(tr '\n' ' ' <unknown)" [ ! -s unknown ]
done

# --- accepted by other parsers ---------------------------------------------------------------------------

# Debian's python3: another one in the path may lack the package.
cat >families.py <<'END'
import sys
from prometheus_client.parser import text_string_to_metric_families
for family in text_string_to_metric_families(sys.stdin.read()):
    print(family.name, family.type, len(family.samples))
END
/usr/bin/python3 families.py <text >families 2>err
rule 'the client library of Prometheus reads every family' \
    [ "$(grep -c . families)" = "$(grep -c '^# TYPE ' text)" ]
rule 'and knows the type of each' sh -c '! grep -q " unknown " families'

if command -v promtool >/dev/null; then
    rule 'promtool finds nothing to mend' sh -c 'promtool check metrics <text'
    rule 'promtool takes the alert rules' sh -c 'promtool check rules "$1" >/dev/null' - "$root/contrib/prometheus/alerts.yml"
else
    echo '# promtool is not here (Debian: prometheus): the reader of tests/ops/test_metrics.c has looked alone'
fi
finish
