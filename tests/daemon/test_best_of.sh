#!/bin/sh
# Best of several: candidates do the same task in worktrees of their own, one of those that succeed is picked and merged,
# exactly once, whatever is killed.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"
. "$here/repository.sh"

repository repo
config "limits: {runs: 8}
git: {retries: 1, retry_s: 0.1}
retry: {failed: {max: 0}, unfinished: {max: 1}, lost: {delay_s: 0}}
agents:
  one: {command: [sh, -c, 'echo one >result; eval \"\$(echo \"\$0\" | head -n 1)\"', '{prompt}'], prompt: argument, sandbox: none}
  two: {command: [sh, -c, 'echo two >result; eval \"\$(echo \"\$0\" | head -n 1)\"', '{prompt}'], prompt: argument, sandbox: none}
  bad: {command: [sh, -c, 'echo bad >result; eval \"\$(echo \"\$0\" | head -n 1)\"', '{prompt}'], prompt: argument, sandbox: none}
  judge: {command: [sh, $tmp/judge.sh, '{prompt}'], prompt: argument, sandbox: none}
projects:
  web: {path: $tmp/repo, workspace_mode: worktree}
  auto: {path: $tmp/repo, workspace_mode: worktree, merge: direct}
  bare: {path: $tmp/repo}"
clock_git
cat >judge.sh <<'END'
printf '%s' "$1" >"$JUDGE/asked.$SLUICE_TASK"
eval "$(cat "$JUDGE/verdict")"
END
sed -i "s|\$JUDGE|$tmp|g" judge.sh
start

