#!/bin/sh
# External ids are accepted wherever an id is; an external id of two tasks is refused as ambiguous.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"
config 'limits: {runs: 4}
projects: {web: {prefix: gt}}'
start
"$SLUICE" pause >/dev/null

add --project web --draft --external-id bd-9 --title 'from elsewhere' -- true
one=$id
run sluice show bd-9
exits 0 'show takes an external id'
has "$one" 'and shows the task'
for command in why logs; do
    run sluice $command bd-9
    rule "$command takes one" [ "$code" != 2 ]
    rule "$command finds the task" sh -c "! grep -q 'no task' err"
done
run sluice sling bd-9
prints "$one slung: ready, in group-1" 'sling takes one'
run sluice list
has '[bd-9] from elsewhere' 'lists show it'
run sluice list --external-id bd-9 --ids
prints "$one" 'and find it'
run sluice list --json
has '"external_id":"bd-9"' 'JSON has it'
for command in hold release promote clear cancel retry cancel delete; do
    run sluice $command bd-9
    exits 0 "$command takes one"
done
run sluice show bd-9
complains "there is no task 'bd-9'" 'what was deleted is not found'

# --- the same external id for two tasks -------------------------------------------------------------------

add --project web --draft -- true
own=$id
add --project web --draft --external-id "$own" -- true
other=$id
run sluice sling "$own"
exits 4 'a word that is an id and an external id is refused'
complains "and the external id of task '$other': use '#${own#gt-}' or '$other'" 'both are named'
rule 'and nothing is slung' [ "$(value "$other" state)" = draft ]
run sluice sling "#${own#gt-}"
prints "$own slung: ready, in group-2" 'by its number it can be named'
run sluice sling "$other"
exits 0 'and the other one by its id'
run sluice clear --all
exits 0 'all of them go by their numbers'
cat >tasks.yaml <<END
project: web
tasks:
- {id: child, run: 'true', parent: $other, needs: bd-10}
- {id: first, run: 'true', external_id: bd-10}
END
run sluice add -f tasks.yaml
exits 0 'needs and parent of a file take them'
run sluice add --after "$own" --project web -- true
exits 4 'an option that names a task refuses what is ambiguous, too'
finish
