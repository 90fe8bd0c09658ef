#!/bin/sh
# The ledger of test_ledger.sh for Copilot.
# shellcheck disable=SC1091,SC2154 # kit.sh sets id, wait_for, copilot_env
. "$(dirname "$0")/kit.sh"
. "$(dirname "$0")/ledger.sh"
service ok
books "agents: {copilot: {env: $copilot_env}}"

scene 'copilot, two calls' copilot 'tool echo one' 'ok The end.'
succeeds
scene 'copilot, a subagent' copilot agent 'ok The end.'
succeeds
rule "$name: the subagent has asked" [ "$(answered child)" -ge 1 ]
scene 'copilot, a limit between two subagents' copilot agent 'limit 3' agent 'ok The end.'
succeeds
scene 'copilot, a conversation that is compacted' copilot 'tool echo one' 'spend 199000 echo two' 'tool echo three' 'ok The end.'
succeeds
rule "$name: it was" [ "$(asked "len(r)")" -gt 4 ]
scene 'copilot, refused' copilot 'tool echo one' bad
fails
# A call that is not in the file of its session yet is lost when it is stopped.
begun() {
    [ -n "$(tools)" ] && session=$(of "$id" "t['runs'][-1]['session']") &&
        [ "$(grep -c '"session.usage_record"' "$HOME/.copilot/session-state/$session/events.jsonl")" = \
            "$(asked 'sum(one.get("tokens_in", 0) > 0 for one in r)')" ]
}
scene 'copilot, canceled' copilot 'tool echo one' "tool tail -f $wait_for" ok
canceled
scene 'copilot, ended by SIGTERM, and resumed' copilot agent "tool tail -f $wait_for" 'ok The end.'
asks --retries 1
soon begun
signal_agent TERM
rule "$name: done" becomes "$id" 'done'
agrees "$name"
finish
