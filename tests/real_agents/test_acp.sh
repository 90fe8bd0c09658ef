#!/bin/sh
# A real agent that speaks the Agent Client Protocol: work, permissions, a limit, a stop, no login.
# shellcheck disable=SC1091,SC2016,SC2154 # kit.sh sets id and work; $ is for inner shells
. "$(dirname "$0")/kit.sh"
service ok
config "limiter: {margin_s: 0, jitter_s: 0}
tasks: {idle_timeout_s: 120, sandbox: auto}
agents:
  worker: {adapter: acp, command: [codex-acp, -c, sandbox_mode=danger-full-access], limiter: codex}
  asker: {adapter: acp, command: [codex-acp, -c, approval_policy=untrusted, -c, sandbox_mode=danger-full-access], limiter: codex, permissions: deny}
  asked: {adapter: acp, command: [codex-acp, -c, approval_policy=untrusted, -c, sandbox_mode=danger-full-access], limiter: codex, permissions: allow}
  waiter: {adapter: acp, command: [codex-acp, -c, approval_policy=untrusted, -c, sandbox_mode=danger-full-access], limiter: codex, permissions: ask}
  leaver: {adapter: acp, command: [codex-acp, -c, approval_policy=untrusted, -c, sandbox_mode=danger-full-access], limiter: codex, permissions: ask, ask_wait_s: 1}
  other: {adapter: acp, command: [codex-acp], limiter: nobody, env: [CODEX_HOME=$HOME/none]}"
mkdir -p "$HOME/none"
start

scenes 'tool echo acp >made' 'ok All of it is done.'
add --agent worker --cwd "$work" 'Make a file that says who you are.'
rule 'the task is done' becomes "$id" 'done'
rule 'the agent got the prompt' [ "$(asked "'Make a file that says who you are.' in r[-1]['prompt']")" = True ]
rule 'it worked in the folder of the task' [ "$(cat "$work/made")" = acp ]
rule 'in a sandbox' boxed "$id"
rule 'its message is kept' [ "$(of "$id" "t['runs'][0]['message']")" = 'All of it is done.' ]
rule 'it reports no tokens: unknown, not zero' [ "$(of "$id" "t['runs'][0]['tokens_in']")" = None ]
rule 'nothing is left of it' [ -z "$(left_of t-1)" ]

scenes 'tool touch denied' 'ok Done.'
add --agent asker --retries 0 --cwd "$work" 'Make a file.'
ends "$id"
run sluice show "$id"
has 'not permitted: execute (touch denied)' 'what it may not do is denied'
rule 'and not done' [ ! -e "$work/denied" ]
scenes 'tool touch allowed' 'ok Done.'
add --agent asked --cwd "$work" 'Make a file.'
rule 'what it may do is done' becomes "$id" 'done'
rule 'after it has asked' grep -q '"acp":"allowed","tool":"execute","argument":"touch allowed"' "$home/runs/$id/1/out.log"

# A person decides: first while the agent waits, then when it has ended its turn and its session is resumed.
open_question() { "$SLUICE" questions | grep -q "^  $id .*touch $1"; }
scenes 'tool touch waited-for' 'ok Done.'
add --agent waiter --retries 0 --cwd "$work" 'Make a file.'
rule 'its request for permission is a question' soon open_question waited-for
yes=$("$SLUICE" questions --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["items"][0]["choices"][0])')
no=$("$SLUICE" questions --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["items"][0]["default"])')
printf '# %s\n' "$("$SLUICE" questions --json)"
run sluice answer "$id" "$yes"
rule 'the agent that waits goes on' becomes "$id" 'done'
rule 'and does it' [ -e "$work/waited-for" ]
scenes 'tool touch rejected' 'ok Done.'
add --agent waiter --retries 0 --cwd "$work" 'Make a file.'
soon open_question rejected
run sluice answer "$id" "$no"
ends "$id"
rule 'what the person denies is not done' [ ! -e "$work/rejected" ]
scenes 'tool touch resumed' 'tool touch resumed' 'ok Done.'
add --agent leaver --retries 0 --cwd "$work" 'Make a file.'
held() { [ "$(value "$id" hold)" = question ]; }
rule 'an agent that has waited long enough ends its turn' soon held
run sluice answer "$id" "$yes"
rule 'its session is resumed' becomes "$id" 'done'
rule 'where the answer counts' [ -e "$work/resumed" ]
rule 'it is the same session' [ "$(of "$id" "[len(t['runs']), len({run['session'] for run in t['runs']}), t['runs'][0]['outcome']]")" = "[2, 1, 'asked']" ]

scenes minute 'ok Done.'
add --agent worker --cwd "$work" 'Remember this.'
rule 'a limit of the plan is waited for' becomes "$id" 'done'
rule 'in two attempts at least' [ "$(of "$id" "len(t['runs']) > 1 and t['runs'][0]['outcome'] == 'limited'")" = True ]
rule 'in the same session' [ "$(of "$id" "len({run['session'] for run in t['runs']})")" = 1 ]

scenes hang
before=$(answered hang)
add --agent worker --cwd "$work" 'Wait.'
hangs() { [ "$(answered hang)" -gt "$before" ]; }
soon hangs
run sluice cancel "$id"
rule 'a run is canceled' becomes "$id" canceled
rule 'by the protocol' grep -qxF '{"acp":"end","reason":"cancelled","stopped":true}' "$home/runs/$id/1/out.log"

add --agent other --cwd "$work" 'Hello.'
rule 'without a login its account is closed' soon sh -c '"$SLUICE" limiter list --json | grep -q "\"state\":\"closed\""'
rule 'and the methods of the agent are named' \
    [ "$(of "$id" "'chatgpt, codex-api-key, openai-api-key' in t['runs'][0]['message']")" = True ]
finish
