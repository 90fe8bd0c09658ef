#!/bin/sh
# A cancel in the middle of a turn: nothing of the agent lives on, not even what its tools have started in
# sessions of their own.
# shellcheck disable=SC1091,SC2154 # kit.sh sets id, work, accounts
. "$(dirname "$0")/kit.sh"
service ok
config "$accounts"
start

begun() { [ -n "$(tools)" ]; }
: >"$work/$wait_for"
hanging() { [ "$(answered hang)" -gt "$1" ]; }

for agent in claude codex; do
    for how in '' --now; do
        scenes "tool tail -f $wait_for" ok
        add --agent $agent --retries 0 --cwd "$work" 'Wait for something.'
        rule "$agent: its tool works" soon begun
        rule "$agent: and belongs to the task" [ -n "$(left_of "$id")" ]
        # shellcheck disable=SC2086 # a word or none
        "$SLUICE" cancel $how "$id" >/dev/null
        rule "$agent: canceled $how" becomes "$id" canceled
        rule "$agent: its tool is gone $how" no_tools
        rule "$agent: nothing of it is left $how" [ -z "$(left_of "$id")" ]
    done

    before=$(answered hang)
    scenes hang
    add --agent $agent --retries 0 --cwd "$work" 'Begin to answer.'
    soon hanging "$before"
    "$SLUICE" cancel "$id" >/dev/null
    rule "$agent: canceled in the middle of an answer" becomes "$id" canceled
    rule "$agent: nothing of it is left" [ -z "$(left_of "$id")" ]
done
rule 'what is canceled is not tried again' [ "$(of 1 "len(t['runs'])")" = 1 ]
finish
