#!/bin/sh
# The message bus: messages of the daemon, and that a locked file blocks nothing.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"

# lines FILE: types and bodies, one message per line
lines() {
    awk '/^---$/ { n++; next } /^\.\.\.$/ { n = 0; next }
        n == 1 && sub(/^type: /, "") { type = $0 } n == 2 { print type ": " $0 }' "$home/bus/$1.md"
}

# count TEXT FILE
count() {
    grep -cF -e "$1" "$home/bus/$2.md"
}

config 'preset: conductor
drain_s: 0.3
capability: {commands: true}
retry: {unfinished: {delay_s: 0}}'
start
run sluice project add web
mkfifo go begun

# --- the life of a task -----------------------------------------------------------------------
add --project web -- sh -c "read -r _ <'$tmp/go'; [ \$SLUICE_ATTEMPT = 1 ] || '$SLUICE' report --done"
add --project web --after web-1 -- sh -c "'$SLUICE' bus post --type FACT 'said inside'; '$SLUICE' report --done"
add --project web --after web-1,web-2 -- sh -c "'$SLUICE' report --done"
appears 'waiting for 2 tasks: web-1, web-2' "$home/bus/web/web-3.md"
unblock go
appears 'run web-1.2 started' "$home/bus/web/web-1.md"
unblock go
becomes web-3 'done'
appears 'task web-3 completed' "$home/bus/web.md"
lines web/web-1 >out
printf '%s\n' 'INFO: starting root agent (restart #0)' 'RUN_START: run web-1.1 started' \
    'RUN_STOP: run web-1.1 ended: unfinished, exit code 0' 'INFO: starting root agent (restart #1)' \
    'RUN_START: run web-1.2 started' 'RUN_STOP: run web-1.2 ended: ok, exit code 0' \
    'FACT: task completed (succeeded)' >want
compare want out 'f136 every start and end, attempts numbered from 0'
lines web/web-2 | grep -v 'said inside' >out # two writers: their order is not defined
printf '%s\n' 'PROGRESS: waiting for 1 task: web-1' 'FACT: dependencies are clear' \
    'INFO: starting root agent (restart #0)' 'RUN_START: run web-2.1 started' \
    'RUN_STOP: run web-2.1 ended: ok, exit code 0' 'FACT: task completed (succeeded)' >want
compare want out 'f022 blockers, then FACT when they are clear, then the start'
rule 'a run posts to the bus of its own task' [ "$(count 'said inside' web/web-2)" = 1 ]
lines web/web-3 | grep -v -e RUN_ -e completed >out
printf '%s\n' 'PROGRESS: waiting for 2 tasks: web-1, web-2' 'PROGRESS: waiting for 1 task: web-2' \
    'FACT: dependencies are clear' 'INFO: starting root agent (restart #0)' >want
compare want out 'f022 a message for each change of the blockers and for nothing else'
lines web >out
printf '%s\n' 'FACT: task web-1 completed (succeeded)' 'FACT: task web-2 completed (succeeded)' \
    'FACT: task web-3 completed (succeeded)' >want
compare want out 'f136 completions on the bus of the project'

# --- warnings ---------------------------------------------------------------------------------
add --project web -- sh -c "'$SLUICE' add --project web --parent web-4 -- sh -c \"echo >'$tmp/begun'; read -r _ <'$tmp/go'; '$SLUICE' report --done\"
    read -r _ <'$tmp/begun'
    '$SLUICE' report --done"
becomes web-4 'done'
appears 'task web-4 completed' "$home/bus/web.md"
lines web/web-4 | tail -n 3 >out
printf '%s\n' 'PROGRESS: waiting for its children to finish' \
    'WARNING: timed out waiting for its children; they go on without it' 'FACT: task completed (drain-timeout)' >want
compare want out 'f136 a drain that timed out is a warning'
unblock go
becomes web-5 'done'

# --- once -------------------------------------------------------------------------------------
appears 'task web-5 completed' "$home/bus/web.md"
cp -r "$home/bus" before
kill -9 "$(pid_of_daemon)"
"$SLUICE" up >/dev/null 2>&1
add --project web -- sh -c "'$SLUICE' report --done"
becomes web-6 'done'
appears 'task web-6 completed' "$home/bus/web.md"
rule 'f136 after kill -9 nothing is posted twice: tasks' \
    sh -c "for f in before/web/*; do cmp -s \$f '$home/bus/web/'\$(basename \$f) || exit 1; done"
