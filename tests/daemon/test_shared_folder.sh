#!/bin/sh
# Agents in one folder at the same time: reported by add, why and status; with tasks.share_folder=false they take turns.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets id, home, tmp; the shell of the run expands the rest
. "$(dirname "$0")/kit.sh"
mkdir work other
agent="agents: {waits: {command: [sh, -c, 'echo \$\$ >>started; until [ -e $tmp/go ]; do sleep 0.1; done', waits], prompt: stdin}}"
config "$agent"
start
run sluice add --agent waits --cwd "$tmp/work" 'Work.'
first=$(sed 's/ .*//' out)
rule 'alone: no warning' [ ! -s err ]
soon [ -s work/started ]
run sluice status
rule 'alone: nothing in status' not grep -q 'same folder' out
run sluice add --agent waits --cwd "$tmp/other" 'Work.'
rule 'in another folder: no warning' [ ! -s err ]
run sluice add --cwd "$tmp/work" -- true
rule 'a command: no warning' [ ! -s err ]
run sluice add --agent waits --cwd "$tmp/work" 'Work.'
exits 0 'in the same folder: it is added'
second=$(sed 's/ .*//' out)
rule 'in the same folder: a warning that names the other and the way out' grep -qF "the agent of '$first' works in '$tmp/work' at the moment: use worktrees" err
both() { [ "$(wc -l <work/started)" = 2 ]; }
soon both
run sluice status
has "the agents of '$first' and '$second' work in the same folder '$tmp/work'" 'status says it'
run sluice why "$second"
has "same folder" 'why says it'
: >go
becomes "$first" 'done'
becomes "$second" 'done'
run sluice status
rule 'over when one has ended' not grep -q 'same folder' out
run sluice down --wait

rm -f go work/started
config "tasks: {share_folder: false}
$agent"
start
add --agent waits --cwd "$tmp/work" 'Work.'
first=$id
soon [ -s work/started ]
run sluice add --agent waits --cwd "$tmp/work" 'Work.'
rule 'share_folder: false: no warning' [ ! -s err ]
second=$(sed 's/ .*//' out)
run sluice why "$second"
has 'lease:workspace' 'share_folder: false: the second one waits for the folder'
rule 'and does not run' [ "$(wc -l <work/started)" = 1 ]
: >go
becomes "$first" 'done'
rule 'it follows' becomes "$second" 'done'
rule 'in that folder' [ "$(wc -l <work/started)" = 2 ]
finish
