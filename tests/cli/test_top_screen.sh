#!/bin/sh
# sluice top on a terminal: driven by keys in tmux, at 80x24 and at 200x60.
# shellcheck disable=SC1091,SC2034,SC2154 # lib.sh and daemon.sh set home, id, root and tmp
. "$(dirname "$0")/lib.sh"
. "$here/daemon.sh"

. "$here/terminal.sh"

config 'limits: {runs: 1}
projects: {web: {prefix: web}}'
start
# Its log has all kinds of control sequences, and a line of ten megabytes.
cat >noise.sh <<'END'
printf '\033]0;owned\007\033[2J\033[31mred\033[0m \342\200\256evil\342\200\254 first line\n'
head -c 10000000 /dev/zero | tr '\0' x
printf '\nneedle one\nplain\nneedle two\nthe last line\n'
cat go
exec tail -f /dev/null
END
mkfifo go
add --project web --title "$(printf 'hostile title \346\227\245\346\234\254')" --cwd "$tmp" -- sh noise.sh
becomes web-1 running
add --project web --title 'one that is ready' -- true
add --project web --title 'another' -- true
add --project web --hold --title 'one that is held' -- true

mux new-session -d -x 80 -y 24 sh -i
mux set-option -g remain-on-exit on
shows 'ready>' 'the shell'
keys "'$SLUICE' top" Enter
shows '[running 1] ready 2  waiting 1' '80x24: the panes'
shows 'web-1' '80x24: what runs'
rule 'a hostile title is one line of text' grep -q '^▶  web-1 .*hostile title 日本$' out
rule 'it does not change the title of the terminal' [ "$(mux display-message -p '#{pane_title}')" != owned ]
[ "$(wc -l <out)" = 24 ] && tail -n 1 out | grep -q '^q quit '
report $? '80x24: the last line has the keys'

keys Tab
shows '[ready 2]' 'tab: the next pane'
keys Enter
shows '✗ lease:runs closed' 'enter: why, with every gate'
rule 'open gates are listed, too' grep -q '✓ paused open' out
keys q Down +
shows 'web-3 goes before all that wait' '+: promoted'
keys /
keys -l 'one THAT'
keys Enter
shows 'filter: one THAT' 'a filter'
hides 'another' 'what does not match is gone'
keys Escape
shows 'another' 'esc: without the filter'

mux resize-window -x 200 -y 60
shows 'the limit of runs is reached' '200x60: there is room for the reason'
screen
[ "$(wc -l <out)" = 60 ] && tail -n 1 out | grep -q '^q quit '
report $? '200x60: the last line has the keys'

keys 1 l
shows 'the last line' 'l: the end of the log'
rule 'the log is followed' grep -q '^web-1  output  (following)' out
rule 'a hostile log does not change the title of the terminal' [ "$(mux display-message -p '#{pane_title}')" != owned ]
keys /
keys -l needle
keys Enter
shows '(f follows)' 'a search stays where it found something'
keys n
mux resize-window -x 80 -y 24
hides 'first line' 'the log at 80x24'
shows 'needle two' 'what was found stays in sight'
rule 'and the lines are broken anew' [ "$(wc -l <out)" = 24 ]
keys /
keys -l 'not in there'
keys Enter
shows "'not in there' is not in what is kept of this log" 'a search that finds nothing says so'
keys f
kill -9 "$(pid_of_daemon)"
shows 'the daemon is away, trying again' 'a log whose daemon was killed: a line says so'
start
hides 'the daemon is away' 'it is found again'
echo 'after the restart' >go
shows 'after the restart' 'the log goes on'
keys q
shows '[running 1]' 'q: back to the list'

keys c
shows '[y/n] cancel web-1?' 'c asks first'
keys n
shows 'nothing was changed' 'n changes nothing'
rule 'it runs on' [ "$(value web-1 state)" = running ]
keys p
shows '[y/n] pause everything?' 'p asks first'
keys y
shows 'PAUSED' 'y pauses everything'
keys c
shows '[y/n] cancel web-1?' 'c asks again'
keys y
rule 'y cancels' becomes web-1 canceled
shows 'nothing runs' 'it has gone from the list, by itself'
keys 4
shows '[ended 1]' 'the pane of what has ended'
keys r
shows 'web-1 retried' 'r: it is queued again'
keys 3 h
shows 'web-4 released' 'h releases what is held'
keys p
shows '[y/n] resume everything?' 'p asks for the way back'
keys y
hides 'PAUSED' 'everything goes on'
keys 1
shows 'web-1' 'and is seen without a key'

kill -9 "$(pid_of_daemon)"
shows 'the daemon is away, trying again' 'a daemon that was killed: a line says so'
screen
rule 'what was known stays' grep -q 'web-1' out
start
hides 'the daemon is away' 'a daemon that comes back is found'
add --project web --title 'a new one' -- true
keys 2
shows 'a new one' 'and its news come again'

keys C-z
shows 'Stopped' 'Ctrl-Z: the shell is back'
keys fg Enter
shows '[ready' 'fg: so is the screen'
keys C-c
shows 'ready>' 'Ctrl-C ends it'
keys 'echo "code $?"; stty -a >modes; echo "modes" are written' Enter
shows 'modes are written' 'the shell works again'
rule 'exit code 0' grep -q 'code 0' out
grep -q '[ ;]icanon' modes && grep -q ' echo ' modes
report $? 'the terminal is as it was'
keys clear Enter
keys "sh -c 'echo \$\$ >pid; exec $SLUICE top'; stty -a >modes; echo \"modes\" again" Enter
shows '[running' 'once more'
kill -TERM "$(cat pid)"
shows 'modes again' 'SIGTERM ends it, too'
grep -q '[ ;]icanon' modes && grep -q ' echo ' modes
report $? 'SIGTERM: the terminal is as it was'

keys clear Enter
# The address sanitizer of `make asan` handles the signal itself, unless this option leaves it to the program.
keys "sh -c 'echo \$\$ >pid; ASAN_OPTIONS=handle_segv=1 exec $SLUICE top'; stty -a >modes; echo \"modes\" once more" Enter
shows '[running' 'and again'
kill -SEGV "$(cat pid)"
shows 'modes once more' 'a crash ends it'
grep -q '[ ;]icanon' modes && grep -q ' echo ' modes
report $? 'a crash: the terminal is as it was'

keys clear Enter
keys "LC_ALL=C '$SLUICE' top" Enter
shows '>  web-1' 'without UTF-8: marks of ASCII'
hides '▶' 'and nothing else'
mux capture-pane -p -e | grep -q "$(printf '\033\\[[0-9;]*3[0-8]')"
report $? 'states have a colour'
keys q
shows 'ready>' 'q ends it'
keys clear Enter
keys "NO_COLOR=1 '$SLUICE' top" Enter
shows '▶  web-1' 'NO_COLOR: the marks are there'
! mux capture-pane -p -e | grep -q "$(printf '\033\\[[0-9;]*3[0-8]')"
report $? 'NO_COLOR: there are no colours'
keys q
finish
