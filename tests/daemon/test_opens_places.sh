#!/bin/sh
# Hostile objects in place of files of workspaces and of the owner: the daemon responds, restarts, and names the file in its
# message.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"
. "$here/odd.sh"
. "$here/repository.sh"

repository repo
repository clone
mkdir plain
config "limits: {runs: 20}
retry: {failed: {max: 1, delay_s: 0, jitter: 0}, lost: {delay_s: 0}, launch: {delay_s: 0}, unfinished: {delay_s: 0}}
breaker: {max: 1, reset_s: never}
git: {retries: 0, retry_s: 0.1}
host: {disk_free_gb: 0}
agents:
  pen: {command: [sh, -c, 'cat >$tmp/told; . $tmp/attack'], prompt: stdin}
projects:
  pen:
  pool: {workspace_paths: [$tmp/plain]}
  cloned: {workspace_paths: [$tmp/clone]}
  web: {path: $tmp/repo, workspace_mode: worktree, merge: direct}"
start

# --- workspaces --------------------------------------------------------------------------------------

git_file() { # KIND: a run replaces .git of its worktree by it
    add -p web -- sh -c "echo x >x; rm -rf .git; $tmp/odd $1 \"\$PWD/.git\""
    settles
    placed ".git is a $1"
    answers ".git is a $1"
    rule ".git is a $1: the task fails" [ "$(value "$id" state)" != 'done' ]
    names ".git" ".git is a $1: it says so"
    run sluice diff "$id"
    answers ".git is a $1, and somebody asks for the diff"
}
for kind in fifo link-fifo link-zero socket folder sparse; do
    git_file "$kind"
done
restarts '.git of worktrees is not a file'
answers '.git of worktrees is not a file'

for kind in fifo link-fifo link-zero socket folder sparse; do
    add -p web -- sh -c "echo $kind >$kind; $tmp/odd $kind $home/worktrees/\$SLUICE_TASK.json"
    settles
    placed "the record of a worktree is a $kind"
    answers "the record of a worktree is a $kind"
    restarts "the record of a worktree is a $kind"
    rm -rf "$home/worktrees/$id.json"
done

for kind in fifo link-fifo link-zero socket folder sparse; do
    add -p web -- sh -c "echo $kind >$kind; $tmp/odd $kind $home/tasks/\$SLUICE_TASK/diff.json"
    settles
    placed "diff.json is a $kind"
    answers "diff.json is a $kind"
    disappears "$home/worktrees/$id.json" # while it exists, the files are compared instead of the record
    rm -rf "$home/tasks/$id/diff.json"
    "$ODD_FILE" "$kind" "$home/tasks/$id/diff.json"
    run sluice diff "$id"
    [ $kind = sparse ] || complains "diff.json' is a" "diff.json is a $kind: 'diff' says so"
    answers "diff.json is a $kind that is asked for"
    rm -rf "$home/tasks/$id/diff.json"
done

for kind in fifo link-fifo link-zero socket folder; do
    "$ODD_FILE" "$kind" "$tmp/repo/.git/sluice-merge.lock"
    add -p web -- sh -c "echo $kind merge >$kind"
    settles
    answers "sluice-merge.lock is a $kind"
    names "sluice-merge.lock' is" "sluice-merge.lock is a $kind: the merge fails, and says so"
    rm -rf repo/.git/sluice-merge.lock*
done

# Stands for a file of another user: the owner removes his own permission.
for kind in fifo link-fifo link-zero socket folder; do
    "$ODD_FILE" "$kind" "$tmp/plain/.sluice-workspace.lock"
    chmod a-w plain/.sluice-workspace.lock* 2>/dev/null
    add -p pool -- true
    settles
    answers ".sluice-workspace.lock is a $kind"
    names ".sluice-workspace.lock' is" ".sluice-workspace.lock is a $kind: the launch fails, and says so"
    chmod -R u+w plain
    rm -rf plain/.sluice-workspace.lock*
