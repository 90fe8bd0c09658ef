#!/bin/sh
# Document 002 with the real daemon: gates of scheduled work, the plan of a tick, many slings, direct dispatch, the process
# that starts a run, one write per change, events instead of labels.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"
config 'preset: gastown
limits: {runs: 3}
pace: {tick_s: 3600}
retry: {failed: {delay_s: 3600, cap_s: 3600}}
projects: {web: , api: }'
start
mkfifo go

live() {
    "$SLUICE" status --json | grep -o '"key":"runs","used":[0-9]*' | sed 's/.*://'
}

# --- many slings ---------------------------------------------------------------------------------------

for i in 1 2 3 4 5 6; do
    echo "- {project: $([ $((i % 2)) = 0 ] && echo web || echo api), argv: [sh, -c, 'read -r _ <go'], draft: true}"
done >many.yaml
"$SLUICE" add -f many.yaml >/dev/null
rule 'f150 drafts start nothing' [ "$(live)" = 0 ]
# shellcheck disable=SC2046 # a list
run sluice sling $("$SLUICE" list --ids --state draft)
exits 0 'f150 six slings at once'
rule 'f107 f150 one worker, not six' [ "$(live)" = 1 ]
run sluice why --json "$("$SLUICE" list --ids --state ready | head -n 1)"
rule 'f089 the steps, in order: paused, blocked, capacity, pace' \
    [ "$(grep -oE '"gate":"(paused|dependency|lease:runs|pace)"' out | paste -sd ' ')" = \
    '"gate":"paused" "gate":"dependency" "gate":"lease:runs" "gate":"pace"' ]
run sluice tick --dry-run --json
rule 'f091 a plan says what would go: the least of places, batch and ready work' \
    [ "$(grep -o '"id":' out | wc -l)" = 1 ]
planned=$(field id)
soon sh -c '[ "$("$SLUICE" list --ids --state running | wc -l)" = 1 ]' # its start is an event, too
before=$(last_event)
run sluice tick --dry-run --json
rule 'f044 f091 the same state, the same plan' [ "$(field id)" = "$planned" ]
rule 'f091 f158 a plan changes nothing' [ "$(last_event) $(live)" = "$before 1" ]
run sluice tick --json
rule 'f091 f158 a tick carries out what was planned' [ "$(field id)" = "$planned" ]
"$SLUICE" config set limits.runs=2 >/dev/null
run sluice tick --json
rule 'f089 a tick counts by the configuration of now' [ "$(cat out)$(live)" = '{"start":[]}2' ]
"$SLUICE" config set limits.runs=3 >/dev/null
run sluice tick
run sluice tick
rule 'f150 never more than the cap, however often somebody ticks' [ "$(live)" = 3 ]
for each in $("$SLUICE" list --ids --state ready); do
    value "$each" gate
done | sort -u >gates
rule 'f091 what is skipped says why' [ "$(cat gates)" = lease:runs ]
"$SLUICE" clear --all >/dev/null
"$SLUICE" cancel --now --all --state starting,running >/dev/null

# --- a pause while work is dispatched ------------------------------------------------------------------

"$SLUICE" config set limits.runs=8 >/dev/null
kept=0
for _ in 1 2 3 4 5; do
    "$SLUICE" resume >/dev/null
    for _ in 1 2 3; do
        "$SLUICE" add --project web -- true >/dev/null &
        "$SLUICE" tick >/dev/null &
    done
    "$SLUICE" pause >/dev/null
    wait
    run sluice status --json
    [ "$(field paused) $(field paused_by)" = "true $(id -un)" ] && kept=$((kept + 1))
done
rule 'f114 a pause that comes while work is dispatched is not overwritten by it' [ $kept = 5 ]
add --project web -- true
kill -9 "$(pid_of_daemon)"
start
run sluice tick
rule 'f114 nor lost when the daemon dies right after it' \
    [ "$(value "$id" gate) $(value "$id" attempt)" = 'paused 0' ]
"$SLUICE" clear --all >/dev/null
"$SLUICE" resume >/dev/null

# --- what blocks ---------------------------------------------------------------------------------------

