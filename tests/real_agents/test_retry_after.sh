#!/bin/sh
# 429 with a retry-after: one is the agent's own affair; one that does not end costs the task nothing, and stops
# everybody else who uses that account.
# shellcheck disable=SC1091,SC2154 # kit.sh sets id, work, accounts
. "$(dirname "$0")/kit.sh"
service ok
config "$accounts"
start

for agent in claude codex; do
    : >"$stub/requests"
    scenes '429 2' ok
    add --agent $agent --retries 0 --cwd "$work" 'Say hello.'
    rule "$agent: one 429 in the middle of a run does not end it" becomes "$id" 'done'
    rule "$agent: it has waited as long as it was told" [ "$(asked "r[1]['at'] - r[0]['at'] >= 2")" = True ]
    rule "$agent: nobody had to try again" [ "$(of "$id" "len(t['runs'])")" = 1 ]
    rule "$agent: a refused request costs nothing" [ "$(booked "$id" in)" = 4312 ]

    scenes '429 1'
    add --agent $agent --retries 0 --cwd "$work" 'Say hello again.'
    limited=$id
    ends_limited() { [ "$(of "$limited" "[run['outcome'] for run in t['runs']].count('limited') > 0")" = True ]; }
    rule "$agent: 429 for ever ends the run as limited" soon ends_limited
    add --agent $agent --retries 0 --cwd "$work" 'Say hello, too.'
    waits=$id
    rule "$agent: no retry was left, and the task lives" [ "$(value "$limited" state)" != failed ]
    scenes ok
    rule "$agent: it goes on by itself" becomes "$limited" 'done'
    rule "$agent: and so does the other one of that account" becomes "$waits" 'done'
    rule "$agent: the limit counts as no failure" [ "$(of "$limited" "t['counters']['failures']")" = 0 ]
done
finish
