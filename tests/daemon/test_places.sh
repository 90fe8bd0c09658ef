#!/bin/sh
# Slots that are released in a review, slots of named resources, slots of external runs; ownership of the state.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"
config 'limits: {runs: 4, resource: {gpu: 1, license: 2}}
projects: {web: {review: 2}}'
start
mkfifo go

limit() { # KEY: used and cap
    "$SLUICE" status --json | grep -oE "\"key\":\"$1\",\"used\":[0-9]+,\"cap\":[0-9]+" |
        sed -e 's/.*"used"://' -e 's/,"cap":/ /'
}

# --- review ------------------------------------------------------------------------------------------------

for _ in 1 2 3; do
    add --project web --review -- sh -c '[ -z "${SLUICE_FEEDBACK-}" ] || cat "$SLUICE_FEEDBACK"'
done
becomes 1 held
becomes 2 held
rule 'f012 two places for review: both are taken by what waits for people' [ "$(limit review:web)" = '2 2' ]
rule 'f012 and a third does not start' [ "$(value 3 gate)" = lease:review:web ]
run sluice reject --reason 'the tests of login fail' 1
exits 0 'f026 reject with a reason'
run sluice debug events
rule 'f026 the event has who and why' grep -q "\"kind\":\"task.rejected\".*\"by\":\"$(id -un)\",\"reason\":\"the tests of login fail\"" out
run sluice approve --reason fine 2
exits 0 'f012 approve'
rule 'f012 a verdict gives the place back: the third has run' becomes 3 held
is_held_again() {
    "$SLUICE" show --json 1 >out
    [ "$(field iteration) $(field state)" = '2 held' ]
}
soon is_held_again
run sluice logs 1
has 'the tests of login fail' 'f026 the next iteration is told'
run sluice reject --reason '' 3
exits 2 'f026 an empty reason is none'
complains "option '--reason' is empty" 'f026 and says so'
run sluice approve 1 3
exits 0 'f012 approve without a word'

# --- named resources ---------------------------------------------------------------------------------------

for _ in 1 2 3; do
    add --project web --resource gpu --resource license -- sh -c 'read -r _ <go'
done
becomes "web-4" running
rule 'f050 status shows the places of named things' [ "$(limit resource:gpu) $(limit resource:license)" = '1 1 1 2' ]
rule 'f050 what lacks one waits for it' [ "$(value web-5 gate)" = lease:resource:gpu ]
run sluice config set limits.resource.gpu=2
rule 'f059 raised while it runs: the next starts at once' [ "$(limit resource:gpu)" = '2 2' ]
"$SLUICE" cancel --now --all --state ready,starting,running >/dev/null
for id in web-4 web-5 web-6; do becomes $id canceled; done
rule 'f085 all given back' [ "$(limit resource:gpu) $(limit resource:license)" = '0 2 0 2' ]

# --- f113, f152: one owner of the state ----------------------------------------------------------------------

run "$SLUICED" --foreground
[ "$code" = 2 ] && run "$SLUICED"
exits 4 'f113 a second daemon of a home is refused'
run sluice status
exits 0 'f152 and changes nothing: the first still answers'

# --- f025, f026: delete and again ------------------------------------------------------------------------------

add --project web -- true
parent=$id
becomes "$parent" 'done'
add --project web --parent "$parent" --hold -- true
child=$id
run sluice again "$parent"
exits 0 'f026 finished work once more'
rule 'f026 what came from the last iteration is invalidated' becomes "$child" invalidated
becomes "$parent" 'done'
add --project web --parent "$parent" --hold -- true
orphan=$id
run sluice delete "$parent"
exits 0 'f025 a finished task can be deleted'
rule 'f025 what was below it fails as an orphan' [ "$(value "$orphan" state) $(value "$orphan" reason)" = 'failed orphaned' ]

# --- f053, f054: external runs ----------------------------------------------------------------------------------

add --project web -- sh -c 'read -r _ <go'
becomes "$id" running
outside=$id
pid=$(pid_of_daemon)
"$SLUICE" down >/dev/null 2>&1
is_gone "$pid"
forget_store
start
run sluice status --json
rule 'f053 a living run that nobody knows is found by its folder' grep -q "\"external\":\[\"$outside\"\]" out
rule 'f054 and holds a place' [ "$(limit runs)" = '1 4' ]
run sluice status
rule 'f054 status lists it' grep -Eq "$outside .*external" out
run sluice list
has "$outside" 'f054 so does list'
unblock go
all_are_free() {
    [ "$(limit runs)" = '0 4' ]
}
rule 'f053 its end gives the place back' soon all_are_free

# --- f087, f088, f089: ticks -----------------------------------------------------------------------------------

"$SLUICE" down >/dev/null 2>&1
for preset in loopr=1 gastown=180; do
    config "preset: ${preset%=*}"
    run sluice config get pace.tick_s
    prints "${preset#*=}" "f087 f088 a tick of ${preset%=*} is ${preset#*=} s"
done
config 'preset: gastown
limits: {runs: 4}
pace: {tick_s: 3600}
projects: {web: }'
start
"$SLUICE" pause >/dev/null
for _ in 1 2 3; do
    add --project web -- sh -c 'read -r _ <go'
done
"$SLUICE" resume >/dev/null
before=$("$SLUICE" list --ids --state starting,running | wc -l)
run sluice tick
rule 'f088 a tick starts one' [ "$("$SLUICE" list --ids --state starting,running | wc -l)" = "$((before + 1))" ]
"$SLUICE" pause >/dev/null
run sluice tick
rule 'f089 paused comes before everything else: a tick starts nothing' \
    [ "$("$SLUICE" list --ids --state starting,running | wc -l)" = "$((before + 1))" ]
finish
