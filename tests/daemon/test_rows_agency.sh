#!/bin/sh
# Document 003 with the real daemon: one queue per flow, and when locks are acquired and released.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"
config 'preset: agency
limits: {runs: 3}
retry: {failed: {max: 5, delay_s: 3600, cap_s: 3600}}
projects: {board: }'
start

# ARGS...: adds a card that runs until it is released
card() {
    add --project board "$@" -- sh -c 'mkfifo "go.$SLUICE_TASK"; read -r _ <"go.$SLUICE_TASK"'
}
let_go() {
    soon [ -p "go.$1" ]
    unblock "go.$1"
    becomes "$1" 'done'
}
gate() {
    value "$1" gate
}

# --- flows --------------------------------------------------------------------------------------------

card --kind implement --parallel && i1=$id
card --kind implement --parallel && i2=$id
card --kind implement --parallel && i3=$id
card --kind review --parallel && r1=$id
card --kind research --parallel && s1=$id
becomes "$i1" running
becomes "$r1" running
rule 'f037 the oldest of each flow runs; a long queue of one flow stops no other' becomes "$s1" running
rule 'f037 the others of a flow wait for it' [ "$(gate "$i2") $(gate "$i3")" = 'lease:kind:implement lease:kind:implement' ]
let_go "$i1"
rule 'f037 in a flow first come, first served' becomes "$i2" running
rule 'f037 one after the other' [ "$(value "$i3" attempt)" = 0 ]
let_go "$i2"
let_go "$i3"
let_go "$r1"
let_go "$s1"

# --- the phase ----------------------------------------------------------------------------------------

"$SLUICE" config set kinds.implement.max_running=3 >/dev/null
card --kind implement --serial five && a=$id
becomes "$a" running
card --kind implement --serial five && b=$id
card --kind implement --serial six && c=$id
rule 't06 a card that waits for its phase is queued; cards of another phase pass it' becomes "$c" running
rule 't06 it is queued, not refused: the phase is taken at dispatch' \
    [ "$(value "$b" state) $(value "$b" attempt)" = 'ready 0' ]
locked=$(gate "$b")
rule 't06 and says which phase' [ "${locked#lease:serial:}" != "$locked" ]
kill -9 "$(pid_of_daemon)"
start
run sluice tick
rule 'f111 after a relaunch living workers are found and keep their locks' \
    [ "$(value "$a" state) $(value "$a" attempt) $(value "$b" attempt) $(gate "$b")" = "running 1 0 $locked" ]
let_go "$a"
rule 't06 it starts when the phase is free' becomes "$b" running
let_go "$b"
let_go "$c"

# --- backoff ------------------------------------------------------------------------------------------

add --project board --kind implement --serial five --external-id phase-5/card.md -- false
failing=$id
becomes "$failing" held
card --kind implement --serial five && d=$id
rule 't07 the phase and the places are free while a card backs off' becomes "$d" running
run sluice add --project board --kind implement --serial five --external-id phase-5/card.md -- true
rule 't07 the card is not: it cannot be run beside its retry' [ "$(value "$failing" attempt)" = 1 ]
rule 't07 and the answer is the card that has it' grep -q "$failing" out
let_go "$d"

# --- five retries ---------------------------------------------------------------------------------------

"$SLUICE" config set retry.failed.delay_s=0.01 retry.failed.cap_s=0.01 >/dev/null
add --project board --kind review -- false
becomes "$id" failed
rule 't08 five retries are six runs' [ "$(value "$id" attempt) $(value "$id" reason)" = '6 retries' ]

# --- the tail ---------------------------------------------------------------------------------------------

"$SLUICE" config set limits.runs=1 >/dev/null
add --project board --kind review --parallel -- sh -c \
    'mkfifo "go.$SLUICE_TASK" 2>/dev/null; read -r _ <"go.$SLUICE_TASK"; [ -e tried ] || { : >tried; exit 1; }'
failing=$id
card --kind review --parallel && b=$id
card --kind review --parallel && c=$id
becomes "$failing" running
soon [ -p "go.$failing" ]
unblock "go.$failing"
becomes "$b" running
becomes "$failing" ready
kill -9 "$(pid_of_daemon)"
start
let_go "$b"
rule 'f037 f079 a retry goes to the tail of its flow, also after a restart' becomes "$c" running
rule 'f037 f079 it has not run again yet' [ "$(value "$failing" attempt)" = 1 ]
let_go "$c"
let_go "$failing"
rule 'f037 f079 and comes when it is its turn' [ "$(value "$failing" attempt)" = 2 ]
finish
