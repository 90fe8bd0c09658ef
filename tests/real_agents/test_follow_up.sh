#!/bin/sh
# Real agents continue a finished task: the message is the next prompt of the same conversation.
# shellcheck disable=SC1091,SC2154 # kit.sh sets id, work, accounts
. "$(dirname "$0")/kit.sh"
service ok
config "$accounts"
start

ran() { # ATTEMPTS: the task is done, and has had this many
    [ "$(value "$id" attempt) $(value "$id" state)" = "$1 done" ]
}

for agent in claude codex; do
    : >"$stub/requests"
    scenes 'ok The door is painted.' 'ok The window, too.' 'ok And the roof.'
    add --agent $agent --cwd "$work" "Paint the door, $agent."
    rule "$agent: the task is done" becomes "$id" 'done'
    run sluice again -m "Now the window, $agent." "$id"
    exits 0 "$agent: it is continued"
    rule "$agent: and done again" soon ran 2
    run sluice again -m "Now the roof, $agent." "$id"
    rule "$agent: twice" soon ran 3
    rule "$agent: in the same session" [ "$(of "$id" "len({run['session'] for run in t['runs']})")" = 1 ]
    rule "$agent: the provider got task and messages in one conversation" \
        [ "$(asked "'Paint the door, $agent.' in r[-1]['prompt'] and 'Now the roof, $agent.' in r[-1]['prompt'] and r[-1]['turns'] > r[0]['turns']")" = True ]
    rule "$agent: every token is booked once" [ "$(booked "$id" in) $(booked "$id" out)" = "$(charged in) $(charged out)" ]
done
finish
