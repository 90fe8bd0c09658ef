#!/bin/sh
# One command imports the loops of loopr, and all of its tasks run.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"
. "$here/import_kit.sh"
config "preset: loopr
agents:
  claude: {command: [sh, -c, 'cat >>$tmp/prompts; echo \$SLUICE_TASK >>$tmp/order']}
pace: {tick_s: 0}
limits: {runs: 1}
tasks: {sandbox: none}"
mkdir app
start

# --- small --------------------------------------------------------------------------------------

"$SLUICE" pause >/dev/null
prepared loopr small
run sluice import loopr --project app --path app --dry-run "$state"
has '5 would be added, 0 already, 0 skipped, 0 refused' 'a dry run'
rule 'adds nothing' [ -z "$("$SLUICE" list --all --ids)" ]
run sluice import loopr --project app --path app "$state"
exits 0 'small'
has '5 added, 0 already, 0 skipped, 0 refused' 'all of them are added'
noted 1769593200 'it was running there' 'what was running is named'
matches loopr small
unchanged 'the folder is not changed'
rule 'the iteration arrives' [ "$(value 1769593200 iteration)" = 2 ]
rule 'the depth arrives' [ "$(value 1769593201 depth)" = 2 ]
rule 'the score: kind, age, depth and iteration' [ "$(value 1769593201 score)-$(value 1769593200 score)" = 150-145 ]
rule 'the kind arrives' [ "$(value 1769594400 kind)" = ralph ]
before=$(last_event)
run sluice import loopr --project app --path app "$state"
has '0 added, 5 already' 'importing again adds nothing'
rule 'and changes nothing' [ "$(last_event)" = "$before" ]
"$SLUICE" resume >/dev/null
drained 'small runs to its end'
rule 'all are done' [ "$("$SLUICE" list --all --ids --state 'done' | wc -l)" = 5 ]

# --- rich ---------------------------------------------------------------------------------------

"$SLUICE" pause >/dev/null
# shellcheck disable=SC2046 # a list
"$SLUICE" delete $("$SLUICE" list --all --ids) >/dev/null
: >prompts
prepared loopr rich
run sluice import loopr "$state"
exits 2 'rich: two lines are left out'
has '30 added, 0 already, 2 skipped, 0 refused' 'rich: 30 added'
matches loopr rich
unchanged 'rich: the folder is not changed'
left_out .taskstore/loops.jsonl 'not a JSON object' 'a line that is not JSON'
left_out .taskstore/loops.jsonl 'no id' 'a record without an id'
noted 17696826604801360003 'artifacts/plan-notifications.md' 'the file it waits for'
noted 17696878805604420012 'comes from iteration 1' 'a stale loop'
noted 17696854206407480021 "'17696700000000000099' does not exist" 'a missing parent'
noted 17696854807607820022 "'17696700000000000099' does not exist" 'a missing parent further up'
noted 17696887201208840025 "'rebasing' is not a state" 'a state that is not known'
noted priority_override 'not read' 'a member that is not known'
has "to set: sluice config set 'limits.runs=6'" 'loops at once'
has "to set: sluice config set 'kinds.phase.max_running=3'" 'phases at once'
has "to set: sluice config set 'limiter.max_running=4'" 'API calls at once'
has "to set: sluice config set 'limiter.max_s=120'" 'the backoff'
rule 'rich: the newest record counts' [ "$(value 17696865002003400009 iteration)" = 3 ]
rule 'rich: the iteration of a retried loop' [ "$(value 17696850001606120017 iteration)" = 7 ]
run sluice show --json 17696826603601020002
has 'at most 2 MB in all.' 'rich: the description is in the prompt'
has '# Plan: offline tide tables' 'rich: the plan is in the prompt'
before=$(last_event)
run sluice import loopr "$state"
has '0 added, 30 already, 2 skipped' 'rich: importing again adds nothing'
rule 'rich: and changes nothing' [ "$(last_event)" = "$before" ]
run sluice why 17696826604801360003
has 'plan-notifications.md' 'rich: why names the file'
"$SLUICE" resume >/dev/null
file=$state/3f9a1c07be52d684/loops/17696808001200340000/iterations/003/artifacts/plan-notifications.md
echo plan >"$file"
drained 'rich runs to its end'
rule 'rich: held, failed and invalidated ones stay' \
    [ "$("$SLUICE" list --all --ids --limit 100 --state held,failed,invalidated | wc -l)" = 9 ]
rule 'rich: a long prompt arrives' grep -qF 'Sentence 400 of 400 must arrive as it was written.' prompts
rule 'rich: the feedback so far is in the prompt' grep -qF 'Feedback of the iterations so far:' prompts

# --- newer --------------------------------------------------------------------------------------

"$SLUICE" pause >/dev/null
prepared loopr newer
sed -i 's/"validation_command":"[^"]*"/"validation_command":"true"/' "$state/.taskstore/loops.jsonl"
run sluice import loopr --project newer --path app "$state"
exits 0 'newer'
has '5 added, 0 already, 0 skipped, 0 refused' 'newer: all of them are added'
expected loopr newer >want
actual <want >is
compare want is 'newer: the tasks are those of EXPECTED.md'
noted .taskstore/signals.jsonl 'no work' 'newer: signals are named'
run sluice show --json 1770025000456-00ff00ff00ff00ff
has '"checks":[["sh","-c","true"]]' 'newer: the validation command is its check'
run sluice import loopr --project newer --path app "$state"
has '0 added, 5 already' 'newer: importing again adds nothing'
"$SLUICE" resume >/dev/null
drained 'newer runs to its end'
rule 'newer: all are done' [ "$("$SLUICE" list --all --ids --state 'done' --project newer | wc -l)" = 5 ]
finish
