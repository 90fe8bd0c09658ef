#!/bin/sh
# sluice debug: the table of document 000.
# shellcheck disable=SC2154 # lib.sh sets here, root and tmp
. "$(dirname "$0")/lib.sh"

run sluice debug scheduler --snapshot "$here/plan/000-debug.json"
exits 0 'debug scheduler'
prints '  ID          TYPE   PRIORITY  AGE  DEPTH  ITER  RUNNABLE
  1737802800  ralph  135       5m   3      1     yes
  1737802500  phase  130       30m  2      1     yes
  1737802700  ralph  111       1m   3      5     yes
  1737802000  plan   100       50m  1      1     no (parent incomplete)' 'the table of document 000'

run sluice debug scheduler --json --snapshot "$here/plan/000-debug.json"
has '{"id":"1737802000","type":"plan","priority":100,"age_ms":3000000,"depth":1,"iteration":1,"runnable":false,"reason":"parent incomplete"}' 'as JSON'

run sluice debug scheduler --snapshot "$here/plan/mixed.json"
for reason in 'held' 'dependency incomplete' 'artifact missing' 'rate limited' 'project budget used up' \
    'lease:serial:web/p1/-'; do
    has "no ($reason)" "reason: $reason"
done

run sluice debug scheduler --snapshot - <"$here/plan/empty.json"
prints '  ID  TYPE  PRIORITY  AGE  DEPTH  ITER  RUNNABLE' 'nothing to list'
run sluice debug scheduler
exits 2 'no snapshot: exit code'
says "sluice: option '--snapshot' is needed
usage: sluice debug scheduler --snapshot FILE [--set KEY=VALUE]..." 'no snapshot'
run sluice debug
exits 2 'no subcommand: exit code'
run sluice debug schedule
exits 2 'unknown subcommand: exit code'
says "sluice: unknown command 'debug schedule'; did you mean 'scheduler'?
usage: sluice debug scheduler --snapshot FILE [--set KEY=VALUE]..." 'unknown subcommand'
shown docs/cli/debug.md debug scheduler --snapshot examples/loopr.json
finish
