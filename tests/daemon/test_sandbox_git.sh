#!/bin/sh
# Repositories and sandboxes: work is committed and merged, and settings, hooks and other branches are not changed.
# shellcheck disable=SC1091,SC2016,SC2154 # kit.sh sets id, home, tmp; the shell of the run expands the rest
. "$(dirname "$0")/kit.sh"
. "$here/repository.sh"
needs bwrap
run true
mkdir "$HOME/src"
repository web
mv web "$HOME/src/web" # where the run sees nothing else
repo=$HOME/src/web
ln -s "$repo" web
git config --global user.name Owner
git config --global user.email owner@localhost

config "limits: {runs: 8}
agents:
  shell: {command: [sh, -c, '{prompt}'], prompt: argument, sandbox: bubblewrap}
  open: {command: [sh, -c, '{prompt}'], prompt: argument, sandbox: none}
  reader: {command: [sh, -c, '{prompt}'], prompt: argument, sandbox: bubblewrap, sandbox_read: [~/private]}
  owner: {command: [sh, -c, '{prompt}'], prompt: argument, sandbox: bubblewrap, sandbox_write: [.git]}
projects:
  web: {path: '$repo', workspace_mode: worktree, merge: direct}
  plain: {path: '$repo'}
  part: {path: '$repo/part'}"
start

does() { # PROJECT AGENT SCRIPT
    add --project "$1" --agent "$2" --retries 0 --cwd - -- "$3"
    ends "$id"
    cat "$home/runs/$id"/*/out.log "$home/runs/$id"/*/err.log >out 2>/dev/null
    code=$("$SLUICE" show --json "$id" | first exit_code)
}

# --- a worktree ------------------------------------------------------------------------------------------------

does web shell 'echo one >one && git add one && git commit -qm one && git log --oneline | head -n 3 && git status'
exits 0 'a run commits in its worktree'
becomes "$id" 'done'
rule 'and its work is merged' [ "$(in_main web one)" = one ]
does web shell 'echo two >two'
becomes "$id" 'done'
rule 'work that it has not committed, too' [ "$(in_main web two)" = two ]
does web shell 'git diff HEAD~1 --stat && git show HEAD:file'
exits 0 'it reads the history'

