#!/bin/sh
# Common problems of such systems that Sluice must not have: work lost or repeated after a crash (pain 6), started twice
# (pain 7), in an order that cannot be changed, or released by a dependency that is not done (pain 8).
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"
config 'limits: {runs: 4}
retry: {failed: {max: 0}, lost: {max: 1}}
projects: {web: }'
start

# Adds a task that writes its run to a file and waits until it is released
note() {
    add --project web -- sh -c 'mkfifo "go.$SLUICE_RUN"; echo "$SLUICE_RUN" >>began; read -r _ <"go.$SLUICE_RUN"'
}

# --- pain 6: after a crash ---------------------------------------------------------------------------------

add --project web -- sh -c 'echo "$SLUICE_RUN" >>began'
finished=$id
becomes "$finished" 'done'
note && orphan=$id
note && alive=$id
appears "$orphan.1" began
appears "$alive.1" began
shim=$(shim_of "$orphan" 1)
add --project web --after "$orphan" -- true
behind=$id
kill -9 "$(pid_of_daemon)"
kill -9 "$shim"
start
rule 'pain 6: work whose worker died is queued again as soon as a daemon is there, not after half an hour' appears "$orphan.2" began
"$SLUICE" events --json --task "$orphan" --limit 100 >out
rule 'pain 6: the death is told' grep -q '"kind":"run.ended".*"outcome":"lost"' out
rule 'pain 6: finished work is not done again' [ "$(value "$finished" attempt) $(grep -c "^$finished\\." began)" = '1 1' ]
rule 'pain 6: what lives keeps its claim' [ "$(value "$alive" state) $(value "$alive" attempt)" = 'running 1' ]
rule 'pain 6: and what waits goes on waiting' [ "$(value "$behind" state)" = waiting ]
kill -9 "$(shim_of "$orphan" 2)"
rule 'pain 6: no claim of a dead worker stays for ever' becomes "$orphan" failed
rule 'pain 6: its reason is that it was lost' [ "$(value "$orphan" reason)" = lost ]
unblock "go.$alive.1"
rule 'pain 6: a run that outlived the daemon ends as it ends' becomes "$alive" 'done'
kill -9 "$(pid_of_daemon)"
start
rule 'pain 6: after another crash nothing has changed' \
    [ "$(value "$finished" state) $(value "$alive" state) $(value "$orphan" state)" = 'done done failed' ]
"$SLUICE" cancel "$behind" >/dev/null

# --- pain 7: twice -----------------------------------------------------------------------------------------

: >began
run "$SLUICED" --foreground
rule 'pain 7: a second daemon of the same home does not start' [ "$code" = 4 ]
note && one=$id
for _ in 1 2 3 4 5 6 7 8; do
    "$SLUICE" tick >/dev/null 2>&1 &
    "$SLUICE" sling "$one" >/dev/null 2>&1 &
    "$SLUICE" release "$one" >/dev/null 2>&1 &
done
wait
appears "$one.1" began
rule 'pain 7: many who tick, sling and release start it once' [ "$(value "$one" attempt) $(grep -c "^$one\\." began)" = '1 1' ]
run sluice retry "$one"
rule 'pain 7: what runs is not retried' [ "$code $(value "$one" attempt)" = '4 1' ]
run sluice again "$one"
rule 'pain 7: nor run again' [ "$code $(value "$one" attempt)" = '4 1' ]
# killed while it starts: the next daemon finds the run, or starts it, and never both
for _ in 1 2 3 4 5; do
    note && racer=$id
    kill -9 "$(pid_of_daemon)"
    start
    appears "$racer." began
    becomes "$racer" running
    unblock "$(ls -d "go.$racer".* | tail -n 1)"
    becomes "$racer" 'done'
done
rule 'pain 7: a daemon that dies while it spawns leads to no second worker' \
    [ "$(sed 's/\..*//' began | sort | uniq -d)" = '' ]
for _ in 1 2 3; do
    "$SLUICE" add --project web --external-id card-7 -- sh -c 'echo card >>cards' >/dev/null
done
becomes "web-$((${racer#web-} + 1))" 'done'
rule 'pain 7: the same card, handed over three times, runs once' [ "$(wc -l <cards)" = 1 ]
unblock "go.$one.1"
becomes "$one" 'done'
rule 'pain 7: one worker does not end another' [ "$("$SLUICE" list --ids --all --state failed | wc -l)" = 1 ]

# --- pain 8: order and dependencies ------------------------------------------------------------------------

"$SLUICE" config set limits.runs=1 >/dev/null
note && busy=$id
appears "$busy.1" began
: >order
for name in a b c d; do
    add --project web -- sh -c "echo $name >>order"
    eval "$name=\$id"
done
"$SLUICE" promote "$d" >/dev/null
"$SLUICE" demote "$a" >/dev/null
unblock "go.$busy.1"
becomes "$a" 'done'
rule 'pain 8: people change the order of what waits' [ "$(paste -sd ' ' order)" = 'd b c a' ]

"$SLUICE" config set limits.runs=8 >/dev/null
add --project web -- false
failed=$id
add --project web --after "$failed" -- touch early
after_failed=$id
becomes "$failed" failed
rule 'pain 8: a dependency that failed releases nobody' [ "$(value "$after_failed" gate)" = dependency ]
run sluice why "$after_failed"
has "$failed" 'pain 8: and is named'
add --project web --hold -- true
given_up=$id
add --project web --after "$given_up" -- touch early
after_given_up=$id
"$SLUICE" cancel "$given_up" >/dev/null
rule 'pain 8: nor one that was given up: closed is not done' [ "$(value "$after_given_up" gate)" = dependency ]
add --project web --review -- true
review=$id
add --project web --after "$review" -- true
after_review=$id
becomes "$review" held
rule 'pain 8: nor one that waits for review' [ "$(value "$after_review" gate)" = dependency ]
"$SLUICE" approve "$review" >/dev/null
rule 'pain 8: approved, it starts what waits, at once' becomes "$after_review" 'done'
rule 'pain 8: nothing started early' [ ! -e early ]
printf '%s\n' '- {project: web, id: box, needs: part, run: "true"}' '- {project: web, id: part, parent: box, run: "true"}' >box.yaml
before=$(last_event)
run sluice add -f box.yaml
rule 'pain 8: a container and its part that wait for each other are refused' [ "$code $(last_event)" = "2 $before" ]
rule 'pain 8: and the ring is printed' grep -q 'box -> part -> box' err
finish
