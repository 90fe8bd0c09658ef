#!/bin/sh
# An alert is raised once per cause, survives a restart, and is cleared when its cause is over.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"
config 'limits: {runs: 4, resource: {gpu: 1}}
projects: {web: , api: }
breaker: {max: 2, reset_s: 3600}
alerts: {stuck_s: 0}'
start

keys() { # of the open alerts
    "$SLUICE" status --json | sed -e 's/.*"alerts":\[//' -e 's/\],"external":.*//' | grep -oE '\{"key":"[a-z]+(:[^"]*)?","text"' | sed -e 's/^{"key":"//' -e 's/",.*//' | sort
}
raised() { # KEY: how often it has been raised
    "$SLUICE" debug events | grep -c "\"kind\":\"alert\".*\"key\":\"$1\""
}
cleared() {
    "$SLUICE" debug events | grep -c "\"kind\":\"alert.cleared\".*\"key\":\"$1\""
}
is_open() { # KEY
    keys | grep -qxF -e "$1"
}
is_closed() {
    ! is_open "$1"
}
opens() { # KEY: waits until the alert is open
    soon is_open "$1" || { echo "# no alert $1, but: $(keys)" && return 1; }
}
closes() {
    soon is_closed "$1"
}
none_is_open() {
    [ -z "$(keys)" ]
}

rule 'a quiet home has no alert' [ -z "$(keys)" ]

# --- f018 f086: a failed dependency ---------------------------------------------------------------------

add --project web --retries 0 -- false
failed=$id
add --project web --group release --after "$failed" -- true
waiting=$id
add --project web --after "$failed" -- true
rule 'f086 a task that others wait for has failed: one alert' opens "chain:$failed"
rule 'f086 the group that cannot finish has one too' opens group:release
run sluice status
has "'$failed' is failed, and " 'f086 status shows it, with what waits'
has 'retry it, or cancel what waits' 'f086 and what to do'
run sluice add --project web --after "$failed" -- true
"$SLUICE" down >/dev/null 2>&1
start
rule 'pain 10: after a restart the alert is still there' opens "chain:$failed"
"$SLUICE" add --project web --after "$failed" -- true >/dev/null
rule 'pain 10: and was told once, whatever came behind it' [ "$(raised "chain:$failed")" = 1 ]
kill -9 "$(pid_of_daemon)"
"$SLUICE" up >/dev/null 2>&1
rule 'pain 10: also after kill -9' [ "$(raised "chain:$failed") $(cleared "chain:$failed")" = '1 0' ]
"$SLUICE" cancel --all --project web --state waiting,ready >/dev/null
rule 'f086 it is over when nobody waits any more' closes "chain:$failed"
rule 'f086 so is that of the group' closes group:release
rule 'f086 each was cleared once' [ "$(cleared "chain:$failed") $(cleared group:release)" = '1 1' ]

# --- f086: a failed parent: the same ---------------------------------------------------------------------

add --project web --retries 0 -- false
parent=$id
becomes "$parent" failed
add --project web --parent "$parent" -- true
child=$id
rule 'f086 a task whose children wait for it has failed: one alert' opens "chain:$parent"
run sluice status
has "'$parent' is failed, and '$child' waits for it: retry it, or cancel what waits" 'f086 with the child that waits'
has '1 waits for failed tasks' 'f086 and it is counted'
run sluice why "$child"
has "waits for its parent '$parent', which is failed; retry it" 'f086 why says what to do'
"$SLUICE" cancel "$child" >/dev/null
rule 'f086 it is over when no child waits any more' closes "chain:$parent"
"$SLUICE" retry "$child" >/dev/null
rule 'f086 and opens again when one does' opens "chain:$parent"
"$SLUICE" cancel "$child" "$parent" >/dev/null 2>&1
closes "chain:$parent"
add --project web --after "$failed" -- true
parent=$id
add --project web --parent "$parent" -- true
child=$id
"$SLUICE" cancel "$parent" >/dev/null
"$SLUICE" delete "$parent" >/dev/null
"$SLUICE" retry "$child" >/dev/null
rule 'f025 an orphan that is retried runs without its parent' becomes "$child" 'done'

# --- f084: a breaker ------------------------------------------------------------------------------------

add --project web -- /nowhere/at/all
broken=$id
rule 'f084 a task that cannot be launched: one alert when its breaker opens' opens "breaker:$broken"
run sluice status
has "'$broken' could not be launched 2 times in a row" 'f084 with how often'
has "'sluice why $broken' says why" 'f084 and where the reason is: a run that was not launched has no log'
"$SLUICE" cancel "$broken" >/dev/null
rule 'f084 it is over with the task' closes "breaker:$broken"

# --- stuck ----------------------------------------------------------------------------------------------

mkfifo go
add --project web --resource gpu -- sh -c 'read -r _ <go'
runs=$id
becomes "$runs" running
for _ in 1 2 3; do
    add --project web --resource gpu -- true
done
run sluice config set alerts.stuck_s=1
rule 'f022 a task that runs longer than alerts.stuck_s: an alert' opens "run:$runs"
rule 'f022 tasks that wait longer: one alert for the place that all of them lack' opens stuck:lease:resource:gpu
run sluice status
rule 'f022 it names the oldest, since when, and what stops it' \
    grep -Eq "stuck:lease:resource:gpu .*'$(printf '%s' "$runs" | sed 's/[0-9]*$//')[0-9]+' has been waiting for [0-9]+ min: .*gpu" out
rule 'f022 three tasks, one alert' [ "$("$SLUICE" debug events | grep -c '"key":"stuck:')" = 1 ]
"$SLUICE" pause >/dev/null
unblock go
ends "$runs"
rule 'f022 it is over when the run has ended' closes "run:$runs"
rule 'f022 what a person has stopped is not stuck' closes stuck:lease:resource:gpu
"$SLUICE" resume >/dev/null
becomes "$id" 'done'
rule 'f022 in the end nothing is left' soon none_is_open

# --- alerts.notify --------------------------------------------------------------------------------------

cat >notify.sh <<'END'
printf '%s %s %s %s\n' "$SLUICE_ALERT" "$SLUICE_ALERT_KEY" "$SLUICE_TASK" "$SLUICE_ALERT_TEXT" >>"$1"
END
run sluice config set alerts.stuck_s=0 "alerts.notify=sh $tmp/notify.sh $tmp/told"
exits 0 'a command can be told'
add --project web --retries 0 -- false
failed=$id
add --project web --after "$failed" -- true
rule 'alerts.notify is run for an alert' appears "raised chain:$failed $failed '$failed' is failed, and '$id' waits for it" told
"$SLUICE" cancel "$id" >/dev/null
rule 'and when it is over' appears "cleared chain:$failed $failed" told
"$SLUICE" down >/dev/null 2>&1
start
add --project web --retries 0 -- false
second=$id
add --project web --after "$second" -- true
appears "raised chain:$second" told
rule 'pain 10: nobody is told twice' [ "$(grep -c "raised chain:$failed" told)" = 1 ]
run sluice config set alerts.notify=/nowhere/notify
"$SLUICE" cancel "$id" >/dev/null
rule 'a command that cannot be run is in the log, and nothing else suffers' appears 'alerts.notify:' "$home/sluice.log"

mkfifo never
run sluice config set groups.notify_timeout_s=1 "groups.notify=sh -c 'read -r _ <$tmp/never'"
exits 0 'a command can be told when groups close'
run sluice add --project web --group night -- true
exits 0 'one closes'
rule 'groups.notify_timeout_s ends one that takes too long' appears 'groups.notify took longer than 1000 ms' "$home/sluice.log"
finish
