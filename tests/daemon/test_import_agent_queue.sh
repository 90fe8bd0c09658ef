#!/bin/sh
# One command imports the database of agent-queue, and all of its tasks run.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"
. "$here/import_kit.sh"
config "preset: agent-queue
agents:
  claude: {command: [sh, -c, 'cat >>$tmp/prompts; echo \$SLUICE_TASK >>$tmp/order']}
  codex: {command: [sh, -c, 'cat >>$tmp/prompts; pwd >>$tmp/places']}
limits: {runs: 1}
tasks: {sandbox: none}"
start

# The database contains paths, so it is created with those of this test.
prepared_db() { # SIZE
    mkdir -p "$tmp/fixtures"
    cp -R "$root/tests/fixtures/import/." "$tmp/fixtures"
    sed -i "s,/home/ines,$tmp/ines,g" "$tmp/fixtures/agent-queue/$1.sql"
    state=$tmp/agent-queue-$1
    SQLITE=$(dirname "$SLUICE")/tests/harness/run_sql "$tmp/fixtures/prepare" agent-queue "$1" "$state"
    sums_of "$state" >"$tmp/sums"
}

# --- small --------------------------------------------------------------------------------------

"$SLUICE" pause >/dev/null
prepared_db small
mkdir -p ines/agent-queue-workspaces/weather-cli/main
run sluice import agent-queue --dry-run "$state"
exits 0 'a dry run'
has '4 would be added, 0 already, 0 skipped, 0 refused' 'a dry run says what would be added'
rule 'adds nothing' [ -z "$("$SLUICE" list --all --ids)" ]
run sluice import agent-queue "$state"
exits 0 'small'
has '4 added, 0 already, 0 skipped, 0 refused' 'all of them are added'
noted brave-otter 'it was running there' 'what was running is named'
has "to set: sluice config set 'fair.window_h=24'" 'the window'
has "to set: sluice config set 'agents.claude.slots=1'" 'the agents'
matches agent-queue small
unchanged 'the folder is not changed'
rule 'priority' [ "$(value quick-wren priority)-$(value brave-otter priority)" = 10-50 ]
run sluice show --json quick-wren
has '"retries":2' 'a retry is used up'
run sluice project show --json weather-cli
has '"max_running":2' 'the limit of the project'
before=$(last_event)
run sluice import agent-queue "$state"
has '0 added, 4 already' 'importing again adds nothing'
rule 'and changes nothing' [ "$(last_event)" = "$before" ]
"$SLUICE" resume >/dev/null
drained 'small runs to its end'
rule 'all are done, by priority and needs' [ "$(tr '\n' ' ' <order)" = 'weatherc-4 weatherc-2 weatherc-3 ' ]

# --- rich ---------------------------------------------------------------------------------------

"$SLUICE" pause >/dev/null
# shellcheck disable=SC2046 # a list
"$SLUICE" delete $("$SLUICE" list --all --ids) >/dev/null
"$SLUICE" down --wait >/dev/null
forget_store
config "preset: agent-queue
agents:
  claude: {command: [sh, -c, 'cat >>$tmp/prompts; echo \$SLUICE_TASK >>$tmp/order']}
  codex: {command: [sh, -c, 'cat >>$tmp/prompts; pwd >>$tmp/places']}
limits: {runs: 1}
tasks: {sandbox: none}"
start
"$SLUICE" pause >/dev/null
: >prompts
prepared_db rich
mkdir -p ines/src/weather-cli ines/agent-queue-workspaces/weather-cli/sunny-forge \
    ines/agent-queue-workspaces/billing/quiet-mill ines/agent-queue-workspaces/notes-app/main
