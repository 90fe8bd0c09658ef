#!/bin/sh
# Agents with the adapter acp: outcomes, permissions, sessions, stops, and kills of the daemon.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets id, home and tmp
. "$(dirname "$0")/kit.sh"
needs python3 bwrap
agent=$root/tests/acp/agent
mkdir -p work "$HOME/.codex"
echo 'known = true' >"$HOME/.codex/config.toml"
ln -s "$agent" codex-acp

config "limiter: {margin_s: 0, jitter_s: 0}
retry: {launch: {as: failed}}
agents:
  talker: {adapter: acp, command: ['$agent'], limiter: account, env: ['ACP_SEEN=$tmp/seen'], sandbox: none}
  loader: {adapter: acp, command: ['$agent', load], limiter: account, env: ['ACP_SEEN=$tmp/seen'], sandbox: none}
  strict: {adapter: acp, command: ['$agent'], permissions: deny, sandbox: none}
  boxed: {adapter: acp, command: ['$tmp/codex-acp'], mode: code, model: large, sandbox: auto, sandbox_read: ['$root/tests/acp']}
  login: {adapter: acp, command: ['$agent', login], limiter: other, sandbox: none}
  missing: {adapter: acp, command: [no-such-agent], sandbox: none}
  wrong: {adapter: acp, command: ['$agent'], prompt: argument}"
start

tells() { # AGENT PROMPT...: one run in $tmp/work
    name=$1
    shift
    add --agent "$name" --retries 0 --cwd "$tmp/work" -- "$*"
    ends "$id"
}

# --- outcomes ------------------------------------------------------------------------------------------------

tells talker ok
rule 'a turn that ends well' becomes "$id" 'done'
run sluice show "$id"
has 'All is well.' 'its message'
has 'sess-1' 'its session'
run sluice logs "$id"
has 'All is well.' 'logs: what it says'
rule 'and no JSON' [ -z "$(grep -F '{' out)" ]
run sluice logs --raw "$id"
has '"acp":"end"' 'logs --raw: the messages'
tells talker usage
"$SLUICE" show --json "$id" >"$tmp/out"
rule 'tokens and cost, where the agent reports them' \
    [ "$(field tokens_in) $(field tokens_out) $(field tokens_cached)" = '4312 25 4000' ]
has '"cost_usd":0.045' 'money'
tells talker leave
rule 'an agent that exits without an answer has failed, whatever its exit code' becomes "$id" failed
tells talker stop refusal
run sluice show "$id"
has refused 'a refusal'
add --agent login --cwd "$tmp/work" 'ok'
rule 'an agent that is not logged in closes its account' soon sh -c '"$SLUICE" limiter list --json | grep -q "\"state\":\"closed\""'
run sluice show "$id"
has 'authentication methods of the agent: browser, key' 'and says how it can be'

# --- permissions ----------------------------------------------------------------------------------------------

tells strict run touch denied
run sluice show "$id"
has denied 'deny: a command is denied'
rule 'and does not run' [ ! -e work/denied ]
tells talker run touch denied
run sluice show "$id"
has denied 'auto, without a sandbox: a command is denied, too'
tells talker edit "$tmp/work/file"
rule 'auto, without a sandbox: a file in the folder may be changed' becomes "$id" 'done'
tells boxed run 'test -r ~/.codex/config.toml && touch made'
becomes "$id" 'done' && [ -e work/made ]
report $? 'auto, in a sandbox: a command runs, with the settings of the agent that its program is named after'
run grep -h '"acp": *"open"' "$home/runs/$id"/1/out.log
has '"model":"large"' 'in the mode and with the model of the configuration'
rule 'client and agent are in the sandbox' [ "$(value "$id" sandbox)" = bubblewrap ]

# --- failing launches --------------------------------------------------------------------------------------------

tells missing ok
becomes "$id" failed
run sluice show "$id"
has "cannot run 'no-such-agent': No such file or directory" 'an agent that is not installed is a failed launch'
run sluice add --agent wrong 'hello'
exits 2 'prompt: argument is refused: exit code'
complains 'remove agents.wrong.prompt' 'prompt: argument is refused'

# --- sessions ---------------------------------------------------------------------------------------------------

: >seen
add --agent loader --cwd "$tmp/work" limit
rule 'a limit' soon sh -c '"$SLUICE" limiter list --json | grep -q "\"state\":\"backoff\""'
run sluice limiter clear account
rule 'goes on when it is over' becomes "$id" 'done'
rule 'in the same session' grep -q '"method":"session/load".*"sessionId":"sess-1"' seen
: >seen
add --agent talker --cwd "$tmp/work" "once $tmp/limited"
soon sh -c '"$SLUICE" limiter list --json | grep -q "\"state\":\"backoff\""'
run sluice limiter clear account
rule 'an agent that cannot load sessions begins a new one' becomes "$id" 'done'
rule 'and no retry is counted' [ "$(value "$id" failures)" = 0 ]

# --- stops, and kills of the daemon -------------------------------------------------------------------------------

: >seen
add --agent talker --cwd "$tmp/work" wait
soon grep -qsF 'I wait.' "$home/runs/$id/1/out.log"
run sluice cancel "$id"
rule 'cancel' becomes "$id" canceled
rule 'by session/cancel' grep -q '"method":"session/cancel"' seen
rule 'which the agent has answered' grep -qxF '{"acp":"end","reason":"cancelled","stopped":true}' "$home/runs/$id/1/out.log"
add --agent talker --cwd "$tmp/work" wait
soon grep -qsF 'I wait.' "$home/runs/$id/1/out.log"
kill -9 "$(pid_of_daemon)"
run sluice up
rule 'a run outlives the daemon' [ "$(value "$id" state)" = running ]
run sluice cancel "$id"
rule 'and the next one can stop it' becomes "$id" canceled

finish
