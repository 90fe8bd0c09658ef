#!/bin/sh
# The life cycle of a task, and the commands that change it.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"
config 'limits: {runs: 4}
retry: {failed: {max: 0}}'
start

# --- dependencies ----------------------------------------------------------------------------------

mkfifo go
add -- sh -c 'read -r _ <go; echo first >>order'
first=$id
becomes "$first" running
add --after "$first" -- sh -c 'echo second >>order'
second=$id
run sluice why "$second"
has "waits for '$first', which is running" 'a task waits for its dependency, and says so'
unblock go
becomes "$second" 'done'
rule 'dependencies run first' [ "$(tr '\n' ' ' <order)" = 'first second ' ]
add -- sh -c 'test -e mended'
broken=$id
add --after "$broken" -- true
patient=$id
becomes "$broken" failed
run sluice why "$patient"
has "waits for '$broken', which is failed; retry it" 'a failed dependency is named, with what to do'
run sluice status
has '1 waits for failed tasks' 'status counts what waits for a failed one'
: >mended
run sluice retry "$broken"
rule 'retry of a dependency revives what waits for it' becomes "$patient" 'done'
run sluice add --after "$first,$first" -- true
exits 0 'a dependency named twice counts once'
run sluice add --after t-999 -- true
exits 2 'a dependency that does not exist is refused'

# --- cancel ------------------------------------------------------------------------------------------

cat >tree.sh <<'END'
tail -f /dev/null &
echo $! >>pids
setsid tail -f /dev/null &
echo $! >>pids
mkfifo grown
(trap '' TERM HUP INT; tail -f /dev/null & echo $! >>pids; echo >grown; wait) &
echo $! >>pids
echo $$ >>pids
read -r _ <grown
echo planted
wait
END
add --grace 1s -- sh ./tree.sh
tree=$id
appears planted "$home/runs/$tree/1/out.log"
rule 'a tree of processes' [ "$(wc -l <pids)" = 5 ]
run sluice cancel "$tree"
exits 0 'cancel of a running task'
prints "$tree is being stopped" 'cancel says that it is being stopped'
rule 'it is canceled when its run has ended' becomes "$tree" canceled
alive=0
while read -r pid; do
    is_gone "$pid" || alive=$((alive + 1))
done <pids
rule 'cancel ends the whole tree: also what left its session or ignores TERM' [ $alive = 0 ]
run sluice cancel "$tree"
exits 0 'cancel twice is well'
add --in 1h -- true
run sluice cancel "$id"
rule 'what does not run is canceled at once' [ "$(value "$id" state)" = canceled ]
run sluice cancel "$second"
prints "$second is done already" 'what is done stays done'
run sluice cancel "$second" t-999
exits 1 'one that does not exist: nothing is done to any'
add -- sh -c 'trap "" TERM; echo ready; while :; do tail -f /dev/null; done'
appears ready "$home/runs/$id/1/out.log"
run sluice cancel --now "$id"
rule 'cancel --now waits for no grace' becomes "$id" canceled

# --- hold and release --------------------------------------------------------------------------------

add --hold -- sh -c 'echo released >>order'
run sluice why "$id"
has 'held; release it to let it go on' 'a held task says what lets it go'
run sluice hold "$id"
exits 0 'hold twice is well'
run sluice release "$id"
rule 'release lets it go' becomes "$id" 'done'
run sluice hold "$id"
exits 4 'what is over cannot be held'
before=$(date +%s)
add --in 1h -- true
rule '--in gives the time' [ "$(value "$id" not_before)" -ge "$(((before + 3600) * 1000))" ]
run sluice release "$id"
rule 'release before its time' becomes "$id" 'done'

# --- pause -------------------------------------------------------------------------------------------

add -- sh -c 'read -r _ <go; echo survived >>order'
running=$id
becomes "$running" running
run sluice pause
exits 0 'pause'
add -- true
run sluice why "$id"
has 'go on with: sluice resume' 'nothing starts while paused, and that is said'
unblock go
rule 'running tasks continue while paused' becomes "$running" 'done'
"$SLUICE" down >/dev/null 2>&1
"$SLUICE" up >/dev/null 2>&1
run sluice status
has 'PAUSED' 'a pause outlives the daemon'
kill -9 "$(pid_of_daemon)"
"$SLUICE" up >/dev/null 2>&1
run sluice status --json
rule 'and kill -9 of it' [ "$(field paused)" = true ]
rule 'nothing has started' [ "$(value "$id" attempt)" = 0 ]
run sluice resume
exits 0 'resume'
rule 'resume starts what waits' becomes "$id" 'done'
run sluice resume
exits 0 'resume twice is well'

# --- drafts ------------------------------------------------------------------------------------------

add --draft -- true
run sluice why "$id"
has 'a draft: sling it' 'a draft says how it is scheduled'
run sluice sling "$id"
rule 'sling schedules it' becomes "$id" 'done'
add --hold -- true
run sluice clear "$id"
rule 'clear makes it a draft again' [ "$(value "$id" state)" = draft ]
run sluice delete "$id"
exits 0 'a draft can be deleted'
run sluice show "$id"
exits 1 'and is gone'
finish
