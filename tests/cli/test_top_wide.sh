#!/bin/sh
# sluice top on a wide terminal: the task and its live log beside the list, dollars, the mouse, sorting.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # lib.sh and daemon.sh set home, id, root and tmp; dollars are dollars
. "$(dirname "$0")/lib.sh"
. "$here/daemon.sh"
. "$here/terminal.sh"

# An agent that prints what Claude Code prints, and continues when the test writes to a pipe.
cat >agent.sh <<'END'
cat >/dev/null
printf '{"type":"system","subtype":"init","session_id":"%s"}\n' "$SLUICE_SESSION"
printf '{"type":"assistant","message":{"content":[{"type":"text","text":"I read the parser."},{"type":"tool_use","id":"t","name":"Bash","input":{"command":"make test"}}]}}\n'
"$BIN" report --tokens-in 9000 --tokens-out 1000 --cost 0.25
cat go
printf '{"type":"assistant","message":{"content":[{"type":"text","text":"%s"}]}}\n' 'Now it is fast.'
exec tail -f /dev/null
END
mkfifo go
config "limits: {runs: 3}
budget_usd: 20
projects: {web: {prefix: web}, api: {prefix: api}}
agents:
  claude: {command: [sh, $tmp/agent.sh], adapter: claude}"
start
mux new-session -d -x 10 -y 5 cat # keeps tmux between the sessions below
add --project web --agent claude --title "$(printf 'live agent \346\227\245\346\234\254')" --cwd "$tmp" -e "BIN=$SLUICE" --prompt 'make it fast'
becomes web-1 running
add --project api --title 'plain command' -- sh -c 'seq -f "row %g" 200; exec tail -f /dev/null'
becomes api-2 running
add --project web --title 'cheap one' -- sh -c "'$SLUICE' report --cost 1.5; exec tail -f /dev/null"
becomes web-3 running
add --project web --title 'waits for a slot' -- true

mux new-session -d -s top -x 200 -y 60 "TERM=xterm-256color '$SLUICE' top"
mux set-option -g remain-on-exit on
shows '│web-1  output  (following)' 'the log of the selected task is beside the list'
shows 'I read the parser.' 'as a transcript'
hides '"type"' 'without its JSON'
shows 'web-1  why, and its runs' 'below the list is the task'
shows 'run 1  working' 'with its runs'
shows '$0.25  live agent 日本' 'the dollars of a task'
shows '$0.00 of $20.00 + ' 'and of all, live runs apart'
rule 'wide characters keep the columns' grep -q '^▶  web-1 .*live agent 日本 *│' out
echo go on >go
shows 'Now it is fast.' 'the log goes on by itself'

keys Down
shows '│api-2  output  (following)' 'another row: its log'
shows 'row 199' 'its end is shown'
keys K
shows '(f follows)' 'K scrolls the log'
hides 'row 199' 'away from its end'
keys J J J
shows 'row 199' 'J goes back'
shows 'api-2  why, and its runs' 'and why'
hides 'Now it is fast.' 'the other log is gone'
keys 2
shows '│it has not run yet' 'a task without a run says so'
rule 'and what stops it' soon does_show '✗ lease:runs closed'
rule 'the gates that are open share a line' soon does_show '✓ open: paused, project'
keys 1

# Columns 1 to 109 are the list: tabs in line 4, titles in line 5, rows below.
click 10 6
shows '│web-1  output' 'a click selects a row'
wheel up 150 20
wheel up 150 20
click 10 7
shows '│api-2  output  (following)' 'another one'
shows 'row 199' 'its log'
wheel up 150 20
shows '(f follows)' 'the wheel scrolls the log'
wheel down 150 20
shows '(following)' 'and follows it again at its end'
column=$(awk 'NR == 5 { print index($0, "PROJECT") }' out)
click "$column" 5
shows 'PROJECT▲' 'a click on a title sorts by it'
sorted_is() { # ID...: of the first rows
    screen && [ "$(sed -n "6,$((5 + $#))p" out | awk '{ printf "%s ", $2 }')" = "$* " ]
}
rule 'api comes first' soon sorted_is api-2 web-1 web-3
click "$column" 5
shows 'PROJECT▼' 'another click reverses it'
rule 'web comes first' soon sorted_is web-1 web-3 api-2
keys '<' '<'
hides '▼' 'the first column, and then the order of the daemon'
rule 'oldest first' soon sorted_is web-1 api-2 web-3
keys s
shows 'newest first' 's: the other order'
keys s '>' '>' '>' '>' '>' '>'
shows 'COST▲' '>: by cost'
rule 'the cheapest first, unknown ones last' soon sorted_is web-1 web-3 api-2
keys R
rule 'R: the dearest first, unknown ones still last' soon sorted_is web-3 web-1 api-2
click 16 4
shows '[ready 1]' 'a click on a pane opens it'
keys 1 s s
shows '│web-1  output' 'and back'

mux resize-window -x 80 -y 24
hides '│' '80x24: only the list'
shows 'live agent 日本' 'with its titles'
wheel down 10 8
wheel up 10 8
mux resize-window -x 139 -y 40
hides '│' '139 columns: only the list'
shows 'STATE' 'with more columns'
mux resize-window -x 140 -y 40
shows '│web-1  output' '140 columns: beside the list'
keys w
hides '│' 'w: only the list'
keys w
shows '│web-1  output' 'and back'

reports_mouse() {
    [ "$(mux display-message -p '#{mouse_any_flag}')" = "$1" ]
}
rule 'the terminal reports the mouse' reports_mouse 1
keys m
shows 'mouse off: the terminal selects text' 'm: mouse off'
rule 'the terminal has its selection back' soon reports_mouse 0
keys m
rule 'm: on again' soon reports_mouse 1

kill -9 "$(pid_of_daemon)"
shows 'the daemon is away, trying again' 'a daemon that was killed'
screen
rule 'the log stays' grep -q 'Now it is fast' out
start
hides 'the daemon is away' 'it is found again'
keys Down
shows '│api-2  output  (following)' 'and the rows have their logs'

mux kill-session -t top
mux new-session -d -s top -x 200 -y 60 "TERM=xterm-256color '$SLUICE' top --no-mouse"
shows '│web-1  output' '--no-mouse'
rule 'leaves the mouse to the terminal' reports_mouse 0
mux kill-session -t top
mux new-session -d -s top -x 200 -y 60 "LC_ALL=C NO_COLOR=1 '$SLUICE' top"
shows '|web-1  output' 'without UTF-8: ASCII'
hides '│' 'and nothing else'
! mux capture-pane -p -e | grep -q "$(printf '\033\\[[0-9;]*3[0-8]')"
report $? 'NO_COLOR: there are no colours'
finish
