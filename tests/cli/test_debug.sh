#!/bin/sh
# sluice debug: the table of document 000.
# shellcheck disable=SC2154 # lib.sh and daemon.sh set here, home, id, root and tmp
. "$(dirname "$0")/lib.sh"
. "$here/daemon.sh"

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
run sluice debug
exits 2 'no subcommand: exit code'
run sluice debug schedule
exits 2 'unknown subcommand: exit code'
says "sluice: unknown command 'debug schedule'; did you mean 'scheduler'?
usage: sluice debug events|scheduler ..." 'unknown subcommand'
run sluice debug scheduler --set limits.runs=1
exits 2 '--set without a snapshot: exit code'
says "sluice: option '--set' needs --snapshot
usage: sluice debug scheduler [--snapshot FILE [--set KEY=VALUE]...]" '--set without a snapshot'

# The daemon's own queue.
run sluice debug scheduler
exits 3 'no daemon: exit code'
says "sluice: no daemon runs; 'sluice up' starts it" 'no daemon'
config 'preset: loopr
limits: {runs: 0}'
start
run sluice debug scheduler
prints '  ID  TYPE  PRIORITY  AGE  DEPTH  ITER  RUNNABLE' 'an empty queue'
run sluice project add web
add --project web --kind plan -- true
add --project web --kind ralph --parent web-1 --parent-gate none -- true
add --project web --kind spec --parent web-1 -- true
add --project web --hold -- true
run sluice debug scheduler
exits 0 'f128: the live queue: exit code'
sed 's/  [0-9]*s  /  0s  /' out >seconds && mv seconds out
prints '  ID     TYPE   PRIORITY  AGE  DEPTH  ITER  RUNNABLE
  web-2  ralph  110       0s   1      1     no (lease:runs)
  web-4  -      100       0s   0      1     no (held)
  web-3  spec   70        0s   1      1     no (parent incomplete)
  web-1  plan   40        0s   0      1     no (lease:runs)' 'f128: the live queue'
run sluice debug scheduler --json
has '"runnable":false,"reason":"parent incomplete"}' 'as JSON'
run sluice debug events
exits 0 'events: exit code'
head -n 1 out | grep -q '^{"seq":1,'
report $? 'events: the first one, as JSON'
run sluice debug events --after 1 --json
head -c 9 out | grep -q '^\[{"seq":2'
report $? 'events --after --json: one list'
run sluice debug events --after x
exits 2 'events --after x: exit code'
says "sluice: option '--after': expected a whole number from 0 on, got 'x'
usage: sluice debug events [--after N]" 'events --after x'
shown docs/cli/debug.md debug scheduler --snapshot examples/loopr.json
finish
