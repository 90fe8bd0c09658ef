#!/bin/sh
# One command imports a storage root of conductor-loop, and all of its tasks run.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"
. "$here/import_kit.sh"
config "preset: conductor
agents:
  claude: {command: [sh, -c, 'cat >>$tmp/prompts; : >\$SLUICE_DONE; echo \$SLUICE_TASK >>$tmp/order']}
  codex: {command: [sh, -c, 'cat >>$tmp/prompts; : >\$SLUICE_DONE; echo \$SLUICE_TASK >>$tmp/order']}
  gemini: {command: [sh, -c, 'cat >>$tmp/prompts; : >\$SLUICE_DONE; echo \$SLUICE_TASK >>$tmp/order']}
limits: {runs: 1}
tasks: {sandbox: none}"
mkdir -p ines/src/harbor-api ines/src/web-shop
start
"$SLUICE" pause >/dev/null

# --- small --------------------------------------------------------------------------------------

prepared conductor small
run sluice import conductor --dry-run "$state"
exits 0 'a dry run'
has 'would be added: running (task-20260224-083000-berth-api)' 'a dry run says what each would be'
has '4 would be added, 0 already, 0 skipped, 0 refused' 'a dry run adds nothing'
rule 'and really adds nothing' [ -z "$("$SLUICE" list --all --ids)$("$SLUICE" project list --json | grep harbor)" ]
run sluice import conductor "$state"
exits 0 'small'
has '4 added, 0 already, 0 skipped, 0 refused' 'all of them are added'
has "to set: sluice config set 'limits.runs=4'" 'runs at once are named'
has "to set: sluice config set 'limits.roots=2'" 'root tasks at once are named'
has "to set: sluice config set 'tasks.timeout_s=3600'" 'the time-out is named'
noted task-20260224-083000-berth-api 'it was running there' 'what was running is named'
matches conductor small
unchanged 'the folder is not changed'
rule 'berth-docs waits for berth-api' [ "$(value task-20260224-090500-berth-docs state)" = waiting ]
rule 'its agent is the default one' [ "$(value task-20260224-090500-berth-docs agent)" = claude ]
before=$(last_event)
run sluice import conductor "$state"
has '0 added, 4 already' 'importing again adds nothing'
rule 'and changes nothing' [ "$(last_event)" = "$before" ]
"$SLUICE" resume >/dev/null
drained 'small runs to its end'
rule 'all are done' [ "$("$SLUICE" list --all --ids --state 'done' | wc -l)" = 4 ]
rule 'each has run once, those with needs last' [ "$(tr '\n' ' ' <order)" = 'harborap-2 harborap-3 harborap-4 ' ]
run sluice import conductor "$state"
has '0 added, 4 already' 'importing again after they have run adds nothing'

# --- rich ---------------------------------------------------------------------------------------

"$SLUICE" pause >/dev/null
: >prompts
# shellcheck disable=SC2046 # a list
"$SLUICE" delete $("$SLUICE" list --all --ids) >/dev/null
prepared conductor rich
run sluice import conductor --settings "$state"
exits 2 'rich: something is left out'
has '22 added, 0 already, 4 skipped, 0 refused' 'rich: 22 added, 4 left out'
matches conductor rich
unchanged 'rich: the folder is not changed'
left_out no-prompt 'no TASK.md' 'no prompt'
left_out empty-prompt 'nothing to run' 'an empty prompt'
left_out not-text 'not text' 'not text'
left_out elsewhere 'a link' 'a link'
noted task-20260225-091000-metrics "'task-20260101-000000-never-was', which does not exist" 'a need that does not exist'
noted task-20260225-084500-preise 'TASK-CONFIG.yaml is damaged' 'needs that cannot be read'
noted task-20260225-092000-done-dir 'DONE is not a file' 'DONE is a directory'
noted task-20260222-113000-flaky-tests 'no test framework found' 'why it failed'
noted task-20260223-150000-grpc-port 'the clients are not ready' 'why it was canceled'
noted task-20260221-090000-lint-rules 'no DONE marker' 'a missing marker'
noted backend_model 'not read' 'a member that is not known'
noted config.yaml '/mnt/old/run-agent' 'more roots are named'
rule 'no secret is printed' sh -c '! grep -q "\.secrets" out'
rule 'settings are applied' [ "$("$SLUICE" config get --live limits.roots 2>/dev/null || "$SLUICE" config get limits.roots)" = 3 ]
run sluice show --json task-20260225-080000-merge-modules
rule 'it waits for three' [ "$(value task-20260225-080000-merge-modules state)" = waiting ]
has '"depends_on":["task-20260225-071000-module-berths","task-20260225-071001-module-pilots","task-20260225-071002-module-tides"]' 'three needs'
run sluice show --json task-20260225-090200-audit-log
has '"env":{"JOB_LABEL":"[not shown]"}' 'variables of a request'
run sluice show --json task-20260222-113000-flaky-tests
has '"runs":4' 'runs so far are kept'
run sluice show --json task-20260225-070500-harbor-goal
has '"runs":2' 'a helper is not counted'
rule 'the first of two planner entries counts' [ "$(value task-20260225-090000-rate-limits agent)" = gemini ]
before=$(last_event)
run sluice import conductor "$state"
has '0 added, 22 already, 4 skipped' 'rich: importing again adds nothing'
rule 'rich: and changes nothing' [ "$(last_event)" = "$before" ]
"$SLUICE" resume >/dev/null
drained 'rich runs to its end'
rule 'only held, failed and canceled ones are not done' \
    [ "$("$SLUICE" list --all --ids --limit 100 --state held,failed,canceled | wc -l)" = 5 ]
rule 'a long prompt arrives' grep -qF 'Sentence 400 of 400 must arrive as it was written.' prompts
rule 'characters beyond ASCII stay' [ "$(value task-20260225-084500-preise title)" = 'Zeige Preise mit Währung: 12,50 € — für 日本 in ¥.' ]
finish
