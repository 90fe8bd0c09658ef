#!/bin/sh
# sluice limiter: lists and clears rate limits of provider accounts.
# shellcheck disable=SC2154 # lib.sh and daemon.sh set home, id, root and tmp
. "$(dirname "$0")/lib.sh"
. "$here/daemon.sh"

config 'limiters: {anthropic: {max_running: 3, initial_s: 600, max_s: 600}}'
start
run sluice limiter list
exits 0 'list: exit code'
prints '  NAME       STATE  OPENS  HITS  USED  CAP  SUCCESS  WINDOWS
  anthropic  open   -         0     0    3  -        -' 'an open one'
run sluice limiter show anthropic
prints '  NAME       STATE  OPENS  HITS  USED  CAP  SUCCESS  WINDOWS
  anthropic  open   -         0     0    3  -        -' 'show prints one of them'
run sluice limiter show nope
exits 1 'show: no such limiter'
run sluice limiter clear anthropic
exits 0 'clear an open one: exit code'
prints 'anthropic is open already' 'clear an open one'

# A run reports that its account is limited.
mkfifo go told
add --limiter anthropic -- sh -c "'$SLUICE' report --rate-limited 900 && echo told >'$tmp/told'; read -r word <'$tmp/go'"
cat told >/dev/null
run sluice limiter list --json
has '"state":"backoff"' 'in backoff'
run sluice limiter clear anthropic
prints 'anthropic cleared' 'clear'
run sluice limiter list --json
has '"state":"open"' 'is open again'
run sluice limiter clear nope
exits 1 'no such limiter: exit code'
run sluice limiter clear anthropic nope
exits 1 'one of two: exit code'
prints 'anthropic is open already' 'what was done before is told'
run sluice limiter clear
exits 2 'no name: exit code'
says "sluice: 'clear' needs at least 1 argument
usage: sluice limiter clear NAME..." 'no name'
run sluice limiter clear ''
exits 2 'an empty name: exit code'
run sluice limiter clear anthropic anthropic --json
prints '[{"name":"anthropic","state":"open","already":true},{"name":"anthropic","state":"open","already":true}]' \
    'several, as JSON'
run sluice limiter
exits 2 'no subcommand'
finish
