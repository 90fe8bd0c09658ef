#!/bin/sh
# sluice sling: schedules drafts.
# shellcheck disable=SC2154 # lib.sh and daemon.sh set home, id, root and tmp
. "$(dirname "$0")/lib.sh"
. "$here/daemon.sh"

run sluice pause
run sluice project add web
run sluice project add api
add --project web --draft --group night -- true
add --project web --draft --group night -- true
add --project web --draft -- true
add --project api --draft -- true
run sluice sling web-1
exits 0 'f127: a task: exit code'
prints 'web-1 slung: ready, in night' 'f127: a task'
run sluice sling web-1
prints 'web-1 is ready already' 'a second time'
run sluice sling night
prints 'web-2 slung: ready, in night' 'f127: the drafts of a group'
run sluice sling web-3 api-4 web
exits 4 'f127: tasks of another project: exit code'
says "sluice: task 'api-4' is of project 'api', not of 'web'; force moves a draft there" 'f127: tasks of another project'
rule 'and none of them was slung' [ "$(value web-3 state)" = draft ]
run sluice sling web-3 web
prints 'web-3 slung: ready, in group-2' 'f127: a task at its project'
run sluice sling --force --project web api-4
prints 'api-4 moved: web-5 slung: ready, in group-3' '--force'
run sluice clear --all
add --project api --draft -- true
run sluice sling --all --project api
prints 'api-6 slung: ready' '--all --project'
run sluice sling --all
has 'web-3 slung: ready' '--all'
run sluice sling nope
exits 1 'no such task or group: exit code'
says "sluice: there is no task and no group 'nope'" 'no such task or group'
run sluice sling web-1 nope
exits 1 'a word that is neither group nor project: exit code'
usage='usage: sluice sling [OPTIONS] ID|GROUP... [PROJECT] | --all [--project P] [--group G]'
run sluice sling
exits 2 'no task: exit code'
says "sluice: 'sling' needs the IDs of tasks, or --all
$usage" 'no task'
run sluice sling --all web-1
exits 2 '--all and an id: exit code'
run sluice sling --all --on x
exits 2 'a formula for everything'
run sluice sling --account a --limiter b web-1
exits 2 'two accounts'
run sluice sling --merge sideways web-1
exits 2 'a merge that there is none of'
run sluice sling --var x web-1
exits 2 'a variable without a value'
run sluice sling --no-group --owned web-1
exits 2 'an owned group that is none'
run sluice sling --project nope web-1
exits 1 'no such project'
run sluice resume
becomes web-1 'done'
run sluice sling web-1
exits 4 'what is over: exit code'
says "sluice: task 'web-1' is done: only a draft can be slung" 'what is over'
finish