# What a run must not change: settings, hooks, branches, objects, and how its worktree is tied to the repository.
shape() {
    (
        cd "$repo/.git" && cat config HEAD objects/info/alternates packed-refs 2>/dev/null
        ls hooks objects/pack
        cksum "$loose"
        git for-each-ref --format='%(refname) %(objectname)'
    )
    git -C "$repo" status --porcelain
}
# Worktrees and branches of tasks that are done are removed after their end.
settled() {
    [ -z "$(git -C "$repo" for-each-ref refs/heads/sluice)" ] && [ "$(git -C "$repo" worktree list | wc -l)" = 1 ]
}
# WHAT SCRIPT: asserts that it changes the repository without a sandbox, and not in one.
held() {
    soon settled
    blob=$(echo "loose, for: $1" | git -C "$repo" hash-object -w --stdin)
    loose=objects/$(printf %.2s "$blob")/${blob#??}
    cp -r "$repo" before
    shape >expected
    add --project web --agent open --retries 0 --cwd - --merge none --env "loose=$loose" -- "$common$2"
    ends "$id"
    git -C "$repo" worktree remove --force --force "$home/worktrees/$id" 2>/dev/null
    git -C "$repo" update-ref -d "refs/heads/sluice/$id" 2>/dev/null
    shape >found
    rule "$1: possible without a sandbox" not cmp -s expected found
    rm -rf "$repo" && mv before "$repo"
    add --project web --agent shell --retries 0 --cwd - --merge none --env "loose=$loose" -- "$common$2"
    ends "$id"
    git -C "$repo" worktree remove --force --force "$home/worktrees/$id"
    git -C "$repo" update-ref -d "refs/heads/sluice/$id"
    shape >found
    diff expected found | sed 's/^/# /'
    rule "$1: held in a sandbox" cmp -s expected found
}
common='c=$(git rev-parse --git-common-dir); '
held 'adding a hook' 'echo x >"$c/hooks/post-commit"'
held 'changing the settings' 'git config core.fsmonitor evil; echo "[alias] x = !evil" >>"$c/config"'
held 'moving a branch' 'git commit -q --allow-empty -m x; git update-ref refs/heads/other HEAD'
held 'moving the base' 'git commit -q --allow-empty -m x; git update-ref refs/heads/main HEAD'
held 'moving the branch of another task' 'git commit -q --allow-empty -m x; git update-ref refs/heads/sluice/web-1 HEAD'
held 'making a tag' 'git tag evil'
held 'removing objects' 'rm -f "$c/$loose"'
held 'removing all of them' 'rm -rf "$c"/objects/??'
held 'adding to the packs' 'mkdir -p "$c/objects/pack/x"'
held 'using objects of another place' 'mkdir -p "$c/objects/info"; echo /tmp >"$c/objects/info/alternates"'
held 'packing the branches' 'git pack-refs --all'
held 'leaving by the file HEAD' 'echo "ref: refs/heads/evil" >"$c/HEAD"'
does web open "echo x >$repo/extra"
rule 'changing the checkout: possible without a sandbox' [ -e "$repo/extra" ]
rm -f "$repo/extra"
does web shell "echo x >$repo/extra"
rule 'changing the checkout: held in a sandbox' [ ! -e "$repo/extra" ]

# The git folder of the worktree has three files that affect git outside of the sandbox.
tied() {
    does web open "$2"
    exits 0 "$1: possible without a sandbox"
    git -C "$repo" worktree prune
    does web shell "$2"
    rule "$1: held in a sandbox" [ "$code" != 0 ]
}
tied 'belonging to another repository' 'cp .git other && mv other .git'
tied 'the same from the other side' 'g=$(git rev-parse --git-dir) && cp "$g/commondir" "$g/x" && mv "$g/x" "$g/commondir"'
tied 'settings of the worktree' 'g=$(git rev-parse --git-dir) && rm -f "$g/config.worktree" && echo x >"$g/config.worktree" && rm "$g/config.worktree"'

# --- a checkout -----------------------------------------------------------------------------------------------------

does plain shell 'git log -1 && git status && echo x >changed'
exits 0 'in a checkout a run reads the repository and changes files'
rule 'which stay' [ -s "$repo/changed" ]
rm "$repo/changed"
does plain shell 'touch .git/x'
rule 'but nothing of .git' [ "$code" != 0 ]
does plain shell 'mv .git moved'
rule 'nor does it put another one in its place' [ "$code" != 0 ]
does plain owner 'echo x >own && git add own && git commit -qm own'
exits 0 'unless a setting says so'
# A folder that is no repository yet: a run leaves what would show the next one the rest of the home directory.
mkdir -p "$HOME/private/worktrees/x" "$tmp/fresh"
echo secret-file | tee "$HOME/private/a" >"$HOME/private/worktrees/x/a"
next() { # SCRIPT: it, and then a run that looks
    add --agent shell --retries 0 --cwd "$tmp/fresh" -- "$1"
    ends "$id"
    add --agent shell --retries 0 --cwd "$tmp/fresh" -- "cat $HOME/private/a $HOME/private/worktrees/x/a"
    ends "$id"
    rm -rf "$tmp/fresh/.git"
}
add --agent reader --retries 0 --cwd "$tmp/fresh" -- "cat $HOME/private/a"
ends "$id"
rule 'where it is shown, it is read' grep -q secret-file "$home/runs/$id/1/out.log"
next "echo 'gitdir: $HOME/private/worktrees/x' >.git"
rule 'a .git file that a run writes shows nothing' not grep -q secret-file "$home/runs/$id/1/out.log"
next "mkdir -p .git/objects/info .git/refs && echo 'ref: refs/heads/main' >.git/HEAD && echo $HOME/private >.git/objects/info/alternates"
rule 'nor a repository that it makes' not grep -q secret-file "$home/runs/$id/1/out.log"
next "ln -s $HOME/private .git"
rule 'nor a link' not grep -q secret-file "$home/runs/$id/1/out.log"
git -C "$repo" worktree add -q --detach "$tmp/linked"
add --agent shell --retries 0 --cwd "$tmp/linked" -- 'git log -1 --format=%s'
ends "$id"
rule 'a worktree of the owner is known by its repository' grep -q . "$home/runs/$id/1/out.log"
git -C "$repo" worktree remove "$tmp/linked"

mkdir -p "$repo/part"
does part shell 'git status --short && echo x >a && ! echo x 2>/dev/null >../file'
exits 0 'in a folder of a checkout it changes that folder alone'
rm -r "$repo/part"
finish
