#!/bin/sh
# sluice top without a terminal: one screen as plain text, JSON, and usage errors.
# shellcheck disable=SC1091,SC2034,SC2154 # lib.sh and daemon.sh set home, id, root and tmp
. "$(dirname "$0")/lib.sh"
. "$here/daemon.sh"

run sluice top --once
exits 3 'no daemon: exit code'
says "sluice: no daemon is running; 'sluice up' starts it" 'no daemon'
run sluice top --pane nowhere
exits 2 'an unknown pane: exit code'
run sluice top --pane runing
says "sluice: there is no pane 'runing'; did you mean 'running'?
usage: sluice top [--once] [--pane NAME] [--filter TEXT] [--no-mouse]" 'an unknown pane: the nearest one is offered'
run sluice top --json --filter web
exits 2 '--json has no filter'
run sluice top now
exits 2 'an argument too many'

config 'limits: {runs: 1}
projects: {web: {prefix: web}, api: {prefix: api}}'
start
add --project web --title 'the first one' -- tail -f /dev/null
becomes web-1 running
add --project web -- true "$(printf '\033]0;owned\007red \033[31mtitle')"
add --project api --title 'another one' -- true
add --project web --hold -- true
LC_ALL=C LINES=24 COLUMNS=80
export LC_ALL LINES COLUMNS
run sluice top --once
exits 0 'once: exit code'
rule 'how many there are of each' grep -q '^\[running 1\] ready 2  waiting 1  ended 0  limits  needs you 0$' out
rule 'what runs' grep -q '^>  web-1  *web .* the first one$' out
has 'runs 1/1 full' 'the limit'
has 'wait for: 2 lease:runs' 'what the others wait for'
rule 'the host' grep -q '^sluice [0-9.]* .*load .*disk .*GB free' out
[ "$(wc -l <out)" -le 24 ] && [ "$(awk '{ if (length($0) > n) n = length($0) } END { print n }' out)" -le 80 ]
report $? '80x24 holds it'
rule 'no blanks at the ends of lines' not grep -q ' $' out
run sluice top
exits 0 'a pipe gets one screen, too'
run sluice top --once --pane ready
rule 'what is ready, with the gate that stops it; a title is harmless' grep -q '^o  web-2  *web .* lease:runs  true .*red .*title$' out
rule 'no escapes' not grep -q "$(printf '\033')" out
run sluice top --once --pane waiting
rule 'what waits' grep -q '^=  web-[0-9]*  *web .* held:person ' out
run sluice top --once --pane limits
rule 'the limits' grep -q '^runs  *1  *1  \[####################\]  full$' out
run sluice top --once --pane ready --filter 'project:api'
grep -q 'another one' out && ! grep -q web-2 out
report $? 'a filter that the daemon knows'
run sluice top --once --pane ready --filter 'ANOTHER lease'
grep -q 'another one' out && ! grep -q web-2 out
report $? 'a filter of words'
run sluice top --once --pane ready --filter 'gate:lease:runs project:api'
grep -q 'another one' out && ! grep -q web-2 out
report $? 'a filter for a gate'
run sluice top --once --pane ready --filter 'gate:lease'
has 'nothing matches the filter' 'the name of a gate is taken whole'
run sluice top --once --pane ready --filter 'nothing has this'
exits 0 'a filter that nothing matches: exit code'
has 'nothing matches the filter' 'a filter that nothing matches'
run sluice top --once --filter project:nowhere
exits 1 'a filter with an unknown project: exit code'
rule 'a filter with an unknown project' grep -q "^sluice: .*'nowhere'" err
run sluice top --json
exits 0 'JSON: exit code'
rule 'JSON has the status and the lists' grep -q '^{"status":{.*"counts":{.*},"running":{"items":\[{"id":"web-1".*"ready":{"items":\[.*"waiting":{.*"ended":{' out
rule 'JSON is one value' [ "$(wc -l <out)" = 1 ]
width=$(LC_ALL=C.UTF-8 COLUMNS=200 LINES=60 "$SLUICE" top --once --pane ready | grep -c 'WHY  .*TITLE')
rule 'a wide screen has the reasons' [ "$width" = 1 ]

# On an unsupported terminal it prints a message and does not change the terminal.
needs script
for name in dumb no-such-terminal; do
    run env -u LINES -u COLUMNS TERM=$name script -qec "'$SLUICE' top" /dev/null
    exits 2 "TERM=$name: exit code"
    rule "TERM=$name: a sentence" grep -q "terminal '$name' .*sluice top --once" out
    rule "TERM=$name: nothing is sent to the terminal" not grep -q "$(printf '\033')" out
done
finish
