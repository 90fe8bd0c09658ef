#!/bin/sh
# The first change in a worktree, with the real agents: one commits, one cannot; a third says that it has, and has changed nothing.
# All of it can be seen, and merged with one command.
# shellcheck disable=SC1091,SC2154 # the kits set id, work, accounts, tmp
. "$(dirname "$0")/kit.sh"
. "$root/tests/daemon/repository.sh"
service ok
mkdir -p "$HOME/src"
repository web
mv "$tmp/web" "$HOME/src/web"
repo=$HOME/src/web
config "$accounts
projects:
  web: {path: '$repo', workspace_mode: worktree}"
start

for agent in claude codex; do
    scenes "tool echo $agent >made-$agent; git add . && git commit -qm made" 'ok Committed.'
    add --project web --agent $agent --cwd - --title "made by $agent" 'Make a file, and commit it.'
    rule "$agent: the task is done" becomes "$id" 'done'
    rule "$agent: its work is on its branch, whether it could commit or not" [ "$(git -C "$repo" show "sluice/$id:made-$agent")" = $agent ]
    rule "$agent: its last message is kept" [ "$(of "$id" "t['runs'][0]['message']")" = Committed. ]
    rule "$agent: what it changed is counted" [ "$(of "$id" "t['changes']['files']")" = 1 ]
    run sluice merge "$id"
    exits 0 "$agent: merge"
    rule "$agent: its work is merged" [ "$(git -C "$repo" show "main:made-$agent")" = $agent ]

    scenes 'ok Committed.'
    add --project web --agent $agent --cwd - 'Make a file, and commit it.'
    becomes "$id" 'done'
    rule "$agent: a task that has changed nothing says so" \
        [ "$(of "$id" "t['runs'][0]['message']")" = 'no changes; it reported: Committed.' ]
    rule "$agent: also as a number" [ "$(of "$id" "t['changes']['files']")" = 0 ]
done
finish
