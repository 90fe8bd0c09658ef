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

run sluice debug scheduler --snapshot "$here/plan/reserve.json"
has 'web-1  -     100       0s   0      1     no (only reserve left)' 'an account of which only the reserve is left is not limited'
has 'web-2  -     100       0s   0      1     no (rate limited)' 'one that is, is'

run sluice debug scheduler --snapshot - <"$here/plan/empty.json"
prints '  ID  TYPE  PRIORITY  AGE  DEPTH  ITER  RUNNABLE' 'nothing to list'
run sluice debug
exits 2 'no subcommand: exit code'
run sluice debug schedule
exits 2 'unknown subcommand: exit code'
says "sluice: unknown command 'debug schedule'; did you mean 'scheduler'?
usage: sluice debug events|outcome|scheduler ..." 'unknown subcommand'
run sluice debug scheduler --set limits.runs=1
exits 2 '--set without a snapshot: exit code'
says "sluice: option '--set' needs --snapshot
usage: sluice debug scheduler [--snapshot FILE [--set KEY=VALUE]...]" '--set without a snapshot'

# Parses the output of an agent; needs no daemon.
recorded=$root/tests/fixtures/agents
run sluice debug outcome --agent claude --exit 0 "$recorded/claude/tool-ok/stdout"
exits 0 'outcome: exit code'
prints '{"outcome":"ok","reset_at":null,"tokens":{"in":8624,"out":50,"cached":8000},"cost_usd":0.002848,"session":"f7a065e5-879c-4187-9f9c-ec2b23c1a6c6","message":"All work is finished. <promise>DONE</promise>"}' \
    'outcome: a good run'
run sluice debug outcome --json --agent claude --exit 143 - <"$recorded/claude/sigterm/stdout"
prints '{"outcome":"crashed","reset_at":null,"tokens":{"in":4312,"out":null,"cached":4000},"cost_usd":null,"session":"cc4d6679-e914-4aa7-a8c2-44648a61f60b","message":"I will run a command."}' \
    'outcome: unknown is null, and no last word is not ok'
run sluice debug outcome --agent claude --exit 1 --stderr "$recorded/claude/resume-missing/stderr" /dev/null
prints '{"outcome":"crashed","reset_at":null,"tokens":{"in":null,"out":null,"cached":null},"cost_usd":null,"session":null,"message":"No conversation found with session ID: 00000000-0000-4000-8000-000000000000"}' \
    'outcome: the error output tells why'
echo finished >plain
run sluice debug outcome --agent plain --exit 0 plain
has '"outcome":"ok"' 'outcome: of a plain program the exit code is the word'
run sluice debug outcome --agent cladue --exit 0 /dev/null
exits 2 'outcome: unknown adapter: exit code'
says "sluice: unknown adapter 'cladue': expected one of claude, codex, gemini, opencode, copilot, acp, claude-stream, plain" \
    'outcome: unknown adapter'
run sluice debug outcome --agent claude /dev/null
exits 2 'outcome without --exit: exit code'
says "sluice: option '--exit' is required
usage: sluice debug outcome --agent NAME --exit CODE [--stderr FILE] [--usage FILE] FILE|-" 'outcome without --exit'
run sluice debug outcome --agent claude --exit 256 /dev/null
exits 2 'outcome --exit 256: exit code'
run sluice debug outcome --agent claude --exit 0 "$tmp/none"
exits 2 'outcome of a missing file: exit code'
says "sluice: cannot open '$tmp/none': No such file or directory" 'outcome of a missing file'
run sluice debug outcome --agent claude --exit 0 --stderr - -
exits 2 'outcome: both from the standard input: exit code'

# The daemon's own queue.
run sluice debug scheduler
exits 3 'no daemon: exit code'
says "sluice: no daemon is running; 'sluice up' starts it" 'no daemon'
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
says "sluice: option '--after': expected a whole number of at least 0, got 'x'
usage: sluice debug events [--after N]" 'events --after x'
shown docs/reference/cli/debug.md debug scheduler --snapshot examples/loopr.json
shown docs/reference/cli/debug.md debug outcome --agent claude --exit 1 tests/fixtures/agents/claude/limit-oauth/stdout
finish
