#!/bin/sh
# The agents alone, without a daemon: what the pinned versions print is what the adapters expect of them.
# When a version is raised, this says first what has changed.
# shellcheck disable=SC1091,SC2154 # kit.sh sets tmp and work
. "$(dirname "$0")/kit.sh"
service ok

# As the adapters start them; few retries, so that the test does not wait.
talk() { # AGENT
    case $1 in
    claude)
        set -- claude -p --output-format stream-json --verbose --permission-mode acceptEdits --allowedTools=Bash
        export CLAUDE_CODE_MAX_RETRIES=1
        ;;
    codex) set -- codex exec --json --skip-git-repo-check --sandbox workspace-write - ;;
    esac
    echo 'Say hello.' >"$tmp/prompt"
    (cd "$work" && timeout "$patience" "$@" <"$tmp/prompt" >"$tmp/said" 2>"$tmp/complained")
    said=$?
}

judged() { # AGENT: what the adapter makes of it, in out
    talk "$1"
    run sluice debug outcome --agent "$1" --exit $said --stderr "$tmp/complained" "$tmp/said"
}

for agent in claude codex; do
    scenes 'ok Hello from the stub.'
    judged $agent
    rule "$agent: an answer is ok" [ "$(field outcome)" = ok ]
    rule "$agent: its tokens, cached ones included" \
        [ "$(field in) $(field cached) $(field out)" = '4312 4000 25' ]
    rule "$agent: it names its session" [ -n "$(field session)" ]
    rule "$agent: its last word" [ "$(field message)" = 'Hello from the stub.' ]

    scenes 'tool echo made by the agent >made' ok
    judged $agent
    rule "$agent: it may run a command in its folder" grep -q 'made by the agent' "$work/made"
    rule "$agent: and that is ok" [ "$(field outcome)" = ok ]
    rule "$agent: two requests are charged twice" [ "$(field in) $(field out)" = '8624 50' ]
    rm -f "$work/made"

    scenes '429 1'
    judged $agent
    rule "$agent: 429 again and again is a limit of the account" [ "$(field outcome)" = limited ]

    scenes '429 1' ok
    judged $agent
    rule "$agent: one 429 is waited for by the agent itself" [ "$(field outcome)" = ok ]
done

scenes 'limit 5400'
judged claude
rule 'claude: a plan that is used up is a limit' [ "$(field outcome)" = limited ]
rule 'claude: it tells when, to the second' [ "$(field reset_at)" = "$(asked "r[-1]['reset_at'] * 1000")" ]

scenes '429 5400'
judged claude
rule 'claude: it does not wait for hours by itself' [ "$(field outcome)" = limited ]
scenes 'limit 5400'

# Its message has hours and minutes, in local time.
judged codex
rule 'codex: a plan that is used up is a limit' [ "$(field outcome)" = limited ]
rule 'codex: it tells when, to the minute' [ "$(field reset_at)" = "$(asked "r[-1]['reset_at'] // 60 * 60000")" ]
finish
