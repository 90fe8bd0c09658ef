#!/bin/sh
# sluice agent: who runs the tasks.
# shellcheck disable=SC2154 # lib.sh and daemon.sh set home, id, root and tmp
. "$(dirname "$0")/lib.sh"
. "$here/daemon.sh"

run sluice agent list
exits 3 'no daemon: exit code'
says "sluice: no daemon runs; 'sluice up' starts it" 'no daemon'
start
run sluice agent list
exits 0 'none: exit code'
has 'no agent is configured' 'none'
run sluice config set agents.echo.command='echo {prompt}' agents.echo.slots=2
run sluice agent list
exits 0 'list: exit code'
prints '  NAME  USED  SLOTS  ADAPTER  LIMITER  FAILOVER  CLOSED UNTIL  COMMAND
  echo     0      2  plain    -        -         -             echo {prompt}' 'list'
run sluice agent list --json
has '"name":"echo"' 'as JSON'
run sluice agent
exits 2 'no subcommand: exit code'
run sluice agent show
exits 2 'an unknown subcommand: exit code'
run sluice agent list x
exits 2 'an argument'
finish