"$SLUICE" config set limits.runs=8 pace.batch=8 >/dev/null
add --project web --draft -- true
base=$id
add --project api --draft --after "$base" -- true
above=$id
"$SLUICE" sling "$above" >/dev/null
run sluice tick
rule 'f023 scheduled work that something blocks is not eligible, over projects' \
    [ "$(value "$above" gate) $(value "$above" attempt)" = 'dependency 0' ]
"$SLUICE" sling "$base" >/dev/null
run sluice tick
becomes "$base" 'done'
run sluice tick
rule 'f023 it is when nothing does' becomes "$above" 'done'

# --- what a sling means ---------------------------------------------------------------------------------

"$SLUICE" pause >/dev/null
draft() {
    add "$@" --draft -- true
}
# ARGS...: the number of tasks that this sling schedules
slung() {
    "$SLUICE" sling --json "$@" | grep -o '"result":"slung"' | wc -l
}
draft --project web
rule 'f104 one word: a task' [ "$(slung "$id")" = 1 ]
draft --project web
rule 'f104 two words: a task and its project' [ "$(slung "$id" web)" = 1 ]
draft --project web && a=$id
draft --project web
rule 'f104 three and more: many tasks, the project last' [ "$(slung "$a" "$id" web)" = 2 ]
draft --project web --group convoy
draft --project api --group convoy
rule 'f104 one word: a group' [ "$(slung convoy)" = 2 ]
draft --project web && epic=$id
draft --project web --parent "$epic"
draft --project web --parent "$epic"
rule 'f104 one word: a task with children, an epic' [ "$(slung "$epic")" = 3 ]
draft --project api
before=$(last_event)
run sluice sling "$id" web
complains "is of project 'api', not of 'web'" 'f098 a task of another project'
run sluice sling "$id" nowhere-1
rule 'f098 a task that is not there' [ "$code" != 0 ]
run sluice sling "$id" --on no-such-formula
rule 'f098 a formula that is not there' [ "$code" != 0 ]
rule 'f098 none of the steps that failed has stored anything' \
    [ "$(last_event) $(value "$id" state)" = "$before draft" ]
"$SLUICE" clear --all >/dev/null
"$SLUICE" resume >/dev/null

# Each call violates the named guard and all later ones: exists, prefix, scheduled or in progress, formula.
"$SLUICE" config set limits.runs=8 pace.batch=8 >/dev/null
add --project api -- sh -c 'read -r _ <go'
run sluice tick
becomes "$id" running
first_guard() { # WORDS ARGS...
    words=$1
    shift
    "$SLUICE" sling "$@" 2>&1 | grep -qF -e "$words" || echo "$words"
}
{
    first_guard "there is no task 'api-999'" api-999 web --on no-such-formula
    first_guard "is of project 'api', not of 'web'" "$id" web --on no-such-formula
    first_guard 'is running' "$id" api --on no-such-formula
} >missed
rule 'f098 the guards answer in order: exists, prefix, in progress, formula' [ ! -s missed ]
unblock go
becomes "$id" 'done'

# --- direct dispatch -----------------------------------------------------------------------------------

"$SLUICE" config unset limits.runs pace.batch >/dev/null
rule 'f151 no cap by default' [ "$("$SLUICE" config get --live limits.runs)" = unlimited ]
add --project web --draft -- sh -c 'read -r _ <go'
direct=$id
run sluice sling "$id"
rule 'f107 f151 a sling starts at once: no tick, no queue' [ "$(value "$id" attempt) $(value "$id" gate)" = '1 null' ]
rule 'f151 and nothing is due later' [ "$("$SLUICE" list --ids --state ready,waiting | wc -l)" = 0 ]

draft --project web && epic=$id
draft --project web --parent "$epic" && one=$id
draft --project web --parent "$epic" && two=$id
run sluice sling "$epic"
becomes "$one" 'done' && becomes "$two" 'done' && becomes "$epic" 'done'
report $? 'f024 an epic dispatches all its children, without a tick'

# --- a cap of 0 -----------------------------------------------------------------------------------------

for none in 0 -1; do
    "$SLUICE" config set "limits.runs=$none" >/dev/null
    add --project web --draft -- true
    "$SLUICE" sling "$id" >/dev/null
    rule "t05 a cap of $none is direct dispatch" becomes "$id" 'done'
