#!/bin/sh
# Commits of a run in a sandbox are transferred when it ends: completely, once, whatever happens to run and daemon.
# shellcheck disable=SC1091,SC2016,SC2154 # kit.sh sets id, home, tmp; the shell of the run expands the rest
. "$(dirname "$0")/kit.sh"
. "$here/repository.sh"
needs bwrap
run true
mkdir "$HOME/src"
repository web
mv web "$HOME/src/web"
repo=$HOME/src/web
git config --global user.name Owner
git config --global user.email owner@localhost

config "limits: {runs: 8}
retry: {failed: {delay_s: 0, jitter: 0}}
git: {retries: 0}
agents:
  shell: {command: [sh, -c, '{prompt}'], prompt: argument, sandbox: bubblewrap}
projects:
  web: {path: '$repo', workspace_mode: worktree, merge: none}
  direct: {path: '$repo', workspace_mode: worktree, merge: direct}
  lent: {path: '$HOME/src/lent', workspace_mode: worktree, merge: direct}"
start

does() { # PROJECT SCRIPT [OPTION...]
    project=$1 script=$2
    shift 2
    add --project "$project" --agent shell --retries 0 --cwd - "$@" -- "$script"
    ends "$id"
    tree=$home/worktrees/$id
    cat "$home/runs/$id"/*/out.log "$home/runs/$id"/*/err.log >out 2>/dev/null
    code=$("$SLUICE" show --json "$id" | first exit_code)
}
of_task() {
    git -C "$repo" "$@"
}
private_is_empty() {
    [ -z "$(ls "$home/worktrees/.private" 2>/dev/null)" ]
}
# All objects of the branches exist. (Those of the index may be missing if a run has destroyed them.)
sound() {
    git -C "$repo" rev-list --objects --all >/dev/null && git -C "$repo" count-objects -v >counted && grep -q '^garbage: 0' counted
}

# --- what git does in a run --------------------------------------------------------------------------------------

does web 'for i in 1 2 3; do echo $i >file && git commit -qam "commit $i"; done'
rule 'commits are on the branch of the task' [ "$(of_task log --format=%s "sluice/$id" | head -n 3 | tr '\n' ' ')" = 'commit 3 commit 2 commit 1 ' ]
rule 'the worktree is clean for its owner' [ -z "$(git -C "$tree" status --porcelain)" ]
rule 'nothing private is left' soon private_is_empty
does web 'echo staged >a && git add a && echo later >>a'
rule 'what was added to the index can be read outside' [ "$(git -C "$tree" show :a)" = staged ]
does web 'i=0; while [ $i -lt 300 ]; do echo $i >n$i; i=$((i + 1)); done; git add . && git commit -qm many'
rule 'many objects come as a pack' [ "$(of_task ls-tree --name-only "sluice/$id" | grep -c '^n')" = 300 ]
does web 'echo x >x && git add x && git commit -qm x && git gc -q --prune=now && git pack-refs --all'
rule 'also from a store that was packed' [ "$(of_task show "sluice/$id:x")" = x ]
does web 'echo one >a && git add a && git commit -qm one && git commit -q --amend -m two && echo s >>a && git stash -q && git stash pop -q &&
    git checkout -q -b other && git checkout -q - && git branch -q -D other && git commit -qam three &&
    git tag t && git config user.name Agent && git commit -q --allow-empty -m four && git log --format=%an -1'
rule 'what people do with git works inside' [ "$code$(grep -v '^$' out)" = 0Agent ]
rule 'and its commits come out' [ "$(of_task log --format=%s "sluice/$id" | head -n 3 | tr '\n' ' ')" = 'four three two ' ]
rule 'without its tags' [ -z "$(of_task tag)" ]
of_task checkout -q -b ahead
echo ahead >"$repo/ahead"
of_task add ahead
of_task commit -qm ahead
of_task checkout -q main
does web 'echo mine >mine && git add mine && git commit -qm mine && git rebase -q ahead && git merge -q --no-ff -m both ahead; git cherry-pick --quit; git log --oneline'
rule 'it rebases onto a branch of the repository' of_task merge-base --is-ancestor ahead "sluice/$id"
does direct 'echo d >d && git add d && git commit -qm d && echo e >e'
becomes "$id" 'done'
rule 'committed or not, it is merged' [ "$(of_task show main:d)$(of_task show main:e)" = de ]

