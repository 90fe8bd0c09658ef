#!/bin/sh
# sluice take: opens a task at this terminal. daemon_take has the rules, with tmux.
# shellcheck disable=SC2154 # lib.sh and daemon.sh set home, id, root and tmp
. "$(dirname "$0")/lib.sh"
. "$here/daemon.sh"
config "projects: {web: {path: '$tmp'}}"
start
add --project web --hold -- true
run sh -c "echo 'echo \$((40 + 2)) >answer' | SHELL=/bin/sh '$SLUICE' take web-1 --then hold"
exits 0 'take: exit code'
has 'web-1 is held' 'take says what became of it'
rule 'what was typed was done' [ "$(cat answer)" = 42 ]
run sh -c "echo exit 7 | SHELL=/bin/sh '$SLUICE' take web-1 --then done"
exits 0 'take --then done: exit code'
rule 'the task is done, whatever the exit code' [ "$(value web-1 state)" = 'done' ]
add --project web --hold -- true
run sh -c ": | SHELL=/bin/sh '$SLUICE' take web-2 --then continue"
exits 0 'take --then continue: exit code'
has 'web-2 continues unattended' 'and it goes on'
run sluice wait web-2
exits 0 'to its end'
run sh -c ": | SHELL=/bin/sh '$SLUICE' take web-2 --then hold --json | tail -n 1"
has '"hold":"taken"' 'take --json prints the task'

# Bad input: one error message, and no change.
run sluice take web-9
exits 1 'no such task: exit code'
run sluice take
exits 2 'no task: exit code'
says "sluice: 'take' needs 1 argument
usage: sluice take [--then done|continue|hold] [--message TEXT] ID" 'no task'
run sluice take web-1 --then never
exits 2 'bad --then: exit code'
run sluice take web-1 --message x
exits 2 '--message without --then continue: exit code'
run sluice take ''
exits 2 'an empty task: exit code'
add --project web --draft -- true
run sluice take web-3
exits 4 'a draft: exit code'
rule 'no socket is left' [ -z "$(find "$home" -name 'take-*')" ]
finish
