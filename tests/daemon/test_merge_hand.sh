#!/bin/sh
# Manual merges: `approve` of a task with a review, and `sluice merge`. Work is merged once, whatever is killed; a failed
# merge leaves branch, base and task unchanged. With the sandbox and without it.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"
. "$here/repository.sh"
needs bwrap
run true
mkdir "$HOME/src"
repository web
mv web "$HOME/src/web"
ln -s "$HOME/src/web" repo
repo=$HOME/src/web
git config --global user.name Owner
git config --global user.email owner@localhost

config "limits: {runs: 8}
git: {retries: 0}
retry: {failed: {max: 0}, lost: {delay_s: 0}}
agents:
  shell: {command: [sh, -c, '{prompt}'], prompt: argument, sandbox: bubblewrap}
projects:
  web: {path: '$repo', workspace_mode: worktree, merge: direct}
  loc: {path: '$repo', workspace_mode: worktree}
  none: {path: '$repo', workspace_mode: worktree, merge: none}
  bare: {path: '$repo'}"
clock_git
start

main_has() { # FILE
    git -C "$repo" show "main:$1" 2>/dev/null
}
branch_is_there() {
    [ -n "$(git -C "$repo" branch --list "sluice/$1")" ]
}
fails() {
    ! "$@" 2>/dev/null
}
removed() { # ID
    [ ! -e "$home/worktrees/$1" ] && ! branch_is_there "$1"
}

# --- a review -------------------------------------------------------------------------------------------------

add -p web --review -- sh -c 'echo one >one'
one=$id
becomes "$one" held
rule 'a task with a review may have merge: direct, which waits' [ -z "$(main_has one)" ]
run sluice show "$one"
has 'and are merged when it is approved' 'show says that it waits'
add -p web --after "$one" -- sh -c 'cat one >after'
after=$id
run sluice approve "$one"
exits 0 'approve'
prints "$one approved: done" 'says what it did'
rule 'approve merges' [ "$(main_has one)" = one ]
becomes "$after" 'done'
rule 'what depends on it finds its work' [ "$(main_has after)" = one ]
rule 'the worktree and the branch are removed' soon removed "$one"
run sluice show "$one"
has 'worktree and branch' 'and show says so'
has "merged into 'main' at " 'and where the work is'

add -p web --until external -- sh -c 'echo ext >ext'
becomes "$id" held
run sluice close "$id"
rule 'until: external: close merges, too' [ "$(main_has ext)" = ext ]

add -p web --review --check 'test ! -e stop' --until validate -- sh -c 'echo two >two'
two=$id
becomes "$two" held
commit repo stop yes
run sluice approve "$two"
exits 4 'checks run again on a base that has moved; if one fails nothing is approved'
complains "task '$two' is not approved, because it cannot be merged: not merged: on top of 'main' its check 1 fails" 'and why is said'
rule 'it still waits' [ "$(value "$two" state) $(main_has two)" = 'held ' ]
git -C "$repo" rm -q stop
git -C "$repo" commit -q -m go
run sluice approve "$two"
rule 'approved again, it is merged' [ "$(value "$two" state) $(main_has two)" = 'done two' ]

add -p web --review -- sh -c 'echo mine >file'
three=$id
add -p web --review -- sh -c 'echo four >four'
four=$id
becomes "$three" held
becomes "$four" held
commit repo file yours
before=$(git -C "$repo" rev-parse "sluice/$three")
run sluice approve "$four" "$three"
exits 4 'a conflict: nothing is approved'
complains "conflicts with 'main' in file" 'and the files are named'
rule 'both still wait' [ "$(value "$three" state) $(value "$four" state)" = 'held held' ]
rule 'the branch is as it was' [ "$(git -C "$repo" rev-parse "sluice/$three")" = "$before" ]
rule 'nothing is half done' [ -z "$(git -C "$home/worktrees/$three" status --porcelain)$(git -C "$repo" status --porcelain)" ]
run sluice approve "$four"
rule 'the other one can be approved alone' [ "$(value "$four" state) $(main_has four)" = 'done four' ]
run sluice reject "$three"
becomes "$three" held
rule 'a rejected task works on in its worktree' [ "$(value "$three" iteration)" = 2 ]

# --- sluice merge ---------------------------------------------------------------------------------------------

add -p loc --agent shell -- 'echo five >five'
five=$id
becomes "$five" 'done'
rule 'local: a finished worktree is removed, its branch is kept' soon [ ! -e "$home/worktrees/$five" ]
run sluice merge --dry-run "$five"
exits 0 'a dry run'
prints "$five can be merged into 'main'" 'says that it can be merged'
rule 'and merges nothing' [ -z "$(main_has five)" ]
run sluice merge "$five"
exits 0 'merge'
has "$five merged into 'main' at " 'says what it did'
rule 'merges a task whose worktree was removed' [ "$(main_has five)" = five ]
rule 'and removes the branch, too' soon removed "$five"
run sluice merge "$five"
exits 0 'again'
prints "$five is merged already: 'main' has all of it" 'does nothing'
run sluice merge --json "$five"
has '"result":"already"' 'also as JSON'

add -p none -- sh -c 'echo six >six'
six=$id
becomes "$six" 'done'
run sluice merge "$six"
rule 'merge: none: what was not committed is, and is merged' [ "$(main_has six)" = six ]

