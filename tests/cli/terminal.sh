# terminal.sh: a terminal for tests of full-screen programs: tmux with a server of its own. Source it after daemon.sh.
#
#   mux ARGS...              runs tmux
#   keys KEY...              types keys, by their names in tmux; -l types a text
#   shows TEXT 'what'        waits until the screen has the text
#   hides TEXT 'what'        waits until the screen no longer has the text
#   click COLUMN LINE        presses the left button; places count from 1. The program needs TERM=xterm-256color
#   wheel up|down COLUMN LINE
#   screen                   writes the screen into $tmp/out
# shellcheck shell=sh disable=SC2154 # lib.sh sets tmp

needs tmux
LC_ALL=C.UTF-8
PS1='ready> '
export LC_ALL PS1
unset TMUX ENV

mux() {
    tmux -S "$tmp/mux" -f /dev/null -u "$@"
}
trap 'mux kill-server 2>/dev/null; stop_daemon; rm -rf "$tmp"' EXIT

keys() {
    mux send-keys "$@"
}

screen() {
    mux capture-pane -p >"$tmp/out" 2>"$tmp/err"
}

does_show() {
    screen && grep -qF -e "$1" "$tmp/out"
}

does_not_show() {
    screen && ! grep -qF -e "$1" "$tmp/out"
}

shows() {
    rule "$2" soon does_show "$1"
}

hides() {
    rule "$2" soon does_not_show "$1"
}

# As an xterm reports it: ESC [ < BUTTON ; COLUMN ; LINE M, and m when the button is released.
mouse() { # BUTTON COLUMN LINE END
    mux send-keys -l "$(printf '\033[<%d;%d;%d%s' "$1" "$2" "$3" "$4")"
}

click() {
    mouse 0 "$1" "$2" M
    mouse 0 "$1" "$2" m
}

wheel() {
    if [ "$1" = up ]; then mouse 64 "$2" "$3" M; else mouse 65 "$2" "$3" M; fi
}
