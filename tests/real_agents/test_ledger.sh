#!/bin/sh
# What is booked is what the service has charged, by its own ledger: agents that start others, a budget that ends a run, a resumed
# session, a turn that fails, a run that is stopped or ended by a signal; with telemetry and without.
# shellcheck disable=SC1091,SC2154 # kit.sh sets id, home, work, accounts
. "$(dirname "$0")/kit.sh"
. "$(dirname "$0")/ledger.sh"
service ok
books

everything() { # SUFFIX
    scene "claude, two calls$1" claude 'tool echo one' 'ok The end.'
    succeeds
    scene "claude, a subagent$1" claude agent 'ok The end.'
    succeeds
    rule "$name: the subagent has asked" [ "$(answered child)" = 1 ]
    scene "claude, a limit between two subagents$1" claude agent 'ok So far.' 'limit 3' agent 'ok The end.'
    succeeds
    scene "claude, a conversation that is compacted$1" claude 'tool echo one' 'spend 990000 echo two' 'ok A summary.' 'ok The end.'
    succeeds
    rule "$name: it was" [ "$(asked "len(r)")" -ge 4 ]
    scene "claude, a budget that ends its first call$1" claude 'spend 102000'
    asks --retries 0 --run-usd 0.05
    ends "$id"
    agrees "$name"
    rule "$name: money and tokens are of the same call" [ "$(of "$id" "t['runs'][0]['cost_usd'] > 0.1")" = True ]
    scene "claude, a turn that fails$1" claude 'tool echo one' fail
    fails
    scene "claude, canceled$1" claude "tool tail -f $wait_for" ok
    asks --retries 0
    soon begun
    [ -z "$1" ] || soon heard
    report $? "$name: it works, and its telemetry is heard"
    "$SLUICE" cancel "$id" >/dev/null
    becomes "$id" canceled
    agrees "$name"
    scene "claude, ended by SIGTERM, and resumed$1" claude agent "tool tail -f $wait_for" 'ok The end.'
    asks --retries 1
    soon begun
    signal_agent TERM
    rule "$name: done" becomes "$id" 'done'
    agrees "$name"
}
everything ''

scene 'codex, two calls' codex 'tool echo one' 'ok The end.'
succeeds
# 312 new tokens, 4000 from the cache and 25 written, twice, in dollars for a million.
rule 'codex: it has a price without agents.codex.model' [ "$(of "$id" "round(t['runs'][0]['cost_usd'] * 1e6)")" = 9648 ]
scene 'codex, a subagent' codex agent await 'ok The end.'
succeeds
rule "$name: the subagent has asked" [ "$(answered child)" = 1 ]
printf '[agents]\nmax_depth = 2\n' >>"$HOME/.codex/config.toml" # its usual depth is 1
scene 'codex, a subagent of a subagent' codex nest await 'ok The end.'
succeeds
scene 'codex, a limit after a subagent' codex agent await 'limit 3' 'tool echo two' 'ok The end.'
succeeds
scene 'codex, a turn that fails' codex 'tool echo one' fail
fails
scene 'codex, canceled' codex "tool tail -f $wait_for" ok
canceled

sed -i '1i model_auto_compact_token_limit = 100000' "$HOME/.codex/config.toml"
scene 'codex, a conversation that is compacted' codex 'tool echo one' 'spend 150000 echo two' 'ok A summary.' 'ok The end.'
succeeds
rule "$name: it was" [ "$(asked "len(r)")" = 4 ]

"$SLUICE" config set otel.listen=127.0.0.1:0 >/dev/null
everything ', with telemetry'
finish
