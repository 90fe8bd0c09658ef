#!/bin/sh
# One command imports a town of Gas Town, and all of its tasks run.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"
. "$here/import_kit.sh"
config "preset: gastown
agents:
  claude: {command: [sh, -c, 'cat >>$tmp/prompts; echo \$SLUICE_TASK >>$tmp/order']}
  codex: {command: [sh, -c, 'cat >>$tmp/prompts; echo \$SLUICE_TASK >>$tmp/order']}
pace: {tick_s: 0, batch: unlimited}
limits: {runs: 1}
tasks: {sandbox: none}"
start

# --- small --------------------------------------------------------------------------------------

"$SLUICE" pause >/dev/null
prepared gastown small
run sluice import gastown --dry-run "$state"
exits 0 'a dry run'
has '5 would be added, 0 already, 0 skipped, 0 refused' 'a dry run says what would be added'
rule 'adds nothing' [ -z "$("$SLUICE" list --all --ids)" ]
run sluice import gastown "$state"
exits 0 'small'
has '5 added, 0 already, 0 skipped, 0 refused' 'all of them are added'
noted ki-e1a.2 'it was running there' 'what was running is named'
noted kite 'sluice config set projects.kite.path=FOLDER' 'a rig whose repository is not there is named'
has "to set: sluice config set 'limits.runs=unlimited'" 'direct dispatch is a setting'
matches gastown small
unchanged 'the folder is not changed'
before=$(last_event)
run sluice import gastown "$state"
has '0 added, 5 already' 'importing again adds nothing'
rule 'and changes nothing' [ "$(last_event)" = "$before" ]
"$SLUICE" sling --all >/dev/null
"$SLUICE" resume >/dev/null
drained 'small runs to its end'
rule 'all are done, the epic too' [ "$("$SLUICE" list --all --ids --state 'done' | wc -l)" = 5 ]
rule 'acceptance criteria are in the prompt' grep -qF 'readable in the dark' prompts

# --- rich ---------------------------------------------------------------------------------------

# shellcheck disable=SC2046 # a list
"$SLUICE" delete $("$SLUICE" list --all --ids) >/dev/null
: >prompts
: >order
prepared gastown rich
mkdir -p ines/src/lantern
run sluice import gastown "$state"
exits 2 'rich: something is left out'
has '28 added, 0 already, 13 skipped, 0 refused' 'rich: 28 added'
rule 'rich: dispatch stays paused' [ "$("$SLUICE" status --json | first paused)" = true ]
matches gastown rich
unchanged 'rich: the folder is not changed'
left_out hq-m4n message 'a message'
left_out hq-lantern-witness agent 'an agent'
left_out ln-pin pinned 'a pinned bead'
left_out ln-tmb deleted 'a deleted bead'
left_out ln-gat gate 'a gate'
left_out ln-mrq 'merge request' 'a merge request'
left_out ln-wisp-q09 ln-vanished 'a context without a bead'
left_out ln-wisp-q10 ln-5rb 'a context that cannot be read'
left_out deploy-day memory 'a memory'
noted ln-3tq 'formula mol-sensor not found' 'a broken circuit'
noted ln-6vc '2026-12-01' 'deferred'
noted ln-8pf 'lantern/crew/ines' 'a person works on it'
noted ln-unk "'in_review'" 'a status that is not known'
noted ln-dng "'ln-gone', which does not exist" 'a need that does not exist'
noted ln-cnd conditional-blocks 'a condition'
noted qy-5sm "no rig 'smelter'" 'a rig that does not exist'
noted crystallizes 'not read' 'a member that is not known'
noted quarry/settings/config.json 'cargo test' 'the test command'
has "to set: sluice config set 'limits.runs=5'" 'polecats at once'
has "to set: sluice config set 'pace.batch=2'" 'starts per tick'
has "to set: sluice config set 'pace.spawn_delay_s=3'" 'time between starts'
run sluice show --json ln-4kd
has '"convoy":"hq-cv-a1b2c"' 'its convoy is kept'
has '"base_branch":"release/2.0"' 'its branch is kept'
rule 'the agent of the context' [ "$(value ln-4kd agent)" = codex ]
rule 'the agent of the rig' [ "$(value qy-7hm agent)" = codex ]
rule 'another rig than its prefix says' [ "$(value qy-2bd project)" = lantern ]
before=$(last_event)
run sluice import gastown "$state"
has '0 added, 28 already' 'rich: importing again adds nothing'
rule 'rich: and changes nothing' [ "$(last_event)" = "$before" ]
for bead in ln-epc.2 qy-2bd ln-epc.3 ln-epc.5.1 ln-9wz ln-4kd ln-lng ln-epc.4 qy-7hm; do
    value "$bead" id
done | sort >should
"$SLUICE" resume >/dev/null
only_epics_wait() {
    "$SLUICE" list --ids --state waiting,ready,starting,running >left
    [ ! -s left ]
}
rule 'rich runs to its end' soon only_epics_wait
sort order | cmp -s - should
report $? 'rich: what was scheduled has run, and nothing else'
for bead in ln-epc.2 qy-2bd ln-epc.3; do value "$bead" id; done >first
head -n 3 order | cmp -s - first
report $? 'rich: what was running, then in the order of the queue'
run sluice import gastown "$state"
rule 'rich: importing again does not pause again' [ "$("$SLUICE" status --json | first paused)" = false ]
rule 'rich: a long prompt arrives' grep -qF 'Sentence 400 of 400 must arrive as it was written.' prompts
rule 'rich: arguments are in the prompt' grep -qF 'Do not push tags from a fork.' prompts
finish
