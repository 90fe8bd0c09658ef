#!/bin/sh
# Conflicts of a run in a sandbox: git merges in that sandbox, and the repaired work comes out of it.
# shellcheck disable=SC1091,SC2016,SC2154 # kit.sh sets id, home, tmp; the shell of the run expands the rest
. "$(dirname "$0")/kit.sh"
. "$here/repository.sh"
needs bwrap
run true
mkdir "$HOME/src"
repository web
mv web "$HOME/src/web"
repo=$HOME/src/web
ln -s "$repo" "$tmp/web"
git config --global user.name Owner
git config --global user.email owner@localhost

config "limits: {runs: 8}
retry: {failed: {max: 0}, unfinished: {max: 2, delay_s: 0}}
runaway: {pause_s: 0}
git: {retries: 0}
agents:
  shell: {command: [sh, -c, '{prompt}'], prompt: argument, sandbox: bubblewrap}
projects:
  web: {path: '$repo', workspace_mode: worktree, merge: direct, on_conflict: iterate}
loop: {feedback: file}"
start

# The first iteration waits in its worktree until main has changed. It sees no file of the test but that.
conflicting() { # MAIN'S TEXT SCRIPT OF THE SECOND ITERATION
    add --project web --agent shell --cwd - -- \
        "[ \$SLUICE_ITERATION = 1 ] || { $2; exit; }; echo mine >file; echo new >new.\$SLUICE_TASK; git add .; git commit -qm mine; mkfifo go; echo ready; cat go; rm go"
    appears ready "$home/runs/$id/1/out.log"
    commit web file "$1"
    unblock "$home/worktrees/$id/go"
}
# Waited for: while a worktree or a branch is being removed, git complains about it. Damage stays.
sound() {
    git -C "$repo" rev-list --objects --all >/dev/null && [ -z "$(git -C "$repo" fsck --no-dangling --no-progress 2>&1)" ]
}
private_is_empty() {
    [ -z "$(ls "$home/worktrees/.private" 2>/dev/null)" ]
}

conflicting one '{ echo mine; git show MERGE_HEAD:file; } >file; cat "$SLUICE_FEEDBACK"'
becomes "$id" 'done'
rule 'a run that only edits files repairs a conflict' [ "$(in_main web file)" = "mine
one" ]
rule 'with all of its work' [ "$(in_main web "new.$id")" = new ]
rule 'it was told about it' grep -qxF -e '- file' "$home/runs/$id/2/out.log"
rule 'history stays a line' [ "$(git -C "$repo" rev-list --merges --count main)" = 0 ]
rule 'nothing private is left' soon private_is_empty
rule 'the repository is sound' soon sound

conflicting two '{ echo mine; git show MERGE_HEAD:file; } >file; git add file; git commit -qm resolved; echo later >later'
becomes "$id" 'done'
rule 'so does one that commits' [ "$(in_main web file)$(in_main web later)" = "mine
twolater" ]
rule 'history stays a line' [ "$(git -C "$repo" rev-list --merges --count main)" = 0 ]

conflicting three 'git merge --abort'
becomes "$id" failed
rule 'one that undoes the merge loses nothing' [ "$(git -C "$repo" show "sluice/$id:file")" = mine ]
rule 'and fails when its iterations are spent' [ "$(value "$id" attempt) $(value "$id" reason)" = '3 merge-conflict' ]
rule 'the repository is sound' soon sound

# Git is in the sandbox: a merge driver of the owner's configuration cannot leave it.
git -C "$repo" config merge.spy.driver "echo out >$tmp/escaped; false"
echo 'file merge=spy' >"$repo/.git/info/attributes"
conflicting four 'echo repaired >file'
becomes "$id" 'done'
rule 'a merge driver runs in the sandbox' [ ! -e "$tmp/escaped" ]
rule 'the conflict is repaired' [ "$(in_main web file)" = repaired ]
rm "$repo/.git/info/attributes"

# A rebase that fails without a conflict.
git -C "$repo" config filter.broken.smudge 'echo the filter is broken >&2; false'
git -C "$repo" config filter.broken.clean cat
git -C "$repo" config filter.broken.required true
add --project web --agent shell --cwd - -- 'echo other >other; mkfifo go; echo ready; cat go; rm go'
appears ready "$home/runs/$id/1/out.log"
echo 'filtered filter=broken' >"$repo/.gitattributes"
git -C "$repo" add .gitattributes
commit web filtered text
unblock "$home/worktrees/$id/go"
becomes "$id" failed
rule 'it is not taken for a conflict' [ "$(value "$id" reason)" = merge-failed ]
run sluice show "$id"
has 'not merged, tried 1 time: git rebase: ' 'and its message is kept'
has 'filtered: smudge filter broken failed' 'which says what failed'
finish
