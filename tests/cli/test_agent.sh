#!/bin/sh
# sluice agent: lists agents and changes them.
# shellcheck disable=SC2154 # lib.sh and daemon.sh set home, id, root and tmp
. "$(dirname "$0")/lib.sh"
. "$here/daemon.sh"

run sluice agent list
exits 3 'no daemon: exit code'
says "sluice: no daemon is running; 'sluice up' starts it" 'no daemon'
start
run sluice agent list
exits 0 'list: exit code'
has '  NAME      USED      SLOTS  ADAPTER   LIMITER   FAILOVER  CLOSED UNTIL  FOUND' 'its columns'
has '  opencode     -  unlimited  opencode  opencode  -' 'an agent that nobody has named yet is there'
mkdir bin
printf '#!/bin/sh\n' >bin/codex
chmod +x bin/codex
run sluice config set agents.codex.env="PATH=$tmp/bin" agents.claude.env="PATH=$tmp" \
    agents.echo.command='echo {prompt}' agents.echo.slots=2 agents.claude.failover=codex
run sluice agent list --json
has "\"name\":\"codex\",\"named\":true,\"command\":[],\"program\":\"codex\",\"found\":\"$tmp/bin/codex\"" \
    'its program is looked for where its runs look'
has '"name":"claude","named":true,"command":[],"program":"claude","found":null,"failover":["codex"]' \
    'one that is not there'
has '"name":"echo","named":true,"command":["echo","{prompt}"],"program":"echo"' 'one with a command of its own'
has '"name":"gemini","named":false' 'and who is not named comes last'
run sluice agent list
has 'not found' 'text says what is missing'
run sluice agent
exits 2 'no subcommand: exit code'
run sluice agent show
exits 2 'an unknown subcommand: exit code'
run sluice agent clear echo
prints 'echo is open already' 'clear one that is open'
run sluice agent clear nope
exits 1 'clear one that does not exist'
run sluice agent clear
exits 2 'clear without a name'
run sluice agent list x
exits 2 'an argument'
finish
