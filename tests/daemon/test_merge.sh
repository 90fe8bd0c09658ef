#!/bin/sh
# Merging the work in a worktree: strategies, conflicts. test_merge_crashes.sh tests crashes.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"
. "$here/repository.sh"

repository repo
repository other
cat >ask.sh <<'END'
echo "branch $1 base $2 id $3 title $4 in $(pwd)" >>"$5"
echo "https://forge.example/1"
END
config "limits: {runs: 8}
git: {retries: 1, retry_s: 0.1}
retry: {failed: {max: 0}, lost: {delay_s: 0}}
projects:
  web: {path: $tmp/repo, workspace_mode: worktree, merge: direct}
  oth:
    path: $tmp/other
    workspace_mode: worktree
    merge: none
    mr_command: [sh, $tmp/ask.sh, '{branch}', '{base}', '{id}', '{title}', $tmp/asked]
  bare: {path: $tmp/repo}"
clock_git
start

# --- the strategies --------------------------------------------------------------------------------

add -p web --title 'a good change' -- sh -c 'echo one >one; git add one; git commit -qm one; echo two >two'
direct=$id
becomes "$direct" 'done'
rule 'f007 direct: what was committed is in the base branch' [ "$(in_main repo one)" = one ]
rule 'f007 direct: what was left uncommitted is, too' [ "$(in_main repo two)" = two ]
rule 'f007 direct: the commit has the title of its task' \
    [ "$(git -C repo log -1 --format=%s main)" = 'a good change' ]
rule 'f007 direct: a clean work tree that has the base checked out is updated' [ "$(cat repo/two)" = two ]
rule 'f007 direct: and is still clean' [ -z "$(git -C repo status --porcelain)" ]
run sluice show "$direct"
has "merged into 'main' at " 'show has the result of the merge'
run sluice events --json
has '"kind":"run.merge"' 'an event has it, too'

add -p oth --merge local -- sh -c 'echo loc >loc'
local=$id
becomes "$local" 'done'
rule 'f007 local: the work is committed on its branch' \
    [ "$(git -C other show "sluice/$local:loc")" = loc ]
rule 'f007 local: and not in the base branch' [ -z "$(in_main other loc)" ]

add -p oth --merge mr --title "it's new" -- sh -c 'echo mr >mr'
mr=$id
becomes "$mr" 'done'
run cat "$tmp/asked"
prints "branch sluice/$mr base main id $mr title it's new in $home/worktrees/$mr" \
    'f007 mr: the command gets branch, base, id and title, in the worktree'
run sluice show "$mr"
has "merge request for 'sluice/$mr': https://forge.example/1" 'f007 mr: show has what it printed'

add -p oth -- sh -c 'echo none >none'
becomes "$id" 'done'
rule 'f007 none: nothing is committed' [ "$(commits other "main..sluice/$id")" = 0 ]
rule 'f007 none: uncommitted work stays where it is' [ "$(cat "$home/worktrees/$id/none")" = none ]
add -p web --draft -- sh -c 'echo unmerged >unmerged'
"$SLUICE" sling --no-merge "$id" >/dev/null
becomes "$id" 'done'
rule 'f007 no_merge: a sling without merge leaves the base branch alone, whatever its project does' \
    [ -z "$(in_main repo unmerged)" ]
rule 'f007 no_merge: and the work where it is' [ "$(cat "$home/worktrees/$id/unmerged")" = unmerged ]

echo 'echo cannot; exit 3' >ask.sh
add -p oth --merge mr -- sh -c 'echo x >x'
becomes "$id" failed
run sluice show "$id"
has 'projects.P.mr_command failed: cannot' 'a command that cannot ask for a merge fails the task, with its words'
rule 'and the branch is kept' [ "$(git -C other show "sluice/$id:x")" = x ]

# --- bad input -------------------------------------------------------------------------------------

run sluice add -p bare --merge direct -- true
exits 2 'a merge needs a worktree'
complains "merge 'direct' needs a branch to merge" 'and the sentence says so'
run sluice add -p web --merge mr -- true
exits 2 'mr needs a command'
run sluice add -p web --merge sideways -- true
exits 2 'an unknown strategy is refused'
complains "option '--merge': expected one of none, local, direct, mr" 'with those there are'
run sluice add -p web --base-branch '--all' -- true
exits 2 'an option is no branch'
run sluice add -p web --base-branch 'a..b' -- true
complains "is not a name of a branch" 'a range is no branch'
printf -- '- {project: web, merge: none, base_branch: main, run: "true"}\n' >tasks.yaml
run sluice add --file tasks.yaml
exits 0 'a file of tasks has both members'

# --- closed is not merged --------------------------------------------------------------------------

echo 'before merge' >"$tmp/stop"
add -p web -- sh -c 'echo slow >slow'
slow=$id
add -p web --after "$slow" -- sh -c 'cat slow >"$0"; cat slow >after' "$tmp/seen"
after=$id
stops merge
run sluice show "$slow"
has 'moves the base branch' 'while it is merged, show says what is done'
rule 'its phase is validating' [ "$(value "$slow" phase)" = validating ]
rule 'f007 what depends on it waits for the merge' [ "$(value "$after" state)" = waiting ]
crash
start
becomes "$after" 'done'
rule 'f007 and then finds the work' [ "$(cat "$tmp/seen")" = slow ]