git -C "$repo" branch release
add -p loc --agent shell -- 'echo seven >seven'
seven=$id
becomes "$seven" 'done'
commit repo later yes
run sluice merge --into release "$seven"
has "$seven merged into 'release' at " '--into: another branch'
rule '--into: gets it' [ "$(git -C "$repo" show release:seven) $(main_has seven)" = 'seven ' ]

add -p loc --agent shell -- 'echo agent >file'
eight=$id
add -p loc --agent shell -- 'echo nine >nine'
nine=$id
becomes "$eight" 'done'
becomes "$nine" 'done'
commit repo file owner
before=$(git -C "$repo" rev-parse "sluice/$eight")
run sluice merge --dry-run "$eight"
exits 4 'a dry run of a conflict: exit code'
prints "$eight is not merged: conflicts with 'main' in file" 'it names the files'
run sluice merge "$eight" "$nine"
exits 4 'a conflict: exit code'
has "$eight is not merged: conflicts with 'main' in file" 'names the files'
has "$nine merged into 'main'" 'and the next task is merged all the same'
rule 'the branch is as it was' [ "$(git -C "$repo" rev-parse "sluice/$eight")" = "$before" ]
rule 'the owner has the files as they were' [ "$(main_has file)$(git -C "$repo" status --porcelain)" = owner ]
rule 'and the base has the other' [ "$(main_has nine)" = nine ]

add -p loc --agent shell -- true
becomes "$id" 'done'
run sluice merge "$id"
exits 0 'a task without changes'
has 'has no changes' 'has nothing to merge'

# --- bad input ------------------------------------------------------------------------------------------------

add -p bare -- true
becomes "$id" 'done'
run sluice merge "$id"
exits 1 'a task that has no branch'
complains "'$id' has no branch to merge" 'is refused'
mkfifo go
add -p loc -- sh -c 'echo ready; read -r _ <"$0"' "$tmp/go"
appears ready "$home/runs/$id/1/out.log"
run sluice merge "$id"
exits 4 'a task that runs'
complains 'only finished work can be merged' 'is refused'
unblock go
becomes "$id" 'done'
run sluice merge no-1
exits 1 'a task that is not there'
run sluice merge --into '--all' "$nine"
exits 2 'an option is not a branch'
run sluice merge --into nowhere "$eight"
exits 1 'a branch that is not there'

# --- another worktree is half removed -------------------------------------------------------------------------

add -p loc -- sh -c 'echo beside >beside'
becomes "$id" 'done'
soon [ ! -e "$home/worktrees/$id.json" ]
echo 'before worktree list' >"$tmp/stop"
"$SLUICE" merge "$id" >out 2>err &
client=$!
stops 'worktree list'
half=$repo/.git/worktrees/half
mkdir -p "$half/commondir" && echo "$tmp/half/.git" >"$half/gitdir" && echo 'ref: refs/heads/half' >"$half/HEAD"
rule 'git cannot list the worktrees now' fails git -C "$repo" worktree list
echo 'before worktree list' >"$tmp/stop"
unblock continue
rule 'they are listed again' stops 'worktree list'
rm -r "$half"
unblock continue
wait $client
code=$?
rule 'when the other worktree is gone, the merge goes on' [ $code = 0 ]
rule 'and the work is there' [ "$(main_has beside)" = beside ]

# --- crashes --------------------------------------------------------------------------------------------------

n=0
for step in 'worktree add' 'add --all' 'rebase' 'worktree list' 'merge' 'worktree unlock'; do
    for when in before after; do
        n=$((n + 1))
        add -p loc -- sh -c 'echo "$0" >"crash.$0"' $n
        becomes "$id" 'done'
        soon [ ! -e "$home/worktrees/$id.json" ]
        commit repo "moved.$n" yes
        echo "$when $step" >"$tmp/stop"
        "$SLUICE" merge "$id" >/dev/null 2>&1 &
        client=$!
        stopped=yes
        stops "$step" || stopped=no
        crash
        wait $client
        start
        run sluice merge "$id"
        soon removed "$id"
        [ $stopped = yes ] && [ "$(main_has "crash.$n")" = $n ] &&
            [ "$(git -C "$repo" log --format=%s main -- "crash.$n" | wc -l)" = 1 ] && removed "$id" &&
            [ -z "$(git -C "$repo" status --porcelain)" ]
        report $? "killed $when 'git $step', it is merged once when it is asked for again"
    done
done
for step in 'rebase' 'merge'; do
    for when in before after; do
        n=$((n + 1))
        add -p web --review -- sh -c 'echo "$0" >"crash.$0"' $n
        becomes "$id" held
        commit repo "moved.$n" yes
        echo "$when $step" >"$tmp/stop"
        "$SLUICE" approve "$id" >/dev/null 2>&1 &
        client=$!
        stopped=yes
        stops "$step" || stopped=no
        crash
        wait $client
        start
        run sluice approve "$id"
        [ $stopped = yes ] && [ "$(value "$id" state)" = 'done' ] && [ "$(main_has "crash.$n")" = $n ] &&
            [ "$(git -C "$repo" log --format=%s main -- "crash.$n" | wc -l)" = 1 ]
        report $? "killed $when 'git $step' of an approval, it is merged once and approved when it is asked for again"
    done
done
finish
