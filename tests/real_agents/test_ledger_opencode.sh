#!/bin/sh
# The ledger of test_ledger.sh for opencode. Two things are in none of its outputs: what agents that it starts have used, and a step
# whose tool is stopped.
# shellcheck disable=SC1091,SC2154 # kit.sh sets id, wait_for
. "$(dirname "$0")/kit.sh"
. "$(dirname "$0")/ledger.sh"
service ok
books 'agents: {opencode: {args: [--auto]}}'

scene 'opencode, two calls' opencode 'tool echo one' 'ok The end.'
succeeds
scene 'opencode, a subagent' opencode agent 'ok The end.'
asks --retries 0
rule "$name: done" becomes "$id" 'done'
rule "$name: the subagent has asked" [ "$(answered child)" = 1 ]
lacks "$name" 4312 25
scene 'opencode, a limit, and resumed' opencode 'tool echo one' 'limit 3' 'tool echo two' 'ok The end.'
succeeds
scene 'opencode, a conversation that is compacted' opencode 'tool echo one' 'spend 199000 echo two' 'tool echo three' 'ok The end.'
succeeds
rule "$name: it was" [ "$(answered aside)" -ge 1 ]
scene 'opencode, refused' opencode 'tool echo one' bad
fails
scene 'opencode, canceled' opencode 'tool echo one' "tool tail -f $wait_for" ok
asks --retries 0
soon begun
"$SLUICE" cancel "$id" >/dev/null
becomes "$id" canceled
lacks "$name" 4312 25
finish