# --- where it stops ----------------------------------------------------------------------------------------------

does web 'echo x >x && git add x && git commit -qm x && exit 3'
rule 'commits of a run that failed are saved' [ "$(of_task show "sluice/$id:x")" = x ]
add --project web --agent shell --retries 1 --cwd - -- '[ -e again ] && git log --format=%s | grep -q WIP && exit 0; touch again; echo y >y; git add y; exit 1'
becomes "$id" 'done'
rule 'the next attempt goes on with them' [ "$(git -C "$home/worktrees/$id" show HEAD:y)" = y ]
does web 'git checkout -q -b away && echo x >x && git add x && git commit -qm away'
rule 'a branch of its own is not made for the owner' [ -z "$(of_task branch --list away)" ]
rule 'but its commit is kept' [ "$(git -C "$tree" log -1 --format=%s)" = away ]
git -C "$tree" symbolic-ref -q HEAD
[ $? = 1 ]
report $? 'without a branch'

mkfifo hold
add --project web --agent shell --retries 0 --cwd - -- "echo k >k && git add k && git commit -qm killed && echo ready && tail -f /dev/null"
appears ready "$home/runs/$id/1/out.log"
rule 'before the end nothing is taken over' [ "$(of_task log -1 --format=%s "sluice/$id")" != killed ]
run sluice diff "$id"
has '+k' 'sluice diff shows what a live run has committed'
kill -9 "$(pid_of_daemon)"
start
run sluice cancel "$id"
ends "$id"
rule 'a run that is stopped, by another daemon: its commits are saved' [ "$(of_task show "sluice/$id:k")" = k ]

# --- what a run may have done to it -----------------------------------------------------------------------------

for attack in 'rm -rf "$c/objects"' 'rm -rf "$c/objects" && ln -s /etc "$c/objects"' 'echo "$bad" >"$c/refs/heads/$b"' \
    'rm -rf "$c/refs" && mkfifo "$c/refs"' 'rm "$c/refs/heads/$b" && ln -s /etc/passwd "$c/refs/heads/$b"' \
    ': >"$(git rev-parse --git-dir)/HEAD"' 'mkfifo "$c/sluice.pack"' 'ln -s "$HOME/x" "$c/sluice.pack"' 'git commit -q --allow-empty -m y; echo x >"$c/config"' \
    'o=$(find "$c/objects" -type f -path "*/??/*" | head -n 1); chmod u+w "$o"; echo x >"$o"' \
    'printf "tree %s\nparent %s\n" "$bad" "$bad" | git hash-object -t commit --literally -w --stdin >"$c/refs/heads/$b"'; do
    before=$(of_task for-each-ref | grep -v sluice/)
    does web 'c=$(git rev-parse --git-common-dir) b=$(git symbolic-ref --short HEAD) bad=0123456789012345678901234567890123456789
        echo x >x && git add x && git commit -qm x; '"$attack" --timeout 30
    [ "$before" = "$(of_task for-each-ref | grep -v sluice/)" ] && sound && [ ! -e "$HOME/x" ]
    report $? "the repository is sound after: $(echo "$attack" | tr '\n' ' ')"
done
run sluice status
exits 0 'and the daemon answers'
"$SLUICE" list --ids --all | while read -r task; do "$SLUICE" remove --force "$task"; done >/dev/null 2>&1

# --- repositories that borrow objects --------------------------------------------------------------------------

git clone -q --shared "$repo" "$HOME/src/lent"
echo ../../../web/.git/objects >"$HOME/src/lent/.git/objects/info/alternates"
does lent 'git log --oneline | head -n 1 && echo lent >lent && git add lent && git commit -qm lent'
becomes "$id" 'done'
rule 'a clone that borrows objects, by a relative path' [ "$(git -C "$HOME/src/lent" show main:lent)" = lent ]
finish
