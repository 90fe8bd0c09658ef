#!/bin/sh
# What an agent may do without any setting: everything in a sandbox, edits alone without one. And the tools of the queue.
# shellcheck disable=SC1091,SC2154 # kit.sh sets id, work, accounts
. "$(dirname "$0")/kit.sh"
service ok
config "$accounts"
start
cd "$work" || exit 1

scenes "tool sh -c 'echo ran >made'" 'ok All of it is done.'
add --agent claude 'Run a command.'
rule 'in a sandbox: the task is done' becomes "$id" 'done'
rule 'in a sandbox: it was one' boxed "$id"
rule 'in a sandbox: nothing was denied' [ "$(of "$id" "t['runs'][0]['outcome']") $(of "$id" "len(t['runs'])")" = 'ok 1' ]
rule 'in a sandbox: the command ran' [ "$(cat made)" = ran ]

rm made
scenes "tool sh -c 'echo ran >made'" 'ok All of it is done.'
add --agent claude --sandbox none --retries 0 'Run a command.'
ends "$id"
run sluice show "$id"
has denied 'without a sandbox: denied'
rule 'without a sandbox: the command did not run' [ ! -e made ]

# The queue as tools, as docs/guide/mcp.md has it.
"$SLUICE" mcp install --agent claude --yes >/dev/null
for box in auto none; do
    scenes "mcp post_message {\"text\":\"hello from $box\"}" 'ok I have said it.'
    add --agent claude --sandbox $box 'Say hello.'
    rule "sandbox $box: the task that uses the queue is done" becomes "$id" 'done'
    rule "sandbox $box: the tool was not denied" [ "$(of "$id" "t['runs'][0]['outcome']")" = ok ]
    "$SLUICE" bus read --task "$id" >"$tmp/out" 2>&1
    has "hello from $box" "sandbox $box: the message has arrived"
done
finish
