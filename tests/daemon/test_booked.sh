#!/bin/sh
# A run that reports impossible usage: it does not block others, the owner gets an alert and can correct the booked usage. Each
# case is first run with the bounds disabled, where the report does block others.
# shellcheck disable=SC1091,SC2016,SC2154 # kit.sh sets id, home, tmp; the shell of the run expands the rest
. "$(dirname "$0")/kit.sh"

needs curl
PATH=$(dirname "$SLUICE"):$PATH
export PATH
config 'budget: 1000000
budget_usd: 50
projects: {web: , api: }'
start

# Two ways to send a false report: with the command, and with a request that the command would refuse.
cat >by_command.sh <<'END'
sluice report --tokens 900000000000 2>&1
echo "code $?"
END
cat >by_request.sh <<'END'
curl -s --unix-socket "$SLUICE_SOCKET" -H "Authorization: Bearer $SLUICE_TOKEN" -H 'Content-Type: application/json' \
    -d "{\"task\":\"$SLUICE_TASK\",\"tokens\":900000000000000,\"cost_usd\":1000000}" http://sluice/v1/report
END
lies() { # SCRIPT: runs it in project web
    add --project web -- sh "$tmp/$1"
    liar=$id
    ends "$liar"
    becomes "$liar" 'done'
}
works() { # true if a task of another project still runs
    add --project api -- true
    other=$id
    run sluice why "$other"
}

# --- unbounded ----------------------------------------------------------------------------------------

"$SLUICE" config set report.run_tokens=unlimited report.tokens_per_min=unlimited report.run_usd=unlimited report.usd_per_min=unlimited >/dev/null
lies by_request.sh
works
rule 'control: without bounds another project waits' grep -q 'the token budget is used up (900000000000000 of 1000000)' out
rule 'control: it does not run' [ "$(value "$other" state)" = ready ]

# --- corrected ----------------------------------------------------------------------------------------

run sluice budget "$liar" --booked-tokens 1200 --booked-usd 0.25
exits 0 'the owner corrects it: exit code'
prints "$liar attempt 1 corrected" 'the owner corrects it'
rule 'and the other project goes on' becomes "$other" 'done'
run sluice budget "$liar"
grep -qE '^ *project +tokens +1,200 ' out && grep -qE '^ *project +usd +\$0\.25 ' out
report $? 'its project has used what is true'
"$SLUICE" down --wait >/dev/null 2>&1
start
run sluice budget "$liar"
rule 'also for the next daemon' grep -qE '^ *all projects +tokens +1,200 ' out

# --- bounded ------------------------------------------------------------------------------------------

"$SLUICE" config unset report.run_tokens report.tokens_per_min report.run_usd report.usd_per_min >/dev/null
lies by_command.sh
run sluice logs "$liar"
has 'code 4' 'a claim that cannot be is refused: exit code'
grep -q '^sluice: 900000000000 tokens after [0-9]* s is more than one run may book (report.run_tokens, report.tokens_per_min): it was not booked$' out
report $? 'and the message says why'
works
rule 'another project is not blocked by it' becomes "$other" 'done'
lies by_request.sh
works
rule 'nor by a request' becomes "$other" 'done'
alerts() {
    "$SLUICE" status --json | sed 's/.*"alerts":\[\(.*\)\],"external".*/\1/' >out
}
alerts
has "\"key\":\"usage:$liar\"" 'the owner is told'
run sluice events --json --limit 200
has '"kind":"run.usage_refused"' 'and it is among the events'
run sluice budget "$liar" --booked-usd 0.10
alerts
rule 'until it was corrected' not grep -qF "\"key\":\"usage:$liar\"" out

# --- reported by agents -------------------------------------------------------------------------------

cat >claude.sh <<'END'
echo '{"type":"result","subtype":"success","is_error":false,"result":"done","session_id":"s1","total_cost_usd":1000000,"usage":{"input_tokens":900000000000000,"output_tokens":5},"terminal_reason":"completed"}'
END
"$SLUICE" config set agents.liar.command="sh $tmp/claude.sh" agents.liar.adapter=claude agents.liar.sandbox=none >/dev/null
add --project web --agent liar -- go
becomes "$id" 'done'
alerts
has "\"key\":\"usage:$id\"" 'what an agent prints is bounded, too'
works
rule 'and blocks nobody' becomes "$other" 'done'
finish
