#!/bin/sh
# Common problems of such systems, and that Sluice does not have them.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"
config 'limits: {runs: 3}
projects: {web: , api: {max_running: 1}}
agents: {bot: {command: [sh, ./agent.sh], limiter: account}}
limiters: {account: {max_running: 4, initial_s: 1, max_s: 1, recovery_s: 0}}
breaker: {max: 2, reset_s: 1, reset_max_s: 1}
retry: {failed: {max: 3, delay_s: 0, cap_s: 0}}'
PATH=$(dirname "$SLUICE"):$PATH
start
mkfifo go

used() { # of a limit: used slots
    "$SLUICE" status --json | grep -oE "\"key\":\"$1\",\"used\":[0-9]+" | sed 's/.*://'
}

# --- pain 1: the count of used slots is correct --------------------------------------------------------------

for project in web web api api; do
    add --project $project -- sh -c 'read -r _ <go'
done
for id in 1 2 3; do becomes $id running; done
rule 'pain 1: three places, three processes' \
    [ "$(used runs) $("$SLUICE" list --ids --state running | wc -l)" = '3 3' ]
shims=
for run in web-1 web-2 api-3; do shims="$shims $(shim_of $run 1)"; done
kill -9 "$(pid_of_daemon)"
# shellcheck disable=SC2086 # a list
kill -9 $shims
for shim in $shims; do is_gone "$shim"; done
"$SLUICE" up >/dev/null 2>&1
for id in 1 2 3; do becomes $id running; done
rule 'pain 1: all of them die with the daemon: the places come back, and are used again' [ "$(used runs)" = 3 ]
"$SLUICE" cancel --now --all --state starting,running,ready >/dev/null
for id in 1 2 3 4; do becomes $id canceled; done
rule 'pain 1: nothing runs, nothing is counted' [ "$(used runs) $(used project:api)" = '0 0' ]
add --project web -- true
rule 'pain 1: and the next task starts' becomes "$id" 'done'

# --- pain 2: a rate limit is not a failure, and ends by itself ------------------------------------------------

cat >agent.sh <<'END'
[ -e limited ] && echo done && exit 0
: >limited
sluice report --rate-limited "$(cat seconds)"
: >told
read -r _ <go2
END
mkfifo go2
for seconds in 3600 1; do
    rm -f limited told
    echo $seconds >seconds
    add --project web --agent bot --retries 0 --cwd "$tmp" 'first'
    limited=$id
    soon [ -e told ]
    add --project web --agent bot --retries 0 --cwd "$tmp" 'second'
    second=$id
    if [ $seconds = 3600 ]; then
        run sluice why "$second"
        rule 'pain 2: what waits for the account says until when' grep -Eq "limiter .*'account'.*opens in" out
        run sluice limiter clear account
    fi
    unblock go2
    rule "pain 2: the run that met the limit of $seconds s is not a crash" becomes "$limited" 'done'
    rule "pain 2: what waited for its end goes on by itself" becomes "$second" 'done'
    rule 'pain 2: and the limit counted on nobody' [ "$(value "$second" attempt)" = 1 ]
done

# --- pain 3: retries are limited -------------------------------------------------------------------------------

add --project web -- sh -c 'echo >>tries; exit 1'
rule 'pain 3: a task that always fails stops' becomes "$id" failed
rule 'pain 3: after as many retries as were allowed' [ "$(wc -l <tries)" = 4 ]

# --- pain 4: a breaker resets by itself ---------------------------------------------------------------------------

add --project web -- "$tmp/not-there-yet"
becomes "$id" held
broken=$id
names_breaker() { # it is tried again each second
    "$SLUICE" why "$broken" | grep -q breaker
}
rule 'pain 4: a breaker holds what cannot be launched' soon names_breaker
printf '#!/bin/sh\nexit 0\n' >not-there-yet.new
chmod +x not-there-yet.new
mv not-there-yet.new not-there-yet
rule 'pain 4: when the fault is gone it goes on, and nobody had to reset it' becomes "$broken" 'done'
no_alert() {
    ! "$SLUICE" status --json | grep -qE "\"alerts\":\[[^]]*breaker:$broken"
}
rule 'pain 4: its alert is over' soon no_alert

# --- pain 5: the reason for waiting is always reported ----------------------------------------------------------------

run sluice config set limits.runs=1
add --project web -- sh -c 'read -r _ <go'
becomes "$id" running
holder=$id
silent=
"$SLUICE" add --project web -- true >/dev/null
"$SLUICE" add --project web --after "$holder" -- true >/dev/null
"$SLUICE" add --project api --hold -- true >/dev/null
"$SLUICE" add --project web --not-before 2099-01-01 -- true >/dev/null
for id in $("$SLUICE" list --ids --state ready,waiting,held); do
    "$SLUICE" why --json "$id" | grep -Eq '"gate":"[a-z:-]+' || silent="$silent $id"
done
rule 'pain 5: every task that does not run has a reason' [ -z "$silent" ]
run sluice status
rule 'pain 5: and status counts them by it' grep -q 'lease:runs' out
"$SLUICE" cancel --now --all --state ready,waiting,held,running >/dev/null
becomes "$holder" canceled
run sluice config unset limits.runs

# --- pain 9: no more processes than allowed ---------------------------------------------------------------------------

run sluice add --project web --processes 20 --retries 0 -- sh -c ': >forking; i=0; while [ $i -lt 200 ]; do tail -f /dev/null & i=$((i + 1)); done; wait'
id=$(sed 's/ .*//' out)
soon [ -e forking ]
"$SLUICE" cancel --now "$id" >/dev/null
rule 'pain 9: a run that forks without end is stopped with all that it has started' becomes "$id" canceled
rule 'pain 9: nothing of it is left' [ -z "$(grep -lszF "$home/runs/$id/" /proc/[0-9]*/environ)" ]

# --- pain 10: controls persist --------------------------------------------------------------------------------------

"$SLUICE" pause >/dev/null
for signal in 9 15; do
    pid=$(pid_of_daemon)
    kill -$signal "$pid"
    is_gone "$pid"
    "$SLUICE" up >/dev/null 2>&1
    rule "pain 10: a pause stays after kill -$signal" [ "$("$SLUICE" status --json | first paused)" = true ]
done
run sluice config set limits.runs=5
rule 'pain 10: and after a change of the configuration' [ "$("$SLUICE" status --json | first paused)" = true ]
for _ in 1 2 3 4 5 6; do "$SLUICE" pause >/dev/null; done
rule 'pain 10: saying it again is told once' [ "$("$SLUICE" debug events | grep -c '"kind":"daemon.paused"')" = 1 ]
"$SLUICE" resume >/dev/null

# One daemon, however many commands start it at once.
pid=$(pid_of_daemon)
"$SLUICE" down >/dev/null 2>&1
is_gone "$pid"
for _ in 1 2 3 4 5 6; do "$SLUICE" up --json >>ups 2>/dev/null & done
wait
rule 'pain 10: six that start a daemon get the same one' [ "$(grep -oE '"pid":[0-9]+' ups | sort -u | wc -l)" = 1 ]
finish
