#!/bin/sh
# sluice depend: changes the dependencies of existing tasks.
# shellcheck disable=SC2154 # lib.sh and daemon.sh set home, id, root and tmp
. "$(dirname "$0")/lib.sh"
. "$here/daemon.sh"

run sluice pause
run sluice project add web
add --project web -- true
add --project web -- true
add --project web -- true
run sluice depend web-3 web-1
exits 0 'depend: exit code'
prints 'web-3 depends on web-1: waiting' 'depend'
run sluice depend --add web-3 web-2
prints 'web-3 depends on web-1, web-2: waiting' '--add'
run sluice depend --drop web-3 web-1
prints 'web-3 depends on web-2: waiting' '--drop'
run sluice depend web-2 web-3
exits 2 'a cycle: exit code'
says 'sluice: dependency cycle detected: web-2 -> web-3 -> web-2' 'a cycle'
run sluice depend --json --none web-3
prints '{"tasks":[{"id":"web-3","state":"ready","already":false,"actions":["cancel","clear","hold","priority"]}]}' '--none --json'

usage='usage: sluice depend [--add|--drop] ID ON...|--none ID'
run sluice depend web-3
exits 2 'nothing named: exit code'
says "sluice: name the tasks it depends on, or use '--none'
$usage" 'nothing named'
run sluice depend --add --drop web-3 web-1
says "sluice: '--add' and '--drop' cannot be used together
$usage" '--add and --drop'
run sluice depend --none web-3 web-1
says "sluice: '--none' takes only the task
$usage" '--none and more'
run sluice depend web-3 nope-99
exits 1 'an unknown task: exit code'
finish
