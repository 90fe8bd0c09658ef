#!/bin/sh
# sluice cancel: cancels tasks and stops their runs.
# shellcheck disable=SC2154 # lib.sh and daemon.sh set home, id, root and tmp
. "$(dirname "$0")/lib.sh"
. "$here/daemon.sh"

config 'limits: {runs: 1}'
start
mkfifo go told
run sluice project add web
add --project web -- sh -c "read -r word <'$tmp/go'"
running=$id
becomes "$running" running
add --project web -- true
ready=$id
run sluice cancel "$ready"
exits 0 'a task that waits: exit code'
prints "$ready canceled" 'a task that waits'
run sluice cancel "$ready"
exits 0 'a second time: exit code'
prints "$ready is canceled already" 'a second time'
run sluice cancel --json "$ready"
prints "{\"tasks\":[{\"id\":\"$ready\",\"state\":\"canceled\",\"already\":true,\"actions\":[\"delete\",\"retry\"]}]}" 'as JSON'
run sluice cancel "${ready#web-}"
prints "$ready is canceled already" 'the number alone'

# All of the named tasks are canceled, or none.
add --project web -- true
other=$id

# Bad input: one error message, and no change.
usage='usage: sluice cancel [--now] ID...|--all [--project P] [--group G] [--state S]'
run sluice cancel
exits 2 'no task: exit code'
says "sluice: 'cancel' needs the IDs of tasks, or --all
$usage" 'no task'
run sluice cancel ''
exits 2 'an empty id: exit code'
says "sluice: an ID is empty
$usage" 'an empty id'
run sluice cancel web-3 nope-99
exits 1 'an unknown task among others: exit code'
says "sluice: there is no task 'nope-99'" 'an unknown task among others'
rule 'and nothing is printed' [ ! -s out ]
run sluice cancel --all web-3
exits 2 '--all and an id: exit code'
says "sluice: '--all' and 'web-3' cannot be used together
$usage" '--all and an id'
run sluice cancel --project web web-3
exits 2 'a filter without --all: exit code'
says "sluice: option '--project' needs --all
$usage" 'a filter without --all'

rule 'the other one was not canceled' [ "$(value "$other" state)" = ready ]
run sluice cancel --all --state 'done'
exits 2 'a state that cannot be canceled: exit code'
says "sluice: option '--state': expected some of draft,waiting,ready,starting,running,held, got 'done'
$usage" 'a state that cannot be canceled'

# A live run is stopped; the task changes its state when the run has ended.
run sluice cancel "$running"
exits 0 'a run: exit code'
prints "$running is being stopped" 'a run'
rule 'and is canceled when it has ended' becomes "$running" canceled
rule 'its place is free again' becomes "$other" 'done'
run sluice cancel "$other"
prints "$other is done already" 'what is done stays done'

# --now kills a run that ignores TERM.
add --project web --grace 600s -- sh -c "trap '' TERM; echo deaf >'$tmp/told'; read -r word <'$tmp/go'"
becomes "$id" running
cat told >/dev/null
run sluice cancel --now "$id"
prints "$id is being stopped" 'cancel --now'
rule 'cancel --now kills at once' becomes "$id" canceled

# --all, narrowed by project.
run sluice pause
add -- true
mine=$id
add --project web -- true
add --project web --draft -- true
run sluice cancel --all --project web
prints "web-6 canceled" 'cancel --all --project: what waits, no drafts'
rule 'and not those of other projects' [ "$(value "$mine" state)" = ready ]
run sluice cancel --all --state draft
prints "web-7 canceled" 'cancel --all --state draft'
run sluice cancel --all --project web
exits 0 'nothing left: exit code'
prints 'nothing to cancel' 'nothing left'
run sluice cancel --all --project web --json
prints '{"tasks":[]}' 'nothing left, as JSON'
finish
