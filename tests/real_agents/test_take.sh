#!/bin/sh
# Real agents at a terminal (tmux): a person takes a running task over, talks to the agent in the same conversation, and
# gives it back.
# shellcheck disable=SC1091,SC2154 # kit.sh sets id, tmp, work, accounts
. "$(dirname "$0")/kit.sh"
needs tmux git
LC_ALL=C.UTF-8
export LC_ALL
unset TMUX
mux() {
    tmux -S "$tmp/mux" -f /dev/null -u "$@"
}
trap 'mux kill-server 2>/dev/null; stop_daemon; [ -z "$stub_pid" ] || kill "$stub_pid" 2>/dev/null; rm -rf "$tmp"' EXIT

service ok
# As on the machine of a person who has used them in this repository: no questions about a theme, a renderer or trust.
cat >"$HOME/.claude.json" <<END
{"hasCompletedOnboarding": true, "theme": "dark", "fullscreenUpsellSeenCount": 9,
 "projects": {"$work": {"hasTrustDialogAccepted": true}}}
END
printf '[projects."%s"]\ntrust_level = "trusted"\n' "$work" >>"$HOME/.codex/config.toml"
git init -q -b main "$work"
git -C "$work" config user.name Test
git -C "$work" config user.email test@localhost
: >"$work/$wait_for" # in the repository: a sandbox shows the worktree, and perhaps not what is beside it
git -C "$work" add .
git -C "$work" commit -q -m begin
config "$accounts
projects: {web: {path: '$work', workspace_mode: worktree}}"
start

# A server without sessions ends, and a session that is opened meanwhile is lost: this one stays.
mux new-session -d -s keeper 'exec tail -f /dev/null'

begun() { [ -n "$(tools)" ]; }
opens() { # ID: in a terminal of its own; a file changes with each output, for `soon`
    mux new-session -d -s take -x 120 -y 40 "'$SLUICE' take $1; echo \"take: exit code \$?\"; exec tail -f /dev/null"
    mux pipe-pane -t take "cat >'$tmp/screen.bytes'"
}
sees() {
    mux capture-pane -t take -p >"$tmp/out" 2>"$tmp/err" && grep -qF -e "$1" "$tmp/out"
}
# A key that comes before the program reads is lost: type until the text is there.
types() { # TEXT
    mux send-keys -t take -l "$1" && soon sees "$1" && mux send-keys -t take Enter
}
was_asked() { # PYTHON
    [ "$(asked "any($1 for x in r)")" = True ]
}

for agent in claude codex; do
    : >"$stub/requests"
    scenes "tool tail -f $wait_for" 'ok The window is painted.' 'ok The roof is painted.'
    add --agent $agent --project web --cwd - "Paint the door, $agent."
    rule "$agent: the task works" soon begun
    # Agents write their conversations to a file a moment later.
    soon grep -rqsF "Paint the door, $agent." "$HOME/.claude/projects" "$HOME/.codex/sessions"
    opens "$id"
    rule "$agent: its terminal shows the conversation so far" soon sees "Paint the door, $agent."
    rule "$agent: the command of the run was ended" no_tools
    types "Now the window, $agent."
    rule "$agent: it answers there" soon sees 'The window is painted.'
    rule "$agent: the provider got task and message in one conversation" \
        was_asked "'Paint the door, $agent.' in x.get('prompt', '') and 'Now the window, $agent.' in x['prompt'] and x['turns'] >= 1"
    rule "$agent: in the worktree" sees "worktrees/$id"
    case $agent in
    claude) types /exit ;;
    codex) mux send-keys -t take C-d ;;
    esac
    rule "$agent: when it has ended, the person chooses" soon sees '[d/c/H]'
    types c
    rule "$agent: continue" soon sees 'take: exit code 0'
    rule "$agent: it goes on unattended, and is done" becomes "$id" 'done'
    rule "$agent: in the same session" [ "$(of "$id" "len({run['session'] for run in t['runs']})")" = 1 ]
    rule "$agent: each run in a sandbox" boxed "$id"
    rule "$agent: the provider got everything in one conversation" \
        [ "$(asked "'Paint the door, $agent.' in r[-1]['prompt'] and 'Now the window, $agent.' in r[-1]['prompt'] and r[-1]['turns'] >= 2")" = True ]
    mux kill-session -t take
done
finish
