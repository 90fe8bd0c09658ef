#!/bin/sh
# on_end: the user's command gets the result of each task that has ended, once, also over restarts and failures.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"

NOT_FOR_OTHERS=secret
export NOT_FOR_OTHERS
cat >record.sh <<'EOF'
# FILE: appends the JSON of its standard input; fails while FILE.fail exists; waits for FILE.fifo if that exists.
cat >"$1.input.$$"
env >"$1.env"
if [ -e "$1.fail" ]; then
    echo "$SLUICE_DELIVERY" >>"$1.tries"
    echo 'the tracker is down'
    exit 75
fi
if [ -p "$1.fifo" ]; then
    : >"$1.waits"
    read -r _ <"$1.fifo"
fi
cat "$1.input.$$" >>"$1"
EOF
: >told
: >told.tries
config "projects:
  web: {on_end: 'sh $tmp/record.sh $tmp/told'}
  other:
tasks: {on_end_retry_s: 0.1, on_end_tries: 3}
dependencies: {on_failure: fail}"
start
lines() {
    [ "$(wc -l <told)" = "$1" ]
}

# --- the result ------------------------------------------------------------------------------------------

add --project web --title 'paint the door' --external-id 'gh#7' --meta url=https://tracker/7 --meta labels='["a"]' -- sh -c 'echo done'
first=$id
rule 'on_end gets the result of a task that is done' appears "\"task\":\"$first\"" told
run cat told
has '"external_id":"gh#7","url":"https://tracker/7","project":"web","title":"paint the door","state":"done","reason":"succeeded","attempts":1' \
    'with its external id, url, title, state and attempts'
has '"outcome":"ok","exit_code":0' 'with the outcome of its last run'
has '"meta":{' 'with its meta'
rule 'as one JSON object on one line' lines 1
rule 'the key is also in the environment' grep -qF -e "SLUICE_DELIVERY=$(first delivery <told)" told.env
rule 'other variables of the daemon are not' [ "$(grep -c NOT_FOR_OTHERS told.env)" = 0 ]
delivered() { # ID COUNT: deliveries that are recorded for the task
    [ "$("$SLUICE" events --task "$1" --json | grep -o '"kind":"task.on_end"' | wc -l)" = "$2" ]
}
rule 'the delivery is an event of the task' soon delivered "$first" 1
run sluice events --task "$first" --json
has '"result":"delivered","tries":1' 'with its result and the number of tries'

add --project web --retries 0 -- sh -c 'exit 3'
rule 'a failure is told, too' appears "\"task\":\"$id\"" told
run tail -n 1 told
has '"state":"failed"' 'with its state'
has '"exit_code":3' 'and its exit code'
add --project web --hold -- true
"$SLUICE" cancel "$id" >/dev/null
rule 'and so is a canceled task that never ran' appears "\"task\":\"$id\"" told
run tail -n 1 told
has '"state":"canceled"' 'with its state'
has '"attempts":0,"agent":null,"outcome":null' 'without a run'
add --project other -- true
becomes "$id" 'done'
add --project web --hold -- true
"$SLUICE" cancel "$id" >/dev/null
appears "\"task\":\"$id\"" told
rule 'a project without on_end tells nothing' [ "$(grep -c '"project":"other"' told)" = 0 ]
"$SLUICE" config set "tasks.on_end=sh $tmp/record.sh $tmp/all" >/dev/null
add --project other -- true
rule 'tasks.on_end is for the projects that have none of their own' appears "\"task\":\"$id\"" all

# A task that ends twice has two deliveries.
add --project web --retries 0 -- sh -c "[ -e $tmp/works ]"
appears "\"task\":\"$id\"" told
: >works
"$SLUICE" retry "$id" >/dev/null
both() {
    [ "$(grep -cF -e "\"task\":\"$id\"" told)" = 2 ]
}
rule 'a task that ends again is told again' soon both
rule 'with another key' [ "$(grep -F -e "\"task\":\"$id\"" told | sed 's/.*"delivery":"\([^"]*\)".*/\1/' | sort -u | wc -l)" = 2 ]

# --- failures --------------------------------------------------------------------------------------------

: >told.fail
add --project web -- true
fails=$id
tried() {
    [ "$(grep -c "^$fails:" told.tries)" -ge "$1" ]
}
rule 'a command that fails is tried again' soon tried 2
rm told.fail
rule 'until it succeeds' appears "\"task\":\"$fails\"" told
rule 'with the same key each time' [ "$(grep "^$fails:" told.tries | sort -u | wc -l)" = 1 ]
: >told.fail
add --project web -- true
fails=$id
given_up() {
    "$SLUICE" events --task "$fails" --json | grep -q '"result":"given_up","tries":3'
}
rule 'after on_end_tries it is given up, which is an event' soon given_up
run sluice status --json
has '"key":"on_end:web"' 'and an alert'
has 'the tracker is down' 'with what it printed'
rm told.fail
add --project web -- true
rule 'later tasks are told' appears "\"task\":\"$id\"" told
no_alert() {
    "$SLUICE" status --json | grep -qF -e '"alerts":[]'
}
rule 'and the alert is cleared' soon no_alert

# --- restarts --------------------------------------------------------------------------------------------

soon delivered "$id" 1
count=$(wc -l <told)
kill -9 "$(pid_of_daemon)"
"$SLUICE" up >/dev/null 2>&1
add --project web -- true
appears "\"task\":\"$id\"" told
rule 'a killed daemon repeats nothing that was recorded' lines $((count + 1))
soon delivered "$id" 1

mkfifo told.fifo
rm -f told.waits
add --project web -- true
soon test -e told.waits
timeout "$patience" "$SLUICE" down --wait >/dev/null 2>&1 &
down=$!
takes_no_calls() {
    ! "$SLUICE" status >/dev/null 2>&1
}
soon takes_no_calls
unblock told.fifo
wait "$down"
rm told.fifo
"$SLUICE" up >/dev/null 2>&1
before=$(grep -cF -e "\"task\":\"$id\"" told)
last=$id
add --project web -- true
appears "\"task\":\"$id\"" told
rule 'a daemon that ends waits for a command that runs, and the next one does not repeat it' \
    [ "$before $(grep -cF -e "\"task\":\"$last\"" told)" = '1 1' ]

mkfifo told.fifo
rm -f told.waits
add --project web -- true
soon test -e told.waits
kill -9 "$(pid_of_daemon)"
rm told.fifo
"$SLUICE" up >/dev/null 2>&1
rule 'a command that was interrupted by a kill is run again' appears "\"task\":\"$id\"" told

# --- who may set it --------------------------------------------------------------------------------------

run sluice config set projects.web.on_end_x=1
exits 2 'a setting that does not exist is refused'
add --project web --title inside -- sh -c "\"$SLUICE\" config set 'projects.web.on_end=touch $tmp/evil' >$tmp/set.out 2>$tmp/set.err; echo \$? >$tmp/set.code"
appears "\"task\":\"$id\"" told
rule 'a run may not set it' [ "$(cat set.code)" != 0 ]
"$SLUICE" add --project web -- true >/dev/null
rule 'so nothing of it runs' [ ! -e evil ]
finish
