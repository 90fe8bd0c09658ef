#!/bin/sh
# Real agents repair a merge conflict: the second iteration continues the same conversation, and its work is merged.
# shellcheck disable=SC1091,SC2154 # the kits set id, work, accounts, tmp
. "$(dirname "$0")/kit.sh"
. "$root/tests/daemon/repository.sh"
service ok
mkdir -p "$HOME/src"
repository web
mv "$tmp/web" "$HOME/src/web"
repo=$HOME/src/web
ln -s "$repo" "$tmp/web"
config "$accounts
projects:
  web: {path: '$repo', workspace_mode: worktree, merge: direct, on_conflict: iterate}"
start

is_changed() {
    [ "$(cat "$home/worktrees/$id/file" 2>/dev/null)" = "$agent" ]
}
for agent in claude codex; do
    : >"$stub/requests"
    scenes "tool mkfifo go; echo $agent >file; cat go; rm go" 'ok Changed.' \
        "tool { echo $agent; echo theirs of $agent; } >file" 'ok Resolved.'
    add --project web --agent $agent --cwd - --title "changed by $agent" "Change the file, $agent."
    rule "$agent: it works" soon is_changed
    commit web file "theirs of $agent"
    unblock "$home/worktrees/$id/go"
    rule "$agent: the task is done" becomes "$id" 'done'
    rule "$agent: both changes are in the base branch" [ "$(in_main web file)" = "$agent
theirs of $agent" ]
    rule "$agent: history stays a line" [ "$(git -C "$repo" rev-list --merges --count main)" = 0 ]
    rule "$agent: the first run conflicts, the second repairs that" [ "$(of "$id" "[run['outcome'] for run in t['runs']]")" = "['conflict', 'ok']" ]
    rule "$agent: in the same session" [ "$(of "$id" "len({run['session'] for run in t['runs']})")" = 1 ]
    rule "$agent: the provider got task and conflict in one conversation" \
        [ "$(asked "'Change the file, $agent.' in r[-1]['prompt'] and 'conflicts with the branch' in r[-1]['prompt'] and r[-1]['turns'] > r[1]['turns']")" = True ]
    rule "$agent: it was told which commits conflict" [ "$(asked "'file: theirs of $agent' in r[-1]['prompt']")" = True ]
    rule "$agent: every token is booked once" [ "$(booked "$id" in) $(booked "$id" out)" = "$(charged in) $(charged out)" ]
done

# A failed check goes to the same conversation, too.
for agent in claude codex; do
    : >"$stub/requests"
    scenes 'ok All good.' "tool echo yes >good.$agent" 'ok Now it is.'
    add --project web --agent $agent --cwd - --until validate --check "test -e good.$agent || { echo it is not good; exit 1; }" "Make it good, $agent."
    rule "$agent: a failed check is repaired" becomes "$id" 'done'
    rule "$agent: in the same session" [ "$(of "$id" "(len(t['runs']), len({run['session'] for run in t['runs']}))")" = '(2, 1)' ]
    rule "$agent: the provider got task and output of the check in one conversation" \
        [ "$(asked "'Make it good, $agent.' in r[-1]['prompt'] and 'it is not good' in r[-1]['prompt'] and r[-1]['turns'] > r[0]['turns']")" = True ]
    rule "$agent: every token is booked once" [ "$(booked "$id" in) $(booked "$id" out)" = "$(charged in) $(charged out)" ]
done
finish
