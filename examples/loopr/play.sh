# play.sh: plan → spec → phase → ralph. README.md describes what to look at.
# shellcheck shell=sh disable=SC1091
. ../lib.sh

of_kind() { # KIND STATE: number of tasks
    sluice list --kind "$1" --state "$2" --ids | wc -l
}

# Between two levels nothing runs for a moment, until the daemon notices the file that the next level waits for.
has_grown() { # STALE DONE: expected numbers of leaves
    [ "$(of_kind ralph invalidated)" = "$1" ] && [ "$(of_kind ralph 'done')" = "$2" ]
}

say '1. One plan is all there is' 'The rest will be written by the agents.'
show project add shop --path "$PWD"
show add --file plan.yaml
plan=$(sluice list --kind plan --state all --ids)
until_true has_grown 0 2 || :

say '2. What came of it' 'Each level wrote down the next one (spawn), which waited for its parent and its file.'
show list --state all --order old
for kind in plan spec; do
    check "one $kind is done" [ "$(of_kind $kind 'done')" = 1 ]
done
for kind in phase ralph; do
    check "two of kind $kind are done" [ "$(of_kind $kind 'done')" = 2 ]
done

say '3. Validation and feedback' \
    'The plan did not pass its check at first. What the check said is what the next iteration was told:'
cat "../tasks/$plan/iterations/002/feedback.md"
check 'the plan took two iterations' [ "$(field "$plan" iteration)" = 2 ]
check 'the second plan says how one sees that it is done' \
    grep -q '^## Acceptance' "../tasks/$plan/iterations/002/artifacts/plan.md"
check 'the first one is still there' [ -s "../tasks/$plan/iterations/001/artifacts/plan.md" ]
check 'the code works' sh -c 'sh code/sign-in.sh && sh code/sign-out.sh'

say '4. The plan is made anew' 'Everything that came from the old one is stale: it is invalidated, and grows again.'
show again "$plan"
until_true has_grown 2 2 || :
show list --state all --order old
for kind in spec:1 phase:2 ralph:2; do
    check "of kind ${kind%:*}: ${kind#*:} invalidated" [ "$(of_kind "${kind%:*}" invalidated)" = "${kind#*:}" ]
    check "of kind ${kind%:*}: ${kind#*:} done" [ "$(of_kind "${kind%:*}" "done")" = "${kind#*:}" ]
done
over