# Sets $id to the task and $a, $b, $c to its candidates, which have the next numbers.
best() {
    add -p web --cwd - --best-of 3 --agents one,two,bad "$@"
    n=${id##*-}
    a=${id%-*}-$((n + 1)) b=${id%-*}-$((n + 2)) c=${id%-*}-$((n + 3)) d=${id%-*}-$((n + 4))
}
held_for() { # ID HOLD
    [ "$(value "$1" state) $(value "$1" hold)" = "held $2" ]
}
picked() { # EVENTS: how many
    "$SLUICE" events --limit 1000 --json | grep -c "\"kind\":\"task.picked\".*\"task\":\"$1\"\|\"task\":\"$1\".*\"kind\":\"task.picked\""
}
merged() { # FILE: how many commits of main have it
    git -C repo log --format=%s main -- "$1" | wc -l
}
children() { # ID
    "$SLUICE" list --all --json --limit 1000 | tr '{' '\n' | grep -c "\"parent\":\"$1\""
}

# --- a person picks ---------------------------------------------------------------------------------------------

best --check 'grep -q one result || grep -q two result' 'echo first >>log'
task=$id
rule 'the task waits for a pick when its candidates have ended' soon held_for "$task" review
rule 'those whose checks pass are done' [ "$(value "$a" state) $(value "$b" state) $(value "$c" state)" = 'done done failed' ]
rule 'there are three' [ "$(children "$task")" = 3 ]
rule 'nothing is merged' [ -z "$(in_main repo result)" ]
rule 'each has a branch of its own' [ "$(git -C repo show "sluice/$a:result") $(git -C repo show "sluice/$b:result")" = 'one two' ]
run sluice why "$task"
has "compare its candidates with: sluice best $task, and pick one with: sluice pick $task ID ($a, $b)" 'why says what to do'
run sluice best "$task"
has "$a      one    done    passed       0     -  2 files, +2 -0" 'best compares them'
has "$c      bad    failed  failed       0     -" 'with those that are out'
run sluice best --diff "$c"
has '+two' 'best --diff shows the changes; a candidate stands for its task'
run sluice show "$task"
has "$b, done, 0 tokens, unknown cost, agent two" 'show has the cost of each candidate'
run sluice approve "$task"
exits 4 'a task with candidates is not approved without a pick'
complains "'sluice pick $task ID' picks one" 'and the message says how'
run sluice pick "$task" "$c"
exits 4 'a candidate that has failed cannot be picked'
complains "candidate '$c' is failed: only one that is done can be picked" 'and why is said'
run sluice pick "$task" "$task"
exits 2 'nor what is no candidate'
run sluice pick "$task" "$b" --reason 'it is shorter'
exits 0 'pick'
prints "$b picked for $task" 'says what it did'
rule 'the task is done' [ "$(value "$task" state)" = 'done' ]
rule 'and the pick is merged' [ "$(in_main repo result)" = two ]
run sluice pick "$task" "$b"
exits 0 'the same pick again is no error'
run sluice pick "$task" "$a"
exits 4 'another one is'
rule 'the other candidate keeps its branch' [ "$(git -C repo show "sluice/$a:result")" = one ]
run sluice best --json "$task"
has "\"picked\":\"$b\"" 'the answer has the pick'
has '"reason":"it is shorter"' 'and why'

run sluice show "$a"
has "$task" 'a candidate says whose it is'
run sluice diff "$task"
has '+two' 'the diff of the task is that of its pick'
runs=$(value "$c" attempt)
run sluice again "$task"
exits 0 'a task with candidates can be done again'
rule 'by its candidates, in their next iteration' soon held_for "$task" review
rule 'which are the same' [ "$(children "$task") $(value "$a" iteration)" = '3 2' ]
rule 'those that had failed, too' [ "$(value "$c" attempt)" -gt "$runs" ]
run sluice reject "$task" --reason 'use three'
exits 0 'and be rejected'
rule 'each candidate begins again' soon held_for "$task" review
rule 'with the reason' grep -rqF 'use three' "$home/tasks/$a"
run sluice cancel "$task"
rule 'canceled, it is over' [ "$(value "$task" state)" = canceled ]

# --- one, or none, is left --------------------------------------------------------------------------------------

best --check 'grep -q one result' true
rule 'the only candidate that is done is picked by itself' becomes "$id" 'done'
run sluice best --json "$id"
has "\"picked\":\"$a\",\"by\":\"checks\"" 'by its checks'
rule 'it stays on its branch unless the project or the task merges' [ "$(git -C repo show "sluice/$a:result") $(in_main repo result)" = 'one two' ]
run sluice merge "$id"
exits 0 'and can be merged by the id of the task'
rule 'the branch of the pick is' [ "$(in_main repo result)" = one ]
best --review --check 'grep -q two result' true
rule 'with review a person picks, also the only one' soon held_for "$id" review
run sluice pick "$id" "$b"
exits 0 'which is done then'
best --check false true
rule 'if none is left, the task fails' becomes "$id" failed
rule 'and says why' [ "$(value "$id" reason)" = candidates ]
run sluice why "$id"
has "none of its 3 candidates has succeeded: look at them with: sluice best $id, and try again with: sluice retry $id" 'in full'
runs=$(value "$a" attempt)
tried_again() {
    [ "$(value "$a" attempt)" -gt "$runs" ]
}
run sluice retry "$id"
rule 'retried, so are its candidates' soon tried_again
becomes "$id" failed
add -p auto --cwd - --best-of 2 --agents two,one --check 'grep -q one result' 'echo auto >auto'
becomes "$id" 'done'
rule 'a project that merges, merges the pick' [ "$(in_main repo auto)" = auto ]
add -p web --cwd - --best-of 2 --merge direct -- sh -c 'echo x >direct; test "${SLUICE_TASK##*-}" != "$0"' "$(($(value "$id" id | tr -dc 0-9) + 4))"
becomes "$id" 'done'
rule 'and so does a task with merge: direct; a command may have candidates, too' [ "$(in_main repo direct)" = x ]

# --- an agent picks ---------------------------------------------------------------------------------------------

echo "'$SLUICE' pick \"\$SLUICE_TASK\" \"\$(cat $tmp/choice)\" --reason 'it is better'" >verdict
choose() { # CANDIDATE: of three, after the next task
    "$SLUICE" add --draft -- true >numbers
    n=$(sed -n 's/.*-\([0-9]*\) .*/\1/p' numbers)
    echo "web-$((n + 1 + $1))" >choice
}
choose 2
best --chooser judge --merge direct 'echo chosen >chosen'
rule 'an agent can pick' becomes "$id" 'done'
run sluice best --json "$id"
has "\"picked\":\"$b\",\"by\":\"$d\",\"reason\":\"it is better\"" 'with a reason'
rule 'its pick is merged if the task says so' [ "$(in_main repo chosen) $(in_main repo result)" = 'chosen two' ]
rule 'it was given the task' grep -qF 'echo chosen >chosen' "asked.$d"
rule 'and all diffs' [ "$(grep -c '^+chosen' "asked.$d")" = 3 ]
rule 'its run ends by itself' becomes "$d" 'done'
echo 'exit 0' >verdict
best --chooser judge true
rule 'without an answer of the agent a person picks' soon held_for "$id" review
run sluice why "$id"
has "its chooser $d has ended without a pick" 'and why says so'
echo "'$SLUICE' pick \"\$SLUICE_TASK\" nothing-9; '$SLUICE' pick \"\$SLUICE_TASK\" \"\$SLUICE_TASK\"; true" >verdict
best --chooser judge true
rule 'nor with an invalid one' soon held_for "$id" review
run sluice pick "$id" "$a"
rule 'a person picks then' [ "$(value "$id" state)" = 'done' ]
best "'$SLUICE' pick \"\$SLUICE_TASK\" \"\$SLUICE_TASK\" 2>$tmp/own; '$SLUICE' pick \"\${SLUICE_TASK%-*}-1\" x 2>>$tmp/own; true"
rule 'a candidate cannot pick itself' soon held_for "$id" review
rule 'it is told so' grep -qF "is not the chooser of the task, so it cannot pick" own
run sluice cancel "$id"

# --- requests for the task --------------------------------------------------------------------------------------

mkfifo go
best "read -r _ <$tmp/go"
becomes "$a" running
run sluice why "$id"
has 'its candidates work on it: ' 'why names the candidates'
run sluice cancel "$id"
rule 'canceling the task cancels its candidates' becomes "$c" canceled
rule 'all of them' becomes "$a" canceled
becomes "$b" canceled
run sluice delete "$id"
exits 0 'it can be deleted'
run sluice show "$a"
exits 1 'with its candidates'
best --hold true
rule 'held when it is added, its candidates are' [ "$(value "$id" hold) $(value "$a" hold)" = 'candidates person' ]
run sluice release "$id"
rule 'released, they start' soon held_for "$id" review
run sluice cancel "$id"
add --draft -p web --cwd - --best-of 2 --agent one 'echo mine >conflict'
draft=$id
rule 'a draft has drafts' [ "$(value "web-$((${draft##*-} + 1))" state)" = draft ]
run sluice sling "$draft"
rule 'slung, they start' soon held_for "$draft" review
run sluice edit "$draft" --title other
exits 4 'a task with candidates is not edited'
first=web-$((${draft##*-} + 1))
commit repo conflict theirs
run sluice pick "$draft" "$first"
exits 4 'a pick that conflicts with the base is withdrawn'
complains 'was not merged' 'with the reason'
rule 'and the task waits for another' held_for "$draft" review
run sluice why "$draft"
has 'the last pick could not be merged: ' 'which why says'
run sluice cancel "$draft"
best --tokens 9000 --usd 3 --hold true
run sluice show "$a" --json
has '"task":{"tokens":{"used":0,"budget":3000},"usd":{"used":0.000000,"budget":1.000000}}' 'each candidate has its share of the budget of the task'
run sluice show "$id" --json
has '"handed":{"tokens":9000,"usd":3.000000}' 'which is taken from it'
run sluice cancel "$id"

# --- bad input --------------------------------------------------------------------------------------------------

before=$(last_event)
refused() { # MESSAGE ARGUMENTS...
    message=$1
    shift
    run sluice add --cwd - "$@"
    exits 2 "refused: $*"
    complains "$message" 'with the reason'
}
refused "'best_of' needs a worktree for each candidate: 'sluice config set projects.bare.workspace_mode=worktree'" -p bare --best-of 2 --agent one x
refused "'agents' can only be used with 'best_of'" -p web --agents one,two x
refused "'chooser' can only be used with 'best_of'" -p web --agent one --chooser two x
refused "expected" -p web --agent one --best-of 1 x
refused "expected" -p web --agent one --best-of 17 x
refused "there is no agent 'three'" -p web --best-of 2 --agents one,three x
refused "there is no agent 'three'" -p web --best-of 2 --agent one --chooser three x
refused "'merge' cannot be used with 'best_of'" -p web --best-of 2 --agent one --merge mr x
refused "'spawn' cannot be used with 'best_of'" -p web --best-of 2 --agent one --spawn plan.yaml x
refused "'chooser' cannot be used with 'best_of': a command has no prompt" -p web --best-of 2 --chooser one -- true
rule 'and nothing is stored' [ "$(last_event)" = "$before" ]
run sluice best web-1
exits 0 'best'
add -- true
run sluice best "$id"
exits 2 'best of a task without candidates'
complains "has no candidates; add a task with --best-of" 'with the reason'

# --- crashes ----------------------------------------------------------------------------------------------------

round=0
for step in 'worktree list' 'merge'; do
    for when in before after; do
        round=$((round + 1))
        best "echo $round >crash.$round"
        task=$id
        soon held_for "$task" review
        echo "$when $step" >"$tmp/stop"
        "$SLUICE" pick "$task" "$b" >/dev/null 2>&1 &
        stops "$step"
        crash
        wait
        start
        becomes "$task" 'done'
        rule "killed $when 'git $step', there are three candidates" [ "$(children "$task")" = 3 ]
        rule 'one was picked once' [ "$(picked "$task") $(value "$b" state)" = '1 done' ]
        rule 'and merged once' [ "$(merged "crash.$round") $(in_main repo "crash.$round")" = "1 $round" ]
    done
done
finish
