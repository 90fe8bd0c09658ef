#!/bin/sh
# Schedules: every due time has its task or is in one recorded skip, also when the daemon is killed. docs/guide/schedules.md.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"
. "$root/tests/daemon/schedules.sh"
needs python3
mkfifo go
echo '- {id: a, run: "true"}
- {id: b, run: "true", needs: a}' >two.yaml
config "limits: {runs: 8}
schedules:
  tick: {every: 1s, overlap: queue, task: '{\"argv\": [\"true\"]}'}
  each: {every: 1s, overlap: queue, catch_up: all, task: '{\"argv\": [\"true\"]}'}"
start

killed() {
    daemon=$(pid_of_daemon)
    kill -9 "$daemon"
    is_gone "$daemon"
}

for round in 1 2 3 4; do
    fired=$(number each fired)
    soon fired_more each $((fired + 1)) || echo "# round $round: nothing fired"
    killed
    start
done
fired=$(number each fired)
soon fired_more each $((fired + 1))
fired=$(number tick fired)
soon fired_more tick "$fired"
"$SLUICE" schedule pause tick >/dev/null
"$SLUICE" schedule pause each >/dev/null
account tick >problems
rule 'each due time has one task or is in one skip, over kills of the daemon' [ ! -s problems ]
sed 's/^/# /' problems
account each >problems
rule 'with catch_up: all each due time has its task' [ ! -s problems ]
sed 's/^/# /' problems
rule 'none is skipped' [ "$(number each skipped)" = 0 ]
external=$("$SLUICE" events --json --after 0 --limit 100000 | python3 -c '
import datetime, json, sys
fired = [e for e in json.load(sys.stdin)["items"] if e["kind"] == "schedule.fired" and e["data"]["schedule"] == "tick"]
at = datetime.datetime.fromtimestamp(fired[0]["data"]["due_at"] / 1000, datetime.timezone.utc)
print(at.strftime("tick@%Y-%m-%dT%H:%M:%SZ"), fired[0]["task"])')
run sluice show "${external% *}" --json
has "\"${external#* }\"" 'a task is found by schedule and due time'

# --- paused ------------------------------------------------------------------------------------------

fired=$(number tick fired)
skipped=$(number tick skipped)
"$SLUICE" schedule add clock --every 1s --overlap queue -- true >/dev/null
soon fired_more clock 1
rule 'a paused schedule adds nothing' [ "$(number tick fired)" = "$fired" ]
"$SLUICE" schedule resume tick >/dev/null
run sluice schedule show tick
has ', paused' 'what was due meanwhile is one record'
soon fired_more tick "$fired"
"$SLUICE" schedule pause tick >/dev/null
account tick >problems
rule 'and is skipped exactly' [ ! -s problems ]
sed 's/^/# /' problems
"$SLUICE" schedule remove clock >/dev/null

# --- overlap -----------------------------------------------------------------------------------------

"$SLUICE" schedule add slow --every 1s -- sh -c 'read -r _ <"$0"' "$tmp/go" >/dev/null
skipped_more() {
    [ "$(number slow skipped)" -gt "$1" ]
}
soon skipped_more 1
rule 'while the last task is not finished, due times are skipped' [ "$(number slow fired)" = 1 ]
killed
start
soon skipped_more "$(number slow skipped)"
run sluice schedule show slow --json
rule 'as one record, also over a restart' [ "$(grep -o '"reason"' out | wc -l)" = 1 ]
has '"reason":"overlap"' 'with the reason'
unblock go
soon fired_more slow 1
"$SLUICE" schedule pause slow >/dev/null
account slow >problems
rule 'each due time has one task or is in one skip' [ ! -s problems ]
sed 's/^/# /' problems
unblock go
"$SLUICE" schedule set slow overlap=replace >/dev/null
last=$(number slow last_task)
becomes "$last" 'done'
"$SLUICE" schedule resume slow >/dev/null
soon fired_more slow 2
last=$(number slow last_task)
rule 'replace cancels the unfinished task' becomes "$last" canceled
last=$("$SLUICE" schedule remove slow >/dev/null && "$SLUICE" list --ids --state starting,running)
rule 'a removed schedule leaves its task' [ -n "$last" ]
"$SLUICE" cancel --now "$last" >/dev/null
becomes "$last" canceled

# --- a file, and refusals ----------------------------------------------------------------------------

"$SLUICE" schedule add pair --every 1s --overlap queue --file two.yaml >/dev/null
soon fired_more pair 0
"$SLUICE" schedule pause pair >/dev/null
rule 'a file adds all of its tasks' [ "$(number pair last_count)" = 2 ]
echo '- nonsense: 1' >two.yaml
"$SLUICE" schedule resume pair >/dev/null
refused() {
    "$SLUICE" schedule show pair | grep -qF 'two.yaml:1'
}
rule 'a file that is bad now is a refusal with its reason' soon refused
run sluice status --json
has '"schedule:pair"' 'and an alert'
echo '- run: "true"' >two.yaml
fired=$(number pair fired)
rule 'it goes on when the file is good again' soon fired_more pair "$fired"
"$SLUICE" schedule pause pair >/dev/null
account pair >problems
rule 'and each due time was handled once' [ ! -s problems ]
sed 's/^/# /' problems
run sluice status --json
has '"alerts":[]' 'the alert is over'

# --- the configuration -------------------------------------------------------------------------------

"$SLUICE" down --wait >/dev/null 2>&1
cp "$home/sluice.yaml" good.yaml
sed 's/every: 1s, overlap: queue, catch_up: all/cron: "61 * * * *"/' good.yaml >"$home/sluice.yaml"
run sluice up
exits 1 'a bad schedule stops the start: exit code'
rule 'with one clear message' grep -rqF "schedule 'each': cron '61 * * * *': minute 61 is out of range" err "$home"
cp good.yaml "$home/sluice.yaml"
start
finish
