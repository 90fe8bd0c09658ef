#!/bin/sh
# Real agents ask a person: the task is held, and the answer is the next prompt of the same conversation.
# shellcheck disable=SC1091,SC2154 # kit.sh sets id, work, accounts
. "$(dirname "$0")/kit.sh"
service ok
config "$accounts"
start

held() {
    [ "$(value "$id" state) $(value "$id" hold)" = 'held question' ]
}

for agent in claude codex; do
    : >"$stub/requests"
    scenes "tool $SLUICE ask --choice blue --choice red 'Which colour?'" 'ok I have asked.' 'ok It is blue.'
    add --agent $agent --cwd "$work" "Paint the door, $agent."
    rule "$agent: a task that asks is held" soon held
    rule "$agent: nothing is counted" [ "$(of "$id" "(t['counters']['failures'], t['counters']['restarts'], len(t['runs']))")" = '(0, 0, 1)' ]
    session=$(of "$id" "t['runs'][0]['session']")
    run sluice answer "$id" blue
    exits 0 "$agent: the answer is stored"
    rule "$agent: it goes on and ends" becomes "$id" 'done'
    rule "$agent: in the same session" [ "$(of "$id" "t['runs'][1]['session']")" = "$session" ]
    rule "$agent: the provider got task and answer in one conversation" \
        [ "$(asked "'Paint the door' in r[-1]['prompt'] and r[-1]['turns'] > r[0]['turns']")" = True ]
    rule "$agent: what it used is booked once" [ "$(booked "$id" in) $(booked "$id" out)" = "$(charged in) $(charged out)" ]
done
finish
