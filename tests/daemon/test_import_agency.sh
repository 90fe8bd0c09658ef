#!/bin/sh
# One command imports a board of Agency, and all of its tasks run.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"
. "$here/import_kit.sh"
config "preset: agency
agents:
  claude: {command: [sh, -c, 'cat >>$tmp/prompts; echo \$SLUICE_TASK >>$tmp/order']}
queue: {hard: 100, soft: 50}
tasks: {sandbox: none}"
start

# --- small --------------------------------------------------------------------------------------

"$SLUICE" pause >/dev/null
prepared agency small
run sluice import agency --project recipes --dry-run "$state"
exits 0 'a dry run'
has '4 would be added, 0 already, 0 skipped, 0 refused' 'a dry run says what would be added'
rule 'adds nothing' [ -z "$("$SLUICE" list --all --ids)" ]
run sluice import agency --project recipes "$state"
exits 0 'small'
has '4 added, 0 already, 0 skipped, 0 refused' 'all of them are added'
noted 1.2-recipe-list 'it was running there' 'what was running is named'
has "to set: sluice config set 'limits.runs=1'" 'runs at once'
matches agency small
unchanged 'the folder is not changed'
run sluice show --json 1.3-recipe-photos
has '"serial":"phase-1-recipes"' 'its phase is its lock'
has '"parallelizable":false' 'it is not parallel'
before=$(last_event)
run sluice import agency --project recipes "$state"
has '0 added, 4 already' 'importing again adds nothing'
rule 'and changes nothing' [ "$(last_event)" = "$before" ]
mv "$state/project/phase-1-recipes/backlog/1.4-units.md" "$state/project/phase-1-recipes/in-progress/"
run sluice import agency --project recipes "$state"
has '0 added, 4 already' 'a card that was moved is the same'
"$SLUICE" sling --all >/dev/null
"$SLUICE" resume >/dev/null
drained 'small runs to its end'
rule 'all are done' [ "$("$SLUICE" list --all --ids --state 'done' | wc -l)" = 4 ]

# --- rich ---------------------------------------------------------------------------------------

"$SLUICE" pause >/dev/null
# shellcheck disable=SC2046 # a list
"$SLUICE" delete $("$SLUICE" list --all --ids) >/dev/null
: >prompts
: >order
prepared agency rich
run sluice import agency --project orchard --settings "$state"
exits 2 'rich: something is left out'
has '25 added, 0 already, 7 skipped, 0 refused' 'rich: 25 added, 7 left out'
matches agency rich
unchanged 'rich: the folder is not changed'
left_out 2.12-open-frontmatter.md 'no end' 'front matter without an end'
left_out 2.13-empty.md 'nothing to do' 'an empty card'
left_out 2.14-not-text.md 'not text' 'not text'
left_out 2.15-linked.md link 'a link'
left_out 2.16-pipe.md FIFO 'a named pipe'
left_out notes.md code 'a file without a code'
left_out Phase-4-Ideas 'lower case' 'not a phase'
noted 9.1-gone.md 'no such card' 'a queue entry without a card'
noted 2.9-portions 'in two folders' 'a card in two folders'
noted 2.5-leftovers "'complete' is not a status" 'a status that is not known'
noted 2.4-meal-ideas "'plan'" 'a flow that is not scheduled'
noted 2.1-week-view 'in-progress' 'a card that is done in the wrong folder'
noted 1.2-barcode-scanner implement-review 'a pipeline'
noted estimate 'not read' 'a key that is not known'
noted run-history.json 'not brought over' 'the history'
run sluice show --json 1.7-label-printer
has '"retries":2' 'three failures are used up'
run sluice show --json 1.2-barcode-scanner
has '- [x] Camera opens' 'ticks are in the prompt'
rule 'settings are applied' [ "$("$SLUICE" config get --live limits.runs 2>/dev/null || "$SLUICE" config get limits.runs)" = 3 ]
before=$(last_event)
run sluice import agency --project orchard "$state"
has '0 added, 25 already' 'rich: importing again adds nothing'
rule 'rich: and changes nothing' [ "$(last_event)" = "$before" ]
for card in 1.2-barcode-scanner 1.5-stock-count 1.4-shopping-list 1.7-label-printer; do value "$card" id; done >should
"$SLUICE" resume >/dev/null
drained 'rich runs to its end'
grep -Fx -f should order | cmp -s - should
report $? 'rich: those of a phase and flow one after the other, in the order of the queue'
rule 'rich: a long prompt arrives' grep -qF 'Sentence 400 of 400 must arrive as it was written.' prompts
finish
