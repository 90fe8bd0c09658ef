#!/bin/sh
# Output of the scheduler: ticks, selections, rate limits, metrics, the table of candidates.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"
config 'preset: loopr
limits: {runs: 2}
projects: {web: }
tasks: {until: exit}
score: {age_per_minute: 0}
agents: {bot: {command: [sh, -c, "sluice report --rate-limited 3000; exit 1"], limiter: account}}
limiters: {account: {max_running: 4}}'
PATH=$(dirname "$SLUICE"):$PATH
start
mkfifo go
log=$home/sluice.log

# --- f129, f130 -----------------------------------------------------------------------------------------

"$SLUICE" pause >/dev/null
for kind in ralph plan ralph; do
    add --project web --kind $kind -- sh -c 'read -r _ <go'
done
"$SLUICE" resume >/dev/null
appears 'Scheduler tick pending=3 runnable=3 selected=2 running=0 slots_available=2' "$log"
report $? 'f129 a tick tells pending, runnable, selected, running and slots_available, as before the selection'
rule 'f130 each selection tells loop_id, loop_type, priority and age_ms' \
    grep -Eq '"level":"debug","text":"Selected loop for execution loop_id=web-1 loop_type=ralph priority=100 age_ms=[0-9]+"' "$log"
rule 'f130 leaves first: the plan was not selected' [ "$(grep -c 'loop_id=web-2' "$log")" = 0 ]
rule 'f129 a tick that says what the last one said is left out' [ -z "$(grep -o 'Scheduler tick.*' "$log" | uniq -d)" ]
run sluice config set log.level=info
lines=$(wc -l <"$log")
"$SLUICE" cancel --now --all --state starting,running,ready >/dev/null
for id in 1 2 3; do
    becomes $id canceled
done
rule 'f129 at the level info a busy daemon says nothing of it' [ "$(tail -n +"$((lines + 1))" "$log" | grep -c 'level":"debug')" = 0 ]
run sluice config set log.level=loud
exits 2 'f129 a level that is none'
complains "key 'log.level': expected one of error, warning, info, debug, got 'loud'" 'f129 says which there are'
run sluice config set log.level=debug

# --- f131, pain 2 ---------------------------------------------------------------------------------------

add --project web --kind ralph --agent bot --retries 0 'hit the limit'
hit=$id
appears 'Rate limited, backing off globally limiter=account retry_after_secs=3000 consecutive_hits=1' "$log"
report $? 'f131 a rate limit tells retry_after_secs and consecutive_hits'
add --project web --kind ralph --agent bot 'wait for it'
rule 'f131 and that nothing is selected, until when' appears 'Rate limited, not selecting new loops limiter=account until=' "$log"
run sluice why "$id"
rule 'pain 2: what waits says for which account, and when it opens' grep -Eq "limiter .*'account'.*opens in" out
"$SLUICE" cancel --now "$id" >/dev/null

# --- f128 -----------------------------------------------------------------------------------------------

"$SLUICE" cancel --now "$hit" >/dev/null
"$SLUICE" pause >/dev/null
add --project web --kind ralph -- true
ready=$id
add --project web --kind spec --after "$ready" -- true
blocked=$id
run sluice debug scheduler
rule 'f128 debug scheduler has the columns of the document' \
    [ "$(head -n 1 out | tr -s ' ' | sed 's/^ //')" = 'ID TYPE PRIORITY AGE DEPTH ITER RUNNABLE' ]
rule 'f128 higher scores first' [ "$(grep -oE 'web-[0-9]+' out | tr '\n' ' ')" = "$ready $blocked " ]
rule 'f128 why one is not runnable' grep -Eq "$ready +ralph +100 .*no \(paused\)" out
"$SLUICE" config set limits.runs=0 >/dev/null
"$SLUICE" resume >/dev/null
run sluice debug scheduler
rule 'f128 that of each' grep -Eq "$blocked +spec +60 .*no \(dependency incomplete\)" out

# --- f132, f134 -----------------------------------------------------------------------------------------

metric() { # NAME
    curl -s --unix-socket "$home/sluice.sock" http://localhost/metrics | sed -n "s/^sluice_$1 //p"
}
rule 'f132 the gauge of waiting runs' [ "$(metric queued_runs)" = 2 ]
rule 'f132 those that wait for a slot alone' [ "$(metric 'waiting_tasks{gate="lease:runs"}')" = 1 ]
rule 'f132 by kind' [ "$(metric 'queue_depth{kind="ralph"}')" = 1 ]
ran=$(metric run_duration_seconds_count)
"$SLUICE" config set limits.runs=2 >/dev/null
becomes "$blocked" 'done'
rule 'f132 falls with a place' [ "$(metric queued_runs)" = 0 ]
rule 'f134 how long runs took' [ "$(metric run_duration_seconds_count)" = "$((ran + 2))" ]
rule 'f134 how long they had waited' [ "$(metric 'queue_latency_seconds_bucket{le="+Inf"}')" = "$(metric queue_latency_seconds_count)" ]

# --- f138, f139, f140: the numbers of the documents are settings --------------------------------------------

run sluice config set kinds.plan.base=41 kinds.spec.base=61 kinds.phase.base=81 kinds.ralph.base=101 \
    score.age_per_minute=2 score.age_max=40 score.per_depth=11 score.per_retry=6 score.retry_max=24
exits 0 'f138 every number of the score is a setting'
"$SLUICE" pause >/dev/null
add --project web --kind ralph -- true
run sluice debug scheduler
rule 'f138 in force at once' grep -Eq "$id +ralph +101 " out
run sluice config set limits.runs=9 limiter.max_running=3 kinds.plan.max_running=1 kinds.spec.max_running=2 \
    kinds.phase.max_running=3 kinds.ralph.max_running=4
exits 0 'f139 every cap is a setting'
run sluice status --all
rule 'f139 in force at once' grep -Eq 'kind:ralph +[0-9]+ +4' out
run sluice config set queue.soft=5 queue.hard=7 retry.failed.max=2 retry.failed.delay_s=7 retry.failed.factor=3 \
    retry.failed.cap_s=20 retry.failed.jitter=0
exits 0 'f140 limits of the queue and retries are settings'
for _ in 1 2 3 4 5; do
    "$SLUICE" add --project web --kind ralph -- true >/dev/null 2>&1
done
run sluice add --project web --kind ralph -- true
rule 'f140 in force at once: a warning' grep -q 'The queue is long (' err
run sluice add --project web --kind ralph -- true
exits 4 'f140 and the hard limit'
finish
