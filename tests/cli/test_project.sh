#!/bin/sh
# sluice project: lists, adds, changes and deletes projects.
# shellcheck disable=SC2154 # lib.sh and daemon.sh set home, id, root and tmp
. "$(dirname "$0")/lib.sh"
. "$here/daemon.sh"

run sluice project list
exits 3 'no daemon: exit code'
start
run sluice project add web --path "$tmp" --weight 3 --max-running 2
exits 0 'add: exit code'
prints 'web added; its tasks are called web-N' 'add'
run sluice project add web
exits 1 'add a second time: exit code'
says "sluice: project 'web' already exists" 'add a second time'
run sluice project add nowhere --path "$tmp/no such folder"
exits 2 'add a folder that is not there: exit code'
says "sluice: cannot use the folder '$tmp/no such folder': No such file or directory" \
    'add a folder that is not there'
run sluice project add my-shop --prefix my-shop
prints 'my-shop added; its tasks are called my-shop-N' 'add --prefix with a hyphen'
add --project my-shop -- true
run sluice wait "$id"
[ "$code" = 0 ] && [ "${id%-*}" = my-shop ]
report $? 'ids with a hyphenated prefix are understood'
run sluice project add 4shop --prefix my-4
exits 2 'a prefix that looks like an id is refused'
run sluice project add shop --prefix s
prints 'shop added; its tasks are called s-N' 'add --prefix'
run sluice project list
exits 0 'list: exit code'
has '  web ' 'list: web'
run sluice project show web
exits 0 'show: exit code'
has 'web (active)' 'show: the name'
has "  path         $tmp" 'show: the path'
has '  weight       3' 'show: the weight'
has '  max_running  2' 'show: the cap'
has '  budget       unlimited' 'show: no budget'
run sluice project set web weight=1.5 max_running=unlimited budget=5000
exits 0 'set: exit code'
prints 'web weight=1.5
web max_running=unlimited
web budget=5000' 'set'
run sluice project show web
has '  weight       1.5' 'set: the weight'
has '  max_running  unlimited' 'set: the cap'
has '  budget       5000' 'set: the budget'
run sluice down
start
run sluice project show web
has '  weight       1.5' 'it is kept'
run sluice project pause web
prints 'web paused; running tasks continue, nothing new starts' 'pause'
run sluice project show web
has 'web (paused by ' 'show: paused'
run sluice project resume web
prints 'web resumed' 'resume'

# A path is relative to the current directory.
mkdir -p here && (cd here && "$SLUICE" project set web path=. >/dev/null)
run sluice project show web --json
has "\"path\":\"$tmp/here" 'a relative path is made whole'

# Weights that sum to 0 are equal shares.
for name in $("$SLUICE" project list --json | grep -o '"name":"[^"]*"' | sed 's/.*:"//; s/"//'); do
    "$SLUICE" project set "$name" weight=0 >/dev/null
done
run sluice project show web
has '  target       33%' 'without weights each of three projects has a third'
"$SLUICE" project set web weight=1.5 >/dev/null

for call in 'show nope' 'set nope weight=1' 'pause nope'; do
    # shellcheck disable=SC2086 # words
    run sluice project $call
    exits 1 "project $call: exit code"
    says "sluice: there is no project 'nope'" "project $call"
done
for pair in weight=heavy weight=-1 max_running=some budget=x speed=1; do
    run sluice project set web "$pair"
    exits 2 "set $pair: exit code"
done
run sluice project show web
has '  weight       1.5' 'nothing has changed'
run sluice project set web weight
exits 2 'no value: exit code'
says "sluice: expected KEY=VALUE, got 'weight'
usage: sluice project set NAME KEY=VALUE..." 'no value'
run sluice project set web weight=1 weight=2
exits 2 'a key twice: exit code'
says "sluice: 'weight' is given twice
usage: sluice project set NAME KEY=VALUE..." 'a key twice'
run sluice project set web
exits 2 'nothing to set'
run sluice project add ''
exits 2 'an empty name'
run sluice project add "$(printf 'a\001b')"
exits 2 'a control character in the name'
run sluice project
exits 2 'no subcommand'
finish