done
# It may name a run of another home, whose lock the daemon then requests.
mkdir -p others/x/1
"$ODD_FILE" fifo others/x/1/lock
printf '%s\n' "$tmp/others" x/1 >plain/.sluice-workspace.lock
add -p pool -- true
settles
answers 'a claim names a run whose lock is a FIFO'
rm -f plain/.sluice-workspace.lock

for kind in fifo link-fifo socket; do
    mv clone/.git clone/git
    "$ODD_FILE" "$kind" "$tmp/clone/.git"
    add -p cloned -- true
    settles
    answers ".git of a path is a $kind"
    names "clone/.git' is a" ".git of a path is a $kind: the launch fails, and says so"
    rm -f clone/.git*
    mv clone/git clone/.git
done

# --- the owner's files ----------------------------------------------------------------------------------

cp "$home/sluice.yaml" kept.yaml
for kind in fifo link-fifo link-zero socket folder; do
    rm -f "$home/sluice.yaml"
    "$ODD_FILE" "$kind" "$home/sluice.yaml"
    run sluice config set limits.runs=21
    complains "sluice.yaml' is a" "sluice.yaml is a $kind: 'config set' says so"
    answers "sluice.yaml is a $kind"
    stop_hard
    run sluice up
    complains "sluice.yaml' is a" "sluice.yaml is a $kind: 'up' says so"
    rm -rf "$home/sluice.yaml"*
    cp kept.yaml "$home/sluice.yaml"
    run sluice up
    exits 0 "sluice.yaml is a file again: the daemon starts"
done
mv kept.yaml yaml
ln -s "$tmp/yaml" kept.yaml
rm "$home/sluice.yaml"
ln -s "$tmp/kept.yaml" "$home/sluice.yaml"
run sluice config set limits.runs=21
exits 0 'sluice.yaml may be a link to a file'
rule 'and stays one' [ -L "$home/sluice.yaml" ]

stop_hard
rm "$home/sluice.log"
"$ODD_FILE" fifo "$home/sluice.log"
run sluice up
exits 0 'sluice.log is a FIFO: the daemon starts'
rule 'sluice.log is a FIFO: it says so' grep -q "sluice.log' is a FIFO" err
answers 'sluice.log is a FIFO'
rm "$home/sluice.log"
stop_hard
rm "$home/sluice.lock"
"$ODD_FILE" fifo "$home/sluice.lock"
run sluice up
complains "sluice.lock' is a FIFO" 'sluice.lock is a FIFO: it says so'
rm "$home/sluice.lock"
start

# --- the owner's links ----------------------------------------------------------------------------------

timeout "$patience" "$SLUICE" down --wait >/dev/null 2>&1
mkdir "$tmp/elsewhere"
mv "$home/tasks" "$tmp/elsewhere/tasks"
ln -s "$tmp/elsewhere/tasks" "$home/tasks"
ln -s "$home" "$tmp/way"
SLUICE_HOME=$tmp/way
start
attack ''
add -p pen --agent pen --until validate --check 'test $SLUICE_ITERATION = 2' 'do it'
rule 'a home, and a folder in it, may be links of the owner' becomes "$id" 'done'
rule 'the next iteration has its feedback' grep -q 'The check' told
run sluice bus post --project pen 'hello'
exits 0 'messages, too'
timeout "$patience" "$SLUICE" down --wait >/dev/null 2>&1
SLUICE_HOME=$home

# --- a folder of data -----------------------------------------------------------------------------------

cat kept.yaml >with.yaml
echo "data: {folder: $tmp/data}" >>with.yaml
rm "$home/sluice.yaml"
cp with.yaml "$home/sluice.yaml"
for file in .sluice-data .sluice-lock; do
    mkdir -m 700 data
    "$ODD_FILE" fifo "$tmp/data/$file"
    run sluice up
    complains "$file' is a FIFO" "$file is a FIFO: 'up' says so"
    rm -rf data
done
start
answers 'the folder of data is in order again'
finish
