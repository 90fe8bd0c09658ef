#!/bin/sh
# The ledger of test_ledger.sh for Gemini.
# shellcheck disable=SC1091,SC2154 # kit.sh sets id, wait_for, copilot_env
. "$(dirname "$0")/kit.sh"
. "$(dirname "$0")/ledger.sh"
service ok
books 'agents: {gemini: {args: [--approval-mode, yolo], model: gemini-2.5-flash}}'

scene 'gemini, two calls' gemini 'tool echo one' 'ok The end.'
succeeds
scene 'gemini, a subagent' gemini agent 'ok The end.'
succeeds
rule "$name: the subagent has asked" [ "$(answered child)" -ge 1 ]
scene 'gemini, a limit between two subagents' gemini agent 'limit 3' agent 'ok The end.'
succeeds
# The stub does not bring it to compact its conversation.
scene 'gemini, a large call' gemini 'tool echo one' 'spend 900000 echo two' 'ok The end.'
succeeds
scene 'gemini, refused' gemini 'tool echo one' bad
fails
scene 'gemini, canceled' gemini 'tool echo one' "tool tail -f $wait_for" ok
canceled
scene 'gemini, ended by SIGTERM, and resumed' gemini "tool tail -f $wait_for" 'ok The end.'
asks --retries 1
soon begun
signal_agent TERM
rule "$name: done" becomes "$id" 'done'
agrees "$name"
finish
