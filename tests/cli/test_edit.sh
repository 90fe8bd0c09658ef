#!/bin/sh
# sluice edit: changes a task that does not run. tests/daemon/test_edit.sh has the editor, and edits that come too late.
# shellcheck disable=SC2154 # lib.sh and daemon.sh set home, id, root and tmp
. "$(dirname "$0")/lib.sh"
. "$here/daemon.sh"

start
run sluice project add web
add --project web --hold -- true
run sluice edit web-1 --title 'the first' --priority 3
exits 0 'edit: exit code'
prints 'web-1 edited: held' 'edit'
run sluice edit web-1 --json --title 'the first'
exits 0 'nothing to change: exit code'
prints '{"id":"web-1","state":"held","version":1,"already":true}' 'nothing to change'
run sluice edit web-1 -- echo new
exits 0 'a new command: exit code'
run sluice show web-1
has 'echo new' 'a new command'
run sluice edit web-1 --check true --check 'test -d .'
exits 0 'checks: exit code'
run sluice show web-1
has 'test -d .' 'checks'
run sluice edit web-1 --no-checks
run sluice show web-1
rule 'no checks' not grep -q 'test -d' out

# Bad input: one error message, and no change.
usage='usage: sluice edit ID [--prompt TEXT] [--title TEXT] [--priority N] [-- COMMAND...]'
run sluice edit
exits 2 'no task: exit code'
says "sluice: 'edit' needs at least 1 argument
$usage" 'no task'
run sluice edit web-1 --prompt a --prompt-file b
exits 2 'two prompts: exit code'
says "sluice: '--prompt' and '--prompt-file' cannot be used together
$usage" 'two prompts'
run sluice edit web-1 --prompt ' '
exits 2 'an empty prompt: exit code'
says "sluice: the prompt is empty
$usage" 'an empty prompt'
run sluice edit web-1 --check true --no-checks
exits 2 'checks and none: exit code'
says "sluice: '--check' and '--no-checks' cannot be used together
$usage" 'checks and none'
run sluice edit web-1 --prompt-file nofile
exits 2 'a missing file: exit code'
run sluice edit web-1 --prompt 'do it'
exits 2 'a prompt for a command: exit code'
says "sluice: task 'web-1' is a command: it has an 'argv' and no 'prompt'" 'a prompt for a command'
run sluice edit web-1 --timeout soon
exits 2 'a bad span: exit code'
run sluice edit nope-99 --title x
exits 1 'an unknown task: exit code'
says "sluice: there is no task 'nope-99'" 'an unknown task'
run sluice cancel web-1
run sluice edit web-1 --title x
exits 4 'a finished task: exit code'
says "sluice: task 'web-1' is canceled: 'sluice again -m TEXT web-1' continues it with a message" 'a finished task'
finish