rule 'rich: rows are in the log of the database' [ -s "$state/agent-queue.db-wal" ]
run sluice import agent-queue "$state"
exits 2 'rich: something is left out'
has '30 added, 0 already, 1 skipped, 0 refused' 'rich: 30 added'
matches agent-queue rich
unchanged 'rich: the folder is not changed'
rule 'rich: the secret is not printed' sh -c '! grep -q not-a-real-token out'
left_out cosmic-eel 'not text' 'rich: a blob'
noted fleet-newt 'archived row' 'rich: an archived row with the same id'
noted hardy-vole 'waits for an answer' 'rich: a question'
noted jolly-stoat 'pulls/17' 'rich: a pull request'
noted kindly-bison 'plan' 'rich: a plan'
noted merry-quail 'key not found' 'rich: why it failed'
noted zesty-boar "'gone-parent' does not exist" 'rich: a missing parent'
noted able-swan 'not a number' 'rich: a priority that is a word'
noted early-bird 'not known' 'rich: created at zero'
noted noble-tapir 'claude-opus-4-5' 'rich: a profile'
noted quiet-puma "'proud-egret', which has failed" 'rich: a need that has failed'
noted vivid-carp "'never-was', which does not exist" 'rich: a need that does not exist'
noted witty-crow 'young-mink' 'rich: a cycle'
noted young-mink 'need each other' 'rich: both halves'
noted bold-toucan "'lost-project'" 'rich: a project that does not exist'
noted tidy-gull "'VERIFYING'" 'rich: a status that is not known'
noted mood 'not read' 'rich: a column that is not known'
noted events '1 rows' 'rich: tables that are not brought over'
has "to set: sluice config set 'budget=2000000'" 'rich: tokens a day'
has "to set: sluice config set 'fair.window_h=12'" 'rich: the window'
rule 'rich: a paused project stays paused' [ "$("$SLUICE" project show --json notes-app | first paused)" = true ]
rule 'rich: an archived one, too' [ "$("$SLUICE" project show --json old-site | first paused)" = true ]
rule 'rich: one agent at a time' [ "$("$SLUICE" project show --json billing | first max_running)" = 1 ]
rule 'rich: the budget' [ "$("$SLUICE" project show --json billing | first budget)" = 500000 ]
before=$(last_event)
run sluice import agent-queue "$state/agent-queue.db"
has '0 added, 30 already, 1 skipped' 'rich: importing the database itself adds nothing'
rule 'rich: and changes nothing' [ "$(last_event)" = "$before" ]
"$SLUICE" project set notes-app paused=false >/dev/null
"$SLUICE" resume >/dev/null
ends_of() { # only quiet-puma waits: its dependency has failed
    [ "$("$SLUICE" list --ids --state waiting,ready,starting,running)" = "$(value quiet-puma id)" ]
}
rule 'rich runs to its end' soon ends_of
rule 'rich: feedback is in the prompt' grep -qF 'It still crashes when the name server is down.' prompts
rule 'rich: the preferred workspace' grep -qx "$tmp/ines/src/weather-cli" places
rule 'rich: a long prompt arrives' grep -qF 'Sentence 400 of 400 must arrive as it was written.' prompts
"$SLUICE" approve jolly-stoat >/dev/null
rule 'rich: what is approved is done without a run' [ "$(value jolly-stoat state)-$(value jolly-stoat attempt)" = done-0 ]
run sluice why quiet-puma
has 'failed' 'rich: why says that its need has failed'
"$SLUICE" retry proud-egret >/dev/null
rule 'rich: when that is retried, it runs' becomes quiet-puma 'done'

# --- export -------------------------------------------------------------------------------------

prepared agent-queue export
sed -i "s,/srv/shop,$tmp/shop," "$state/agent-queue.jsonl"
mkdir shop
run sluice import agent-queue "$state/agent-queue.jsonl"
exits 0 'export'
has '3 added, 0 already, 0 skipped, 0 refused' 'export: all of them are added'
noted plugins '1 rows' 'export: a table that is not known'
rule 'export runs to its end' becomes gray-wolf 'done'
run sluice import agent-queue "$state"
has '0 added, 3 already' 'export: importing the folder again adds nothing'

# --- workers ------------------------------------------------------------------------------------

# shellcheck disable=SC2046 # a list
"$SLUICE" delete $("$SLUICE" list --all --ids --project shop) >/dev/null
"$SLUICE" config set agents.ada.roster=true agents.ada.command='sh -c cat' >/dev/null
run sluice import agent-queue "$state"
exits 0 'workers'
rule 'workers: any of them takes what comes over' becomes gray-wolf 'done'
run sluice show gray-wolf
has 'ok, by ada' 'workers: show names the worker of a run'
rule 'workers: an agent that is not one of them is not asked for' sh -c '! grep -q claude out'
finish
