#!/bin/sh
# A daemon whose connection to PostgreSQL breaks around a COMMIT: the client gets one response, and it is correct.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
: "${SLUICE_TEST_STORE:?is not set: run it by make test-postgres T=postgres_cuts}"
: "${CUTTER:?is not set: run it by make test-postgres T=postgres_cuts}"
. "$(dirname "$0")/../daemon/kit.sh"

# The proxy reads plans from one fifo and writes its output to the other.
mkfifo plans told go
"$CUTTER" "$SLUICE_TEST_STORE" <plans >told 2>cutter.err &
exec 8>plans 9<told
read -r SLUICE_TEST_STORE <&9
config 'limits: {runs: 2}'
start

prints_line() { # TEXT: the next line of the proxy
    timeout "$patience" sh -c 'read -r line <&9 && [ "$line" = "$1" ]' - "$1"
}

# KEY: adds a draft; prints the status of the response, 000: no response.
post() {
    curl -s -o "$tmp/out" -w '%{http_code}' -m "$patience" --unix-socket "$home/sluice.sock" -H "Idempotency-Key: $1" \
        -H 'Content-Type: application/json' -d '{"tasks":[{"argv":["true"],"cwd":"/","draft":true}]}' http://sluice/v1/tasks
}

add -- sh -c 'read -r _ <"$1"' - "$tmp/go"
long=$id
becomes "$long" running
tasks=1

for plan in before in-request after in-answer behind 'reset before' 'reset after'; do
    tasks=$((tasks + 1))
    pid=$(pid_of_daemon)
    echo "$plan 1" >&8
    rule "cut $plan: the wire is ready" prints_line set
    status=$(post "cut-number-$tasks")
    rule "cut $plan: the wire was cut" prints_line "${plan#reset } 1"
    if [ "$plan" != behind ]; then
        rule "cut $plan: nobody knows, and the answer says so" grep -q '"outcome_unknown"' out
        rule "cut $plan: with 503" [ "$status" = 503 ]
    fi
    rule "cut $plan: the daemon ends" is_gone "$pid"
    start
    [ "$status" != 200 ] || was=$(field id)
    status=$(post "cut-number-$tasks")
    rule "cut $plan: asked again with the same key, it is there" [ "$status $(value "$(field id)" state)" = '200 draft' ]
    [ "$plan" != behind ] || rule "cut $plan: as it was answered" [ "${was-$(field id)}" = "$(field id)" ]
    rule "cut $plan: once" [ "$("$SLUICE" list --all --ids | wc -l)" = $tasks ]
done

# The command itself: it sends a key and retries.
for plan in before after 'reset after'; do
    tasks=$((tasks + 1))
    pid=$(pid_of_daemon)
    echo "$plan 1" >&8
    rule "cut $plan under a command: the wire is ready" prints_line set
    run sluice add --draft -- true
    exits 0 "cut $plan under a command: it asks the next daemon with the same key"
    rule "cut $plan under a command: the wire was cut" prints_line "${plan#reset } 1"
    rule "cut $plan under a command: the daemon is another one" [ "$(pid_of_daemon)" != "$pid" ]
    rule "cut $plan under a command: once" [ "$("$SLUICE" list --all --ids | wc -l)" = $tasks ]
done

rule 'a run that was there all the time goes on' [ "$(value "$long" state)" = running ]
unblock go
rule 'and its end is seen' becomes "$long" 'done'
rule 'it ran once' [ "$(value "$long" attempt)" = 1 ]
rule 'the log says why the daemon ended' grep -q 'the connection to PostgreSQL is lost' "$home/sluice.log"
finish