rule 'f136 after kill -9 nothing is posted twice: project' [ "$(lines web | sort | uniq -d | wc -l)" = 0 ]
# The messages of the last seconds are lost, but not their events: the messages are posted again.
kill -9 "$(pid_of_daemon)"
rm "$home/bus/web/web-6.md"
"$SLUICE" up >/dev/null 2>&1
appears 'task completed (succeeded)' "$home/bus/web/web-6.md"
rule 'f136 what a dead daemon did not come to is posted by the next one' \
    [ "$(lines web/web-6 | head -n 1)" = 'INFO: starting root agent (restart #0)' ]
"$SLUICE" down --wait >/dev/null 2>&1
rm "$home/bus/web/web-6.md"
"$SLUICE" up >/dev/null 2>&1
add --project web -- sh -c "'$SLUICE' report --done"
becomes web-7 'done'
appears 'task web-7 completed' "$home/bus/web.md"
rule 'after a stop in good order nothing is looked at again' [ ! -e "$home/bus/web/web-6.md" ]

# --- locks ------------------------------------------------------------------------------------
mkfifo held free
flock -x "$home/bus/web.md" sh -c "echo >'$tmp/held'; read -r _ <'$tmp/free'" &
holder=$!
read -r _ <held
since=$(date +%s)
add --project web -- sh -c "'$SLUICE' report --done"
rule 'f117 a locked bus stops no task' becomes web-8 'done'
run sluice bus read --project web --tail 1
has 'task web-7 completed' 'f119 the lock is advisory: readers do not ask for it'
run sluice status
exits 0 'f117 and no request'
appears 'task completed' "$home/bus/web/web-8.md"
unblock free
wait $holder
took=$(($(date +%s) - since))
rule 'f117 it is posted when the lock is free' appears 'task web-8 completed' "$home/bus/web.md"
rule 'f117 once' [ "$(count 'task web-8 completed' web)" = 1 ]
run sluice bus stats --json
rule 'f133 the wait is counted' [ "$(field waits)" -ge 1 ]
rule 'f133 every message has an attempt' [ "$(field attempts)" -ge "$(field messages)" ]
# A writer gives up waiting for a lock after ten seconds, and retries.
rule 'f118 nothing timed out, nothing was repeated' sh -c \
    '[ "$1" = 00 ] || [ "$2" -ge 10 ]' - "$(field timeouts)$(field retries)" "$took"
flock -x "$home/bus/web.md" sh -c "echo >'$tmp/held'; read -r _ <'$tmp/free'" &
holder=$!
read -r _ <held
add --project web -- sh -c "'$SLUICE' report --done"
becomes web-9 'done'
run sluice down --wait
exits 0 'a locked bus does not stop the end of the daemon'
unblock free
wait $holder
"$SLUICE" up >/dev/null 2>&1
rule 'the next one posts it' appears 'task web-9 completed' "$home/bus/web.md"

# --- bus.lifecycle ----------------------------------------------------------------------------
run sluice config set bus.lifecycle=project
add --project web -- sh -c "'$SLUICE' report --done"
becomes web-10 'done'
appears 'task web-10 completed' "$home/bus/web.md"
rule 'lifecycle: project: no file for the task' [ ! -e "$home/bus/web/web-10.md" ]
run sluice config set bus.lifecycle=off
add --project web -- sh -c "'$SLUICE' report --done"
becomes web-11 'done'
run sluice config set bus.lifecycle=project
add --project web -- sh -c "'$SLUICE' report --done"
becomes web-12 'done'
appears 'task web-12 completed' "$home/bus/web.md"
rule 'lifecycle: off: nothing' [ "$(count 'task web-11 completed' web)" = 0 ]
# --- retention ----------------------------------------------------------------------------------
run sluice delete web-3
exits 0 'a finished task is deleted'
soon [ ! -e "$home/bus/web/web-3.md" ]
rule 'its bus goes with it' [ ! -e "$home/bus/web/web-3.md" ]
rule 'that of others does not' [ -e "$home/bus/web/web-2.md" ]
"$SLUICE" down --wait >/dev/null 2>&1
sed -i '1,/^ts: /s/^ts: .*/ts: 2020-01-01T00:00:00.000Z/' "$home/bus/web.md"
"$SLUICE" up >/dev/null 2>&1
soon [ -e "$home/bus/.old/web.md" ]
rule 'the bus of a project is moved aside when its first message is too old' [ -e "$home/bus/.old/web.md" ]
run sluice bus post --project web 'begins anew'
exits 0 'and begins anew'
rule 'with a file of its own' [ "$(lines web | tail -n 1)" = 'INFO: begins anew' ]

finish
