#!/bin/sh
# sluice down: the daemon stops, its runs continue.
# shellcheck disable=SC1091,SC2034,SC2154 # lib.sh and daemon.sh set home, root and tmp
. "$(dirname "$0")/lib.sh"
. "$here/daemon.sh"

run sluice down
exits 0 'nothing to stop: exit code'
says 'sluice: no daemon is running' 'nothing to stop'
run sluice down --json
prints '{"stopped":false,"already":true,"runs":0}' 'nothing to stop, as JSON'

start
run sluice down
exits 0 'nothing runs: exit code'
says 'sluice: the daemon has stopped; no task is running' 'nothing runs'

# A run that waits for input from the test outlives the daemon.
mkfifo go
start
add -- sh -c "echo begun; read -r word <'$tmp/go'; echo \"\$word\""
becomes "$id" running
run sluice down
exits 0 'with a run: exit code'
says 'sluice: the daemon has stopped; 1 run goes on' 'with a run: says how many'
echo finished >go
start
ends "$id"
rule 'the next daemon finds how it ended' becomes "$id" 'done'
run sluice logs "$id"
prints 'begun
finished' 'with all that it wrote'

add -- sh -c "read -r word <'$tmp/go'"
becomes "$id" running
"$SLUICE" down --wait >out 2>err &
appears 'waiting for 1 run' err
echo enough >go
wait $!
code=$?
exits 0 'down --wait: exit code'
says 'sluice: the daemon has stopped; waiting for 1 run
sluice: 1 run ended; '"'sluice up'"' records it' 'down --wait waits for the run'
start
rule 'and nothing was lost' becomes "$id" 'done'
run sluice down --json
prints '{"stopped":true,"already":false,"runs":0,"role":"active"}' 'as JSON'
run sluice down everything
exits 2 'an argument too many'
finish
