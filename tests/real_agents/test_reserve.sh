#!/bin/sh
# A reserve of 20 %: when an agent reports that 82 % of the 5-hour window is used, the account is closed until the window ends, over
# a crash of the daemon; then the queue continues by itself.
# shellcheck disable=SC1091,SC2154 # kit.sh sets id, work, accounts
. "$(dirname "$0")/kit.sh"
service ok
config "$accounts
limiters:
  claude: {reserve: 20}
  codex: {reserve: 20}"
start

is_parked() {
    run sluice why --json "$1"
    [ "$(field first)" = limiter ]
}
for agent in claude codex; do
    : >"$stub/requests"
    scenes 'used 75 60' 'used 82' 'ok It goes on.'
    add --agent $agent --retries 0 --cwd "$work" "Work, $agent."
    becomes "$id" 'done'
    run sluice limiter show $agent
    has '75 %' "$agent: what is used is shown"
    add --agent $agent --retries 0 --cwd "$work" "Work more, $agent."
    rule "$agent: below 80 % the next task starts" becomes "$id" 'done'
    add --agent $agent --retries 0 --cwd "$work" "Wait, $agent."
    rule "$agent: at 82 % the next task is parked" soon is_parked "$id"
    run sluice why "$id"
    has "account '$agent' has used 82 % of its 5-hour window; 20 % is reserved for you" "$agent: why says so"
    run sluice limiter list
    has reserved "$agent: the account is reserved"
    kill -9 "$(pid_of_daemon)"
    "$SLUICE" up >/dev/null 2>&1
    rule "$agent: a crash of the daemon does not open it" is_parked "$id"
    reset=$(asked "[one['reset_at'] for one in r if one['scene'] == 'used'][-1]")
    opens=$(python3 -c 'import json; print([g["opens_at"] for g in json.load(open("out"))["gates"] if g["gate"] == "limiter"][0])')
    rule "$agent: it opens at the reset" [ "$(((opens - reset * 1000 + 500) / 1000))" = 0 ]
    rule "$agent: then the task runs, by itself" becomes "$id" 'done'
    rule "$agent: and not before" [ "$(asked "r[-1]['scene'] == 'ok' and r[-1]['at'] >= $reset")" = True ]
    rule "$agent: nothing is counted" [ "$(of "$id" "(t['counters']['failures'], len(t['runs']))")" = '(0, 1)' ]
done
finish