# --- the base moves --------------------------------------------------------------------------------

mkfifo go
add -p web --check 'test -e moved && echo checked >>"'"$tmp"'/checks"; true' --until validate -- \
    sh -c 'echo work >work; echo ready; read -r _ <"$0"' "$tmp/go"
appears ready "$home/runs/$id/1/out.log"
commit repo moved yes
unblock go
becomes "$id" 'done'
rule 'work is rebased onto a base that has moved' [ "$(in_main repo work)" = work ]
rule 'history stays a line' [ "$(git -C repo rev-list --merges --count main)" = 0 ]
rule 'its checks run again on the new base' [ "$(cat "$tmp/checks")" = checked ]

add -p web --check 'test ! -e breaks' --until validate -- \
    sh -c 'echo "$SLUICE_ITERATION" >tries; rm -f breaks; echo ready; test "$SLUICE_ITERATION" = 2 || read -r _ <"$0"' "$tmp/go"
appears ready "$home/runs/$id/1/out.log"
commit repo breaks yes
unblock go
becomes "$id" 'done'
rule 'work whose checks fail on the new base is not merged, but done again' [ "$(in_main repo tries)" = 2 ]
run sluice show "$id"
has "not merged: on top of 'main' its check 1 fails" 'and the run says why'

echo 'before merge' >"$tmp/stop"
add -p web -- sh -c 'echo race >race'
stops merge
commit repo moved.race yes
unblock continue
becomes "$id" 'done'
rule 'a base that moves at the last moment is not overrun: all of it again' \
    [ "$(in_main repo race) $(in_main repo moved.race)" = 'race yes' ]
rule 'and history is still a line' [ "$(git -C repo rev-list --merges --count main)" = 0 ]

# --- conflicts -------------------------------------------------------------------------------------

add -p web -- sh -c 'echo theirs >file; echo ready; read -r _ <"$0"' "$tmp/go"
conflict=$id
appears ready "$home/runs/$id/1/out.log"
commit repo file ours
unblock go
becomes "$conflict" failed
rule 'a conflict fails the task' [ "$(value "$conflict" reason)" = merge-conflict ]
run sluice show "$conflict"
has "conflicts with 'main' in file; branch 'sluice/$conflict' is kept" 'the files are named'
rule 'the base branch is as it was' [ "$(in_main repo file)" = ours ]
rule 'the branch is kept' [ "$(git -C repo show "sluice/$conflict:file")" = theirs ]
rule 'the worktree is kept, and no rebase is left in it' \
    [ "$(git -C "$home/worktrees/$conflict" status --porcelain; cat "$home/worktrees/$conflict/file")" = theirs ]

# --- a dirty work tree -----------------------------------------------------------------------------

echo mine >>repo/file
add -p web -- sh -c 'echo apart >apart'
becomes "$id" 'done'
rule 'changes that are not in the way do not stop a merge' [ "$(cat repo/apart)" = apart ]
rule 'and are kept' [ "$(tail -n 1 repo/file)" = mine ]
add -p web -- sh -c 'echo agent >>file'
becomes "$id" failed
rule 'changes that are in the way are a conflict' [ "$(value "$id" reason)" = merge-conflict ]
run sluice show "$id"
has "'main' is checked out with changes that are in the way: file" 'which is said'
rule 'and nobody loses anything' [ "$(tail -n 1 repo/file) $(in_main repo file)" = 'mine ours' ]
git -C repo checkout -q file

# --- one at a time ---------------------------------------------------------------------------------

mkfifo hold
(flock 9; echo held >"$tmp/held"; read -r _ <"$tmp/hold") 9>repo/.git/sluice-merge.lock &
appears held "$tmp/held"
add -p web -- sh -c 'echo locked >locked'
waits_for_others() {
    run sluice show "$id"
    grep -q 'waits for another merge' "$tmp/out"
}
soon waits_for_others
has 'waits for another merge in this repository' 'a merge waits for other programs that have the lock'
unblock hold
rule 'and goes on when they are ready' becomes "$id" 'done'
for n in 1 2 3 4 5 6; do
    add -p web -- sh -c 'echo $0 >many.$0; echo $0 >>many' "$n"
    many="${many-} $id"
done
for n in 1 2 3 4 5 6; do
    add -p web -- sh -c 'echo $0 >apart.$0' "$n"
    apart="${apart-} $id"
done
ok=0
for id in $apart; do becomes "$id" 'done' && ok=$((ok + 1)); done
rule 'many merges into one branch wait for each other' [ $ok = 6 ]
settled=0
for id in $many; do
    "$SLUICE" wait "$id" >/dev/null
    [ "$(value "$id" state)" != 'done' ] || settled=$((settled + 1))
done
rule 'and each that is done is in it' [ "$(git -C repo ls-tree --name-only main | grep -c '^many\.')" = $settled ]

# --- cancel ----------------------------------------------------------------------------------------

echo 'before rebase' >"$tmp/stop"
add -p web -- sh -c 'echo never >never; echo ready; read -r _ <"$0"' "$tmp/go"
appears ready "$home/runs/$id/1/out.log"
commit repo moved again
unblock go
stops rebase
run sluice cancel "$id"
rule 'a merge that has not begun to move the base can be canceled' becomes "$id" canceled
rule 'then nothing is merged' [ -z "$(in_main repo never)" ]
finish
