#!/bin/sh
# sluice tick: makes a scheduling decision now, or shows the next ones.
# shellcheck disable=SC2154 # lib.sh and daemon.sh set home, id, root and tmp
. "$(dirname "$0")/lib.sh"
. "$here/daemon.sh"

run sluice tick --dry-run
exits 0 'nothing waits: exit code'
prints "nothing would start; 'sluice status' shows why" 'nothing waits'
run sluice tick --dry-run --json
prints '{"start":[]}' 'nothing waits, as JSON'
run sluice tick
prints "nothing to start; 'sluice status' shows why" 'a tick without work'

# In the preset gastown with a finite cap, one task starts with each tick, whether periodic or manual.
run sluice down
config 'preset: gastown
limits: {runs: 3}
pace: {tick_s: 3600, spawn_delay_s: 0}'
start
run sluice project add web
mkfifo go
add --project web -- sh -c "read -r word <'$tmp/go'"
becomes web-1 running
add --project web -- sh -c "read -r word <'$tmp/go'"
add --project web -- true
rule 'the pace holds the second one back' [ "$(value web-2 gate)" = pace ]
run sluice tick --dry-run
exits 0 'f123: dry run: exit code'
prints 'would start
  #  TASK   PROJECT  AGENT  SCORE  WHEN
  1  web-2  web      -        100  now' 'f123: dry run'
rule 'f123: and nothing has started' [ "$(value web-2 state)" = ready ]
run sluice tick
prints 'started
  #  TASK   PROJECT  AGENT  SCORE  WHEN
  1  web-2  web      -        100  now' 'f123: a tick by hand'
rule 'f123: and it runs' becomes web-2 running

# A manual tick while nothing can start has no later effect.
"$SLUICE" pause >/dev/null
run sluice tick
prints "nothing to start; 'sluice status' shows why" 'f123: a tick while everything is paused starts nothing'
"$SLUICE" resume >/dev/null
rule 'f123: and nothing later' [ "$(value web-3 gate)" = pace ]

# With a delay between starts, a dry run shows the rest of the batch: one of three has started.
run sluice config set pace.batch=3 pace.spawn_delay_s=600 limits.runs=9
add --project web -- true
run sluice tick --dry-run --json
rule 'f123: a dry run shows the complete batch' [ "$(grep -oE '"id":"web-[34]"' "$tmp/out" | wc -l)" = 2 ]
# shellcheck disable=SC2046 # two numbers
set -- $(grep -oE '"at":[0-9]+' "$tmp/out" | cut -d: -f2)
rule 'f123: with its times, which are the delay apart' [ $(($2 - $1)) = 600000 ]

run sluice tick now
exits 2 'an argument: exit code'
says "sluice: 'tick' does not take the argument 'now'
usage: sluice tick [--dry-run]" 'an argument'
finish
