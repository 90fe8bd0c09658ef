#!/bin/sh
# docs/guide/agents.md: its settings; judging the output of an agent.
# shellcheck disable=SC1091,SC2154 # kit.sh
. "$(dirname "$0")/kit.sh"
document docs/guide/agents.md
agents_can_log
# The agent is called by the page itself, not by Sluice.
called() {
    : >"$log/argv"
    rm -f "$log"/*.sandbox
}
after 'codex exec' called
play
played
