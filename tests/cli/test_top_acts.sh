#!/bin/sh
# sluice top: what can be done to tasks from the keyboard: approve, reject, answer, and many tasks at once.
# shellcheck disable=SC1091,SC2034,SC2154 # lib.sh and daemon.sh set home, id, root and tmp
. "$(dirname "$0")/lib.sh"
. "$here/daemon.sh"
. "$here/terminal.sh"

git init -q -b main repo
git -C repo -c user.name=Owner -c user.email=owner@localhost commit -q --allow-empty -m first
config "limits: {runs: 4}
tasks.sandbox: none
projects:
  web: {prefix: web}
  code: {prefix: code, path: '$tmp/repo', workspace_mode: worktree, merge: direct}"
start
asks="[ -n \"\${SLUICE_ANSWER:-}\" ] || exec '$SLUICE' ask"
add --project web --review --title 'good work' -- true
add --project web --review --title 'bad work' -- true
add --project web --title 'chooses' -- sh -c "$asks --choice blue --choice red \"Which one?
It is the colour of \$(printf '\033]0;owned\007')everything.\"; echo \"\$SLUICE_ANSWER\" >'$tmp/chosen'"
add --project web --title 'wants a text' -- sh -c "$asks 'Why?'; echo \"\$SLUICE_ANSWER\" >'$tmp/text'"
for task in 1 2 3 4; do
    becomes web-$task held
done
is_asking() {
    [ "$(value web-4 hold)" = question ] && [ "$(value web-3 hold)" = question ]
}
rule 'two tasks ask' soon is_asking

mux new-session -d -x 100 -y 24 "'$SLUICE' top --pane waiting"
mux set-option -g remain-on-exit on
shows 'held:review' 'what a task is held for'
shows 'a approve  x reject  c cancel' 'the keys of what the daemon offers'
keys a
shows '[y/n] approve web-1? good work' 'a asks first'
keys n
shows 'nothing was changed' 'n changes nothing'
keys a y
shows 'web-1 approved' 'y approves'
rule 'it is done' becomes web-1 'done'
hides 'good work' 'and gone from the list'

mux set-buffer 'xcy'
mux paste-buffer -p
shows 'pasted text is not taken as keys' 'pasted text does nothing'
keys x
shows 'reject web-2: what is wrong' 'x asks for the reason'
mux set-buffer 'a reason
of two lines'
mux paste-buffer -p -r
shows 'a reason of two lines_' 'pasted line breaks do not send it'
keys C-u
keys -l 'no tests, naïve'
keys Escape
shows 'nothing was changed' 'esc leaves it'
keys x
keys -l 'no tests, naïve'
keys Enter
shows 'web-2 rejected' 'enter rejects'
has_reason() {
    "$SLUICE" events --limit 100 --json | grep -qF 'no tests, naïve'
}
rule 'with the reason' has_reason

rule 'it waits for review again' becomes web-2 held
keys /
keys -l 'chooses'
keys Enter
shows 'filter: chooses' 'a filter'
hides 'wants a text' 'only this one'
keys a
shows 'web-3 asks' 'a shows the question'
shows 'It is the colour of' 'all its lines'
shows '   2  red' 'and the choices'
rule 'its controls are harmless' [ "$(mux display-message -p '#{pane_title}')" != owned ]
keys -l green
keys Enter
shows "'green'" 'what is no choice is refused by the daemon'
keys a
shows 'answer, 1 to 2' 'once more'
keys 2 Enter
shows 'web-3 answered: red' 'a number chooses'
rule 'its run has the answer' appears red chosen
keys Escape /
keys -l 'wants a text'
keys Enter
hides 'bad work' 'the other question'
keys a
shows 'web-4 asks' 'it is shown'
keys -l 'because: yes'
keys Enter
shows 'web-4 answered: because: yes' 'any text answers it'
rule 'its run has the text' appears 'because: yes' text
keys Escape

"$SLUICE" pause >out
for batch in 5 6 7 8 9; do
    add --project web --title "batch $batch" -- true
done
keys 2
shows '[ready 5]' 'five tasks are ready'
shows 'batch 9' 'all of them'
keys t t
shows '2 tagged:' 't tags'
rule 'tagged rows have a mark' grep -q '^◉\* web-5 ' out
keys h
shows '2 tasks held' 'h holds both'
rule 'both are held' [ "$(value web-5 state) $(value web-6 state) $(value web-7 state)" = 'held held ready' ]
hides 'tagged:' 'the tags are gone'
keys T
shows '3 tagged:' 'T tags all of the list'
keys c
shows '[y/n] cancel 3 tasks?' 'c asks first, for all'
keys y
shows '3 tasks canceled' 'y cancels all'
rule 'all are canceled' [ "$(value web-7 state) $(value web-8 state) $(value web-9 state)" = 'canceled canceled canceled' ]
keys 3
shows 'batch 5' 'what is held'
keys T
shows '3 tagged:' 'a task for review is among them'
keys h
shows '2 of 3 tasks ' 'what does not fit is left out'
rule 'the others are changed' [ "$(value web-5 state) $(value web-6 state) $(value web-2 state)" = 'ready ready held' ]
keys t Escape
hides 'tagged' 'esc removes the tags'
keys Home a
shows '[y/n] approve web-2?' 'the last one'
kill -9 "$(pid_of_daemon)"
shows '[y/n] approve web-2?' 'a daemon that was killed does not close a prompt'
keys y
shows 'the daemon is away; ' 'and nothing is sent to no daemon'
start
rule 'it still waits' [ "$(value web-2 state)" = held ]
keys Escape

# An approval that merges takes as long as its checks, which run again: the base has moved. This one waits for the test.
"$SLUICE" resume >out
mkfifo gate
add --project code --review --title 'slow merge' --check "[ ! -e '$tmp/slow' ] || cat '$tmp/gate'" -- sh -c 'echo one >one'
slow=$id
becomes "$slow" held
git -C repo -c user.name=Owner -c user.email=owner@localhost commit -q --allow-empty -m moved
: >slow
keys 3 /
keys -l 'slow merge'
keys Enter
shows "$slow" 'work that merges when it is approved'
keys a y
shows "$slow: waiting until it is approved" 'y: the merge has begun'
keys 4
shows '[ended ' 'the screen goes on meanwhile'
rule 'it still waits' [ "$(value "$slow" state)" = held ]
echo checked >gate
shows "$slow approved" 'the result is shown when it is known'
rule 'the work is merged' git -C repo cat-file -e main:one
keys q
rule 'its terminal is as it was' soon does_not_show 'tab panes'
finish
