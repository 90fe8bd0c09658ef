#!/bin/sh
# A task that goes well: its prompt, its work, its final message and its tokens.
# shellcheck disable=SC1091,SC2154 # kit.sh sets id, work, accounts
. "$(dirname "$0")/kit.sh"
service ok
config "$accounts"
start

for agent in claude codex; do
    scenes "tool echo $agent >made" "ok All of it is done."
    add --agent $agent --cwd "$work" 'Make a file that says who you are.'
    rule "$agent: the task is done" becomes "$id" 'done'
    rule "$agent: it got the prompt" [ "$(asked "'Make a file that says who you are.' in r[-1]['prompt']")" = True ]
    rule "$agent: it worked in the folder of the task" [ "$(cat "$work/made")" = $agent ]
    rule "$agent: in a sandbox" boxed "$id"
    rule "$agent: in one attempt" [ "$(of "$id" "len(t['runs'])")" = 1 ]
    rule "$agent: the run was good" [ "$(of "$id" "t['runs'][0]['outcome']")" = ok ]
    rule "$agent: its last word is kept" [ "$(of "$id" "t['runs'][0]['message']")" = 'All of it is done.' ]
    rule "$agent: two requests, the tokens of two requests" \
        [ "$(booked "$id" in) $(booked "$id" out)" = '8624 50' ]
done
rule 'what the service has charged is what was booked' \
    [ "$(booked 1 2 in) $(booked 1 2 out)" = "$(charged in) $(charged out)" ]
rule 'claude tells what it has cost' [ "$(of 1 "t['runs'][0]['cost_usd'] > 0")" = True ]
rule 'codex does not: unknown, not nothing' [ "$(of 2 "t['runs'][0]['cost_usd']")" = None ]
rule 'nothing is left of them' [ -z "$(left_of t-1)$(left_of t-2)" ]
finish
