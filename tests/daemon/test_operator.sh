#!/bin/sh
# Commands of an operator: status, list, dry run, pause, clear, settings.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"
config 'limits: {runs: 2}
projects: {web: , api: }'
start
mkfifo go
for project in web web web api; do
    "$SLUICE" add --project $project -- sh -c 'read -r _ <go' >/dev/null
done
"$SLUICE" add --project web --after 4 -- true >/dev/null
"$SLUICE" add --project api --draft -- true >/dev/null

# --- f121 ----------------------------------------------------------------------------------------------

run sluice status --json
rule 'f121 status: paused or not' [ "$(field paused)" = false ]
rule 'f121 status: how many run, are ready, wait' \
    [ "$(($(field starting) + $(field running))) $(field ready) $(field waiting)" = '2 2 1' ]
run sluice status
rule 'f121 status for people has the same' sh -c 'tail -n +3 out | head -n 1 | grep -q "^ *2  *2  *1 "'
has 'lease:runs' 'f121 and what they wait for'

# --- f122 ----------------------------------------------------------------------------------------------

run sluice list --by-project
rule 'f122 list: grouped by project' [ "$(grep -cE '^(web|api)' out)" = 2 ]
rule 'f122 list: what is blocked is marked with its gate' grep -Eq 'web-5 +waiting .*dependency' out
run sluice list --json
rule 'f122 list --json: all of them' [ "$(grep -o '"id":"' out | wc -l)" = 6 ]
rule 'f122 list --json: the gate' grep -q '"id":"web-5".*"gate":"dependency"' out
run sluice list --project api --ids
prints 'api-6
api-4' 'f122 list of one project'

# --- f123 ----------------------------------------------------------------------------------------------

"$SLUICE" pause >/dev/null
"$SLUICE" cancel --now --all --state starting,running >/dev/null
for id in $("$SLUICE" list --ids --all --state canceled,starting,running); do
    becomes "$id" canceled
done
"$SLUICE" down >/dev/null 2>&1
config 'preset: gastown
limits: {runs: 1}
pace: {tick_s: 3600}
projects: {web: , api: }'
start
before=$(last_event)
run sluice tick --dry-run
exits 0 'f123 a dry run while paused'
rule 'f123 starts nothing then' [ "$(last_event)" = "$before" ]
"$SLUICE" resume >/dev/null
"$SLUICE" config set limits.runs=2 >/dev/null
run sluice tick --dry-run
rule 'f123 the dry run shows what a tick would start' grep -Eq '^ *1? *(web|api)-' out
would=$(grep -oE '(web|api)-[0-9]+' out | head -n 1)
rule 'f123 and starts it not' [ "$(value "$would" attempt)" = 0 ]
run sluice tick
exits 0 'f123 a tick by hand'
rule 'f123 starts what was shown' becomes "$would" running
"$SLUICE" cancel --now "$would" >/dev/null
"$SLUICE" down >/dev/null 2>&1

# --- f124 ----------------------------------------------------------------------------------------------

config 'limits: {runs: 2}
projects: {web: , api: }'
start
run sluice pause
run sluice status
has "PAUSED by $(id -un) " 'f124 a pause of everything shows, and who did it'
run sluice events --limit 50
rule 'f124 and is recorded with its actor' grep -q "daemon.paused  *by=$(id -un)" out
run sluice down
start
run sluice status
has "PAUSED by $(id -un) " 'f124 after a restart too'
run sluice resume
run sluice pause web
run sluice add --project web -- true
held=$(sed 's/ .*//' out)
run sluice why "$held"
has "project 'web' is paused by '$(id -un)'" 'f124 a project can be paused alone'
run sluice add --project api -- true
other=$(sed 's/ .*//' out)
rule 'f124 the others go on' becomes "$other" 'done'
run sluice resume web
rule 'f124 and resumed' becomes "$held" 'done'
run sluice pause nowhere
exits 1 'f124 a project that is not there'

# --- f125 ----------------------------------------------------------------------------------------------

run sluice pause
for _ in 1 2 3; do
    add --project web -- true
done
run sluice clear "$id"
rule 'f125 clear one: it is no longer scheduled, and still there' [ "$(value "$id" state)" = draft ]
run sluice clear --all --project web
rule 'f125 clear all of a project' [ "$("$SLUICE" list --ids --project web --state ready,waiting,held | wc -l)" = 0 ]
run sluice clear --all
rule 'f125 clear all' [ "$("$SLUICE" list --ids --state ready,waiting,held | wc -l)" = 0 ]
run sluice resume

# --- f126 ----------------------------------------------------------------------------------------------

run sluice config set limits.runs=7 pace.batch=3 pace.spawn_delay_s=0.5
exits 0 'f126 the cap, the batch and the delay are settings'
for pair in limits.runs=7 pace.batch=3 pace.spawn_delay_s=0.5; do
    run sluice config get --live "${pair%=*}"
    prints "${pair#*=}" "f126 ${pair%=*} is in force at once"
done
rule 'f126 and in the file' grep -q 'spawn_delay_s: 0.5' "$home/sluice.yaml"
before=$(cksum <"$home/sluice.yaml")
run sluice config set limits.runs=many
exits 2 'f126 a value that is none'
complains "key 'limits.runs': expected a whole number from 0 to 1000000000 or unlimited, got 'many'" 'f126 says what is good'
run sluice config set limits.runs=3 limits.rnus=3
exits 2 'f126 one wrong key of two'
rule 'f126 changes nothing' [ "$(cksum <"$home/sluice.yaml")" = "$before" ]
run sluice config unset limits.runs
run sluice config get --live limits.runs
prints 8 'f126 unset: its default holds again'
run sluice config set agents.a.limiter=account agents.a.command=cat
exits 0 'f126 an account that an agent names needs no section of its own'
run sluice limiter list
has account 'f126 and is there'
"$SLUICE" down >/dev/null 2>&1
run sluice up
exits 0 'f126 what was set is good for the next start'
finish
