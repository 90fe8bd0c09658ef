#!/bin/sh
# `sluice snapshot | sluice plan -` predicts which tasks the daemon starts next, and in which order. Random queues of a real
# daemon with some history; the random numbers are reproducible.
# shellcheck disable=SC1091,SC2034,SC2154 # kit.sh sets home and tmp
. "$(dirname "$0")/kit.sh"
PATH=$(dirname "$SLUICE"):$PATH
ROUNDS=3
STARTS=4

random() { # N: from 0 to N - 1
    seed=$(((seed * 1103515245 + 12345) % 2147483648))
    drawn=$(((seed / 65536) % $1))
}

# A run that reports tokens and ends, or waits until it is canceled.
cat >work.sh <<'END'
[ -z "$2" ] || sluice report --tokens "$2"
case $1 in
waits) exec sleep 600 ;;
*) exit "$1" ;;
esac
END

add_some() { # COUNT WAY: adds random tasks
    left=$1
    while [ "$left" -gt 0 ]; do
        left=$((left - 1))
        random 3 && project=p$((drawn + 1))
        random 5 && priority=$((drawn * 10 + 10))
        random 3 && kind=k$((drawn + 1))
        random 9 && tokens=$((drawn * 500 + 100))
        random 3 && after=
        [ "$drawn" -gt 0 ] || [ -z "$last" ] || after="--after $last"
        # shellcheck disable=SC2086 # options, or none
        add --project "$project" --kind "$kind" --priority "$priority" $after --retries 1 --until exit -- sh ./work.sh "$2" "$tokens"
        random 4
        [ "$drawn" -gt 0 ] || last=$id
    done
}

nothing_lives() {
    [ -z "$("$SLUICE" list --ids --state starting,running)" ]
}

starts_since() { # NUMBER: ids in the order in which they were started
    "$SLUICE" events --json --after "$1" |
        sed -n 's/.*"kind":"task.state","task":"\([^"]*\)".*"to":"starting".*/\1/p'
}

enough_started() {
    [ "$(starts_since "$before" | wc -l)" -ge "$planned" ]
}

one_round() { # SET: how the plan and the daemon are let go
    before=$(last_event)
    "$SLUICE" snapshot >queue.json || return 1
    "$SLUICE" snapshot --anonymous >anonymous.json || return 1
    "$SLUICE" plan --json --set "$1" queue.json >plan.json || return 1
    "$SLUICE" plan --json --set "$1" anonymous.json >neutral.json || return 1
    sed -n '1,/^"blocked"/s/.*{"task":"\([^"]*\)".*/\1/p' plan.json >wanted
    sed -n '1,/^"blocked"/s/.*{"task":"\([^"]*\)".*/\1/p' neutral.json | sed 's/.*-//' >neutral
    planned=$(wc -l <wanted)
    "$SLUICE" config set "$1" >/dev/null || return 1
    soon enough_started
    starts_since "$before" >started
    sed 's/.*-//' wanted | cmp -s - neutral || { echo '# the anonymous plan differs' && return 1; }
    cmp -s wanted started && return
    echo "# planned: $(tr '\n' ' ' <wanted)"
    echo "# started: $(tr '\n' ' ' <started)"
    return 1
}

play() { # PRESET SEED
    preset=$1 seed=$2 last=
    empty_home
    config "preset: $preset
limits: {runs: 0}
projects: {p1: {weight: 3, max_running: 3}, p2: {weight: 1}, p3: {weight: 2}}
kinds: {k1: {max_running: 2, base: 100}, k2: {base: 60}, k3: {base: 80}}
retry: {failed: {delay_s: 0}, launch: {delay_s: 0}}
pace: {batch: unlimited, tick_s: 0, spawn_delay_s: 0}"
    start
    # A past: successes and failures, with tokens.
    add_some 4 0
    add_some 2 1
    "$SLUICE" config set limits.runs=3 >/dev/null
    soon nothing_waits
    "$SLUICE" config set limits.runs=0 >/dev/null
    total=0
    for round in $(seq "$ROUNDS"); do
        add_some 6 waits
        one_round limits.runs=$STARTS
        same=$?
        differ=$((differ + same))
        report "$same" "$preset, seed $2, round $round: the daemon starts what was planned"
        total=$((total + planned))
        "$SLUICE" config set limits.runs=0 >/dev/null
        # shellcheck disable=SC2046 # a list
        "$SLUICE" cancel --now $("$SLUICE" list --ids --state starting,running) >/dev/null
        soon nothing_lives
    done
    rule "$preset, seed $2: something was planned" [ "$total" -ge "$ROUNDS" ]
    stop_daemon
}

nothing_waits() {
    [ -z "$("$SLUICE" list --ids --state ready,starting,running,held)" ]
}

differ=0
play agent-queue 3
rule 'f045 a snapshot of the live queue has all that the next decision needs' [ "$differ" -eq 0 ]
play sluice 1
play loopr 2
play agency 4

# A queue that is paused: what a resume would start.
seed=5 last=
empty_home
config 'projects: {p1: {weight: 3}, p2: {weight: 1}, p3: {weight: 2}}
kinds: {k1: {}, k2: {}, k3: {}}
limits: {runs: 3}'
start
"$SLUICE" pause >/dev/null
add_some 8 waits
"$SLUICE" snapshot >queue.json
rule 'a paused queue starts nothing' [ "$("$SLUICE" plan --json queue.json | grep -c '"gate":"paused"')" -ge 3 ]
before=$(last_event)
sed '1s/"paused":true,//' queue.json | "$SLUICE" plan --json - | sed -n '1,/^"blocked"/s/.*{"task":"\([^"]*\)".*/\1/p' >wanted
planned=$(wc -l <wanted)
"$SLUICE" resume >/dev/null
soon enough_started
starts_since "$before" >started
rule 'without the pause it says what a resume starts' cmp wanted started
rule "and that is something: $planned" [ "$planned" -eq 3 ]

# Live runs hold their slots in the plan, too.
"$SLUICE" snapshot | "$SLUICE" plan - >plan.txt
rule 'live runs are running in the plan' grep -q '3 running' plan.txt
rule 'and nothing else starts' [ "$(grep -c 'starts now' plan.txt)" = 0 ]
finish
