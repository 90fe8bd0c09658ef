#!/bin/sh
# recording.sh: records a terminal session with fake agents as an animated SVG: tests/docs/recording.sh docs/img/first-task.svg
#
# `make docs` runs it. Every frame is a screen of tmux with the real programs. The file changes only when something other than times
# and process ids differs.
# shellcheck disable=SC1091,SC2016,SC2154 # $PWD is of the recorded shell; kit.sh sets log, root and tmp
target=$(readlink -f "$1")
. "$(dirname "$0")/kit.sh"
. "$root/tests/cli/terminal.sh"
frames=$tmp/frames
: >"$frames"
repository "$HOME/src/web"
"$SLUICE" init >/dev/null
agents_can_log
mkdir "$HOME/.claude" && echo '{"claudeAiOauth":{}}' >"$HOME/.claude/.credentials.json"
"$SLUICE" config set limiter.jitter_s=0 >/dev/null

die() {
    echo "recording: $1" >&2
    screen
    sed 's/^/    /' "$tmp/out" >&2
    exit 1
}

at_prompt() {
    screen && [ "$(sed '/^ *$/d' "$tmp/out" | tail -n 1)" = '$' ]
}

# frame SECONDS: adds the screen.
frame() {
    mux capture-pane -e -p >"$tmp/frame"
    { echo "frame $1" && cat "$tmp/frame"; } >>"$frames"
}

typed() { # COMMAND
    keys -l "$1"
    soon does_show "$1" || die "cannot type: $1"
}

scene() { # SECONDS COMMAND: types it, shows what it prints
    typed "$2"
    frame 1.2
    keys Enter
    soon at_prompt || die "does not end: $2"
    frame "$1"
}

blank() {
    keys -l clear
    keys Enter
    soon at_prompt || die 'is not blank'
}

limited() {
    [ "$("$SLUICE" limiter list --json | first state)-$(task_count starting,running)" = backoff-0 ]
}

mux new-session -d -x 100 -y 28 "cd '$HOME/src/web' && exec env TERM=xterm-256color PS1='$ ' sh"
soon at_prompt || die 'has no prompt'
scene 1 'sluice config set projects.web.path="$PWD" projects.web.workspace_mode=worktree'
scene 1.5 'sluice add --project web --agent claude "Say in the README how to run the tests."'
scene 1.2 'sluice wait web-1'
scene 2.5 'sluice diff web-1'
scene 2.5 'sluice merge web-1'
: >"$log/limit"
blank
scene 1 'sluice add --project web --agent claude "Make the tests of the parser pass."'
scene 1 'sluice add --project web --agent claude "Write the missing pages of the manual."'
soon limited || die 'the account is not limited'
scene 3 'sluice list'
blank
scene 4 'sluice why web-2'
typed '# They continue by themselves when the limit resets, in the same sessions.'
frame 5

sed -e "s,$HOME,~,g" -e 's/pid [0-9]*/pid 4711/g' "$frames" | awk -f "$root/tests/docs/recording.awk" >"$tmp/new.svg"
# Times on the screen differ from run to run.
same() {
    sed -E 's/[0-9]+(\.[0-9]+)? ?(ms|s|min|m|h|d)\b/SPAN/g; s/[0-9]{1,2}:[0-9]{2}(:[0-9]{2})?/TIME/g; s/\b[0-9a-f]{7,}\b/HASH/g' "$1"
}
[ -e "$target" ] && same "$target" >"$tmp/old" && same "$tmp/new.svg" | cmp -s - "$tmp/old" || cat "$tmp/new.svg" >"$target"
