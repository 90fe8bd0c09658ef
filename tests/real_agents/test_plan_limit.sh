#!/bin/sh
# A plan that is used up in the middle of the work: the account waits until the time that its provider has named,
# even over a crash of the daemon; then the task continues the same conversation, by itself.
# shellcheck disable=SC1091,SC2154 # kit.sh sets id, work, accounts
. "$(dirname "$0")/kit.sh"
service ok
config "$accounts"
start

is_limited() { [ "$(of "$1" "t['runs'] and t['runs'][-1]['outcome']")" = limited ]; }

# Only Claude Code reports the second; Codex has a message with hours and minutes.
for agent in claude codex; do
    : >"$stub/requests"
    rm -f "$work/steps"
    case $agent in
    claude) scenes 'tool echo step >>steps' 'limit 12' 'ok All steps are done.' ;;
    codex) scenes 'tool echo step >>steps' 'minute' 'ok All steps are done.' ;;
    esac
    add --agent $agent --retries 0 --cwd "$work" "Take the steps of $agent."
    first=$id
    rule "$agent: the run ends as limited" soon is_limited "$first"
    add --agent $agent --retries 0 --cwd "$work" 'And this one.'
    second=$id

    kill -9 "$(pid_of_daemon)"
    "$SLUICE" up >/dev/null 2>&1
    reset=$(asked "[one['reset_at'] for one in r if one['scene'] == 'limit'][0]")
    run sluice why --json "$second"
    rule "$agent: who waits for the account says so, after a crash, too" [ "$(field first)" = limiter ]
    # The daemon's clock is steady: it may be some milliseconds beside that of the wall.
    opens=$(python3 -c 'import json; print([g["opens_at"] for g in json.load(open("out"))["gates"] if g["gate"] == "limiter"][0])')
    rule "$agent: and until when: the time of the provider" \
        [ "$(((opens - reset * 1000 + 500) / 1000))" = 0 ]

    rule "$agent: it goes on by itself, and is done" becomes "$first" 'done'
    rule "$agent: so is the one that waited" becomes "$second" 'done'
    rule "$agent: nobody asked while the account was closed" [ "$(answered limit)" = 1 ]
    rule "$agent: nor before it opened" \
        [ "$(asked "min(one['at'] for one in r if one['scene'] == 'ok') >= $reset")" = True ]
    rule "$agent: one more attempt, and no failure" \
        [ "$(of "$first" "len(t['runs'])") $(of "$first" "t['counters']['failures']")" = '2 0' ]
    rule "$agent: the conversation goes on: it has the prompt and the step" \
        [ "$(asked "any(one['scene'] == 'ok' and one['turns'] >= 1 and 'Take the steps of $agent.' in one['prompt'] for one in r)")" = True ]
    rule "$agent: no step is taken twice" [ "$(cat "$work/steps")" = step ]
    rule "$agent: every token is booked once" \
        [ "$(booked "$first" "$second" in) $(booked "$first" "$second" out)" = "$(charged in) $(charged out)" ]
done
finish
