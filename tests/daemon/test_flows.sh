#!/bin/sh
# The preset agency with the real daemon: cards, flows, phases, locks, the queue and its log.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"
config 'preset: agency
projects: {web: }
log: {depth_s: 0.2}'
start
mkfifo go

gate() { # of a task that waits
    value "$1" gate
}
live() { # ids, in order
    "$SLUICE" list --ids --state starting,running | sort -t - -k 2n | tr '\n' ' '
}
stop_all() {
    "$SLUICE" cancel --now --all --state waiting,ready,held,starting,running >/dev/null
    for id in $("$SLUICE" list --ids --state starting,running); do
        becomes "$id" canceled
    done
}
card() { # KIND ARGS...: adds a card that runs until a line is written to its fifo
    kind=$1
    shift
    add --project web --kind "$kind" "$@" -- sh -c 'read -r _ <go'
}

# --- f058, f059, f037, f092: caps of flows, and starts after a change of a cap -----------------------------

card implement --parallel
card review --parallel
card research --parallel
card implement --parallel
becomes 1 running
rule 'f058 one run, by default' [ "$(live)" = 'web-1 ' ]
rule 'f058 the others wait for the place' [ "$(gate 2)" = lease:runs ]
run sluice config set limits.runs=3
rule 'f059 f092 a raised cap starts work in the same moment, one of each flow' [ "$(live)" = 'web-1 web-2 web-3 ' ]
run sluice config set limits.runs=4
rule 'f058 and no more than one of a flow' [ "$(gate 4)" = lease:kind:implement ]
run sluice config set kinds.implement.max_running=2
rule 'f059 f139 the cap of a flow is a setting that takes effect at once' [ "$(live)" = 'web-1 web-2 web-3 web-4 ' ]
run sluice config set limits.runs=1
rule 'f059 a lowered cap stops nothing' [ "$(live)" = 'web-1 web-2 web-3 web-4 ' ]
stop_all

# --- f061, f062, f095, f157: phases ----------------------------------------------------------------------

run sluice config set limits.runs=8 kinds.implement.max_running=8 kinds.review.max_running=8
before=$(last_event)
card implement --serial phase-1
one=$id
card implement --serial phase-1
two=$id
card review --serial phase-1
three=$id
card implement --serial phase-2
four=$id
rule 'f061 one at a time in a phase and flow, without being asked' [ "$(gate "$two")" = "lease:serial:web/phase-1/implement" ]
rule 'f095 what another phase or flow is in is passed over, not waited for' [ "$(live)" = "$one $three $four " ]
echo '- {argv: [sh, -c, "read -r _ <go"], project: web, kind: implement, serial: phase-1, parallelizable: true}' >card.yaml
add -f card.yaml
rule 'f062 f157 a card that is parallelizable meets only the caps' [ "$(live)" = "$one $three $four $id " ]
"$SLUICE" cancel --now "$one" >/dev/null
rule 'f085 f092 the end of a run gives its phase back, and the next starts at once' becomes "$two" running
stop_all

# --- f079 to f083: backoff, with the card locked ----------------------------------------------------------

run sluice config set limits.runs=2 kinds.implement.max_running=2
rule 'f079 the pause is that of the document' \
    [ "$("$SLUICE" config get --live retry.failed.delay_s) $("$SLUICE" config get --live retry.failed.jitter)" = '30 0.1' ]
run sluice config set retry.failed.delay_s=3600 retry.failed.cap_s=3600 # never ends during the test
add --project web --kind implement --external-id cards/a.md -- sh -c 'echo >>tries; exit 1'
card_a=$id
becomes "$card_a" held
rule 'f079 a failed run waits so long, 10 % more or less' sh -c \
    '[ "$1" -ge 3200000 ] && [ "$1" -le 4000000 ]' - "$(($(value "$card_a" not_before) - $(value "$card_a" changed_at)))"
run sluice add --project web --kind implement --external-id cards/a.md -- true
exits 4 'f080 the card stays locked while it backs off: a second run is refused'
prints "$card_a already: held" 'f080 with the one that has it'
kill -9 "$(pid_of_daemon)"
"$SLUICE" up >/dev/null 2>&1
run sluice add --project web --kind implement --external-id cards/a.md -- true
exits 4 'f154 the lock is in the store: after kill -9 it is still held'
rule 'f111 locks do not expire by age: the timer is the same as before' [ "$(value "$card_a" state)" = held ]
run sluice retry "$card_a"
exits 0 'f081 a manual rerun of a card that backs off'
ran_twice() {
    [ "$(wc -l <tries)" = 2 ]
}
rule 'f081 runs it now' soon ran_twice
becomes "$card_a" held
rule 'f081 as a new run, with its counter at the beginning' [ "$(value "$card_a" attempt)" = 2 ]
run sluice show "$card_a"
run sluice config set retry.failed.delay_s=0 retry.failed.cap_s=0
run sluice retry "$card_a"
rule 'f082 when the retries are used up the card has failed' becomes "$card_a" failed
rule 'f079 after five of them' [ "$(value "$card_a" attempt)" = 8 ]
rule 'f082 its logs are kept' [ -n "$(recorded_end "$card_a" 8)" ]
run sluice list --ids --state ready,waiting,held
rule 'f082 and it is out of the queue' [ ! -s out ]
run sluice retry "$card_a"
exits 0 'f082 its lock is gone: a person can run it again'
"$SLUICE" cancel --now "$card_a" >/dev/null
run sluice config set retry.failed.delay_s=3600 retry.failed.cap_s=3600
add --project web --kind implement -- /nowhere/at/all
rule 'f083 a launch that fails backs off like a failed run' becomes "$id" held
run sluice why "$id"
has 'waits before the next attempt (opens in ' 'f083 and says so'
stop_all

# --- f112: a lost worker --------------------------------------------------------------------------------------

card implement
becomes "$id" running
lost=$id
shim=$(shim_of "$lost" 1)
kill -9 "$(pid_of_daemon)"
kill -9 "$shim"
is_gone "$shim"
"$SLUICE" up >/dev/null 2>&1
rule 'f112 running, and nobody runs it: failed after the restart' becomes "$lost" failed
run sluice show "$lost"
has 'lost' 'f112 because it was lost'
add --project web --kind implement -- true
rule 'f112 and the queue goes on' becomes "$id" 'done'

# --- f093: the depth of the queue, in the log ---------------------------------------------------------------

run sluice config set limits.runs=0
for kind in implement implement review; do
    add --project web --kind $kind -- true
done
rule 'f093 while something is queued its depth is told, flow by flow' appears 'Queue depth total=3 implement=2 review=1' "$home/sluice.log"
lines=$(grep -c 'Queue depth' "$home/sluice.log")
run sluice config set limits.runs=4
becomes "$id" 'done'
rule 'f093 an empty queue has nothing to tell' [ "$(grep -c 'Queue depth total=0' "$home/sluice.log")" = 0 ]
run sluice config set log.level=info
exits 0 'f093 the log goes on'

# --- f096, f153: files of a start ---------------------------------------------------------------------------

rule 'f096 each run has a folder of its own, with its log' [ -f "$home/runs/$id/1/out.log" ]
rule 'f096 and its end' [ -n "$(recorded_end "$id" 1)" ]
rule 'f096 queued, starting, running and done are told in this order' [ "$("$SLUICE" debug events |
    grep "\"task\":\"$id\"" | grep -oE '"to":"[a-z]+"' | tr -d '"' | tr '\n' ' ')" = 'to:starting to:running to:done ' ]
finish
