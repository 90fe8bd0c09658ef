#!/bin/sh
# An epic runs nothing: slinging it slings its children, and it is done when they are.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"
config 'limits: {runs: 4}
drain_s: 0
kinds: {epic: {base: 100}}
projects: {web: , hq: {coordination: true}}'
start

add --project web --draft --kind epic -- sh -c "echo epic >>$tmp/did" && epic=$id
add --project web --draft --parent "$epic" -- sh -c "echo a >>$tmp/did" && a=$id
add --project web --draft --parent "$epic" --after "$a" -- sh -c "echo b >>$tmp/did" && b=$id
run sluice sling "$epic"
exits 0 'f010 an epic is slung'
becomes "$epic" 'done'
printf 'a\nb\n' >want
compare want did 'f010 its children run, and nothing of its own; it is done when they are'
rule 'f010 they are done before it' [ "$(value "$b" state)" = 'done' ]
add --project hq --draft --title 'from above' -- false && epic=$id
add --force --project web --draft --parent "$epic" -- true && a=$id
run sluice sling "$epic"
exits 0 'f127 a project that only coordinates has epics'
becomes "$a" 'done'
becomes "$epic" 'done'
add --project hq --draft -- false && epic=$id
add --force --project web --draft --parent "$epic" --parent-gate 'done' -- true && a=$id
run sluice sling "$a"
exits 4 'f127 a child that would wait for ever is left out'
rule 'f127 and says why' grep -qF 'it waits for its parent (parent_gate: done), which runs nothing' err

run sluice pause
exits 0 'f010 the queue can be paused'
cat >epic.yaml <<END
tasks:
  - {name: all, project: web, kind: epic, argv: [sh, -c, 'echo epic >>$tmp/did2']}
  - {name: first, project: web, parent: all, argv: [sh, -c, 'echo first >>$tmp/did2']}
END
run sluice add --json --file epic.yaml
exits 0 'f010 an epic and its child are added together'
epic=$(jq -r '.tasks[0].id' out)
add --project web --parent "$epic" -- sh -c "echo late >>$tmp/did2"
add --project web --parent "$epic" --after "$epic" -- sh -c "echo after >>$tmp/did2" && a=$id
run sluice resume
exits 0 'f010 the queue goes on'
becomes "$a" 'done'
rule 'f010 an epic waits for the children it has, and for those added while it waits' \
    [ "$(sort did2 | tr '\n' ' ')" = 'after first late ' ]
rule 'f010 a child that waits for its epic comes after it' [ "$(tail -n 1 did2)" = after ]
finish