done
"$SLUICE" config unset limits.runs >/dev/null
"$SLUICE" pause >/dev/null
add --project web -- true
run sluice tick
rule 't05 the other reading, disabled, is the pause' [ "$(value "$id" attempt) $(value "$id" gate)" = '0 paused' ]
"$SLUICE" resume >/dev/null
becomes "$id" 'done'

# --- the process that starts a run --------------------------------------------------------------------

id=$direct
becomes "$id" running
shim=$(shim_of "$id" 1)
command=$(tr '\0\n' '  ' <"$home/runs/$id/1/lock" | sed -n 's/.*command \([0-9]*\) .*/\1/p')
parent_of() {
    sed -n 's/^PPid:[[:space:]]*//p' "/proc/$1/status"
}
rule 'f090 a run is started by a process of its own' [ "$(parent_of "$command")" = "$shim" ]
rule 'f090 which is no part of the daemon' [ "$(cut -d ' ' -f 6 "/proc/$shim/stat")" != "$(cut -d ' ' -f 6 "/proc/$(pid_of_daemon)/stat")" ]
rule 'f090 a launch has five minutes' [ "$("$SLUICE" config get --live tasks.launch_s)" = 300 ]
rule 'f090 its environment says who dispatched it' \
    sh -c 'tr "\0" "\n" <"/proc/$1/environ" | grep -qx "SLUICE_TASK=$2"' - "$command" "$id"
unblock go
becomes "$id" 'done'

# --- a worker that starts and dies ---------------------------------------------------------------------

add --project web -- sh -c 'kill -9 $$'
becomes "$id" held
run sluice show --json "$id"
rule 't17 a worker that starts and dies is counted' [ "$(field failures) $(field launch_failures)" = '1 0' ]
rule 't17 and how it ended is kept' grep -q '"outcome":"failed","how":"signal","exit_code":null,[^{}]*"signal":9,' out
"$SLUICE" cancel "$id" >/dev/null

# --- one write -----------------------------------------------------------------------------------------

before=$(last_event)
printf -- '- {project: web, run: "true"}\n- {project: api, run: "true"}\n- {project: nowhere, run: "true"}\n' >bad.yaml
run sluice add --group batch -f bad.yaml
rule 'f115 one bad task of three: nothing is scheduled' [ "$code $(last_event)" = "2 $before" ]
run sluice group list
rule 'f115 and no group is left behind' sh -c '! grep -q batch out'
sed -i '/nowhere/d' bad.yaml
run sluice add --group batch -f bad.yaml
"$SLUICE" events --json --limit 100 >out
rule 'f115 without it both are there in one moment' \
    [ "$(grep '"task.added"' out | tail -n 2 | grep -o '"at":[0-9]*' | sort -u | wc -l)" = 1 ]

# --- events are the labels ------------------------------------------------------------------------------

add --project web --hold -- true
held=$id
add --project web -- false
"$SLUICE" release "$held" >/dev/null
becomes "$held" 'done'
"$SLUICE" add --project api --draft -- true >/dev/null
quiet() {
    [ -z "$("$SLUICE" list --ids --state ready,starting,running)" ]
}
soon quiet
"$SLUICE" events --json --limit 1000 >all
# compares the last state of each task in the events with that of the list
grep '"kind":"task.state"' all | sed 's/.*"task":"\([^"]*\)".*"to":"\([^"]*\)".*/\1 \2/' |
    awk '{ state[$1] = $2 } END { for (id in state) print id, state[id] }' | sort >told
"$SLUICE" list --json --all --limit 1000 | grep -o '"id":"[^"]*","project[^}]*"state":"[^"]*"' |
    sed 's/"id":"\([^"]*\)".*"state":"\([^"]*\)"/\1 \2/' | sort >shown
rule 'f149 there are states of every sort' [ "$(cut -d ' ' -f 2 shown | sort -u | wc -l)" -ge 4 ]
grep -vF " draft" shown >settled
rule 'f149 whoever follows the events knows the state of every task' sh -c 'grep -vF " draft" told | diff - settled'
finish
