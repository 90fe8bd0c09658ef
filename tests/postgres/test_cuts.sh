#!/bin/sh
# A daemon whose connection to PostgreSQL breaks around a COMMIT: whoever asked gets one answer, and it is true.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
: "${SLUICE_TEST_STORE:?is not set: run it by make test-postgres T=postgres_cuts}"
: "${CUTTER:?is not set: run it by make test-postgres T=postgres_cuts}"
. "$(dirname "$0")/../daemon/kit.sh"

# The wire: plans go in by one fifo, what it says comes out by the other.
mkfifo plans told go
"$CUTTER" "$SLUICE_TEST_STORE" <plans >told 2>cutter.err &
exec 8>plans 9<told
read -r SLUICE_TEST_STORE <&9
config 'limits: {runs: 2}'
start

cut_is_done() {
    timeout "$patience" sh -c 'read -r line <&9 && [ "$line" = "$1" ]' - "$1"
}

add -- sh -c 'read -r _ <"$1"' - "$tmp/go"
long=$id
becomes "$long" running
tasks=1

for plan in before in-request after in-answer behind 'reset before' 'reset after'; do
    echo "$plan 1" >&8
    run sluice add --json --draft -- true
    exits 0 "cut $plan: add is answered"
    tasks=$((tasks + 1))
    rule "cut $plan: the wire was cut" cut_is_done "${plan#reset } 1"
    rule "cut $plan: what it says is there" [ "$(value "$(field id)" state)" = draft ]
    rule "cut $plan: once" [ "$("$SLUICE" list --all --ids | wc -l)" = $tasks ]
done

rule 'a run that was there all the time goes on' [ "$(value "$long" state)" = running ]
tell go
rule 'and its end is seen' becomes "$long" 'done'
rule 'it ran once' [ "$("$SLUICE" show --json "$long" | grep -o '"attempt":[0-9]*' | sort -u)" = '"attempt":1' ]
rule 'the log says why the daemon ended' grep -qi 'connection\|store' "$home/daemon.log"
finish
