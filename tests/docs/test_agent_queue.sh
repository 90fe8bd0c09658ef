#!/bin/sh
# docs/migrate/agent-queue.md, with a small database.
# shellcheck disable=SC1091,SC2016,SC2154 # kit.sh sets log; $1 is for the inner shell
. "$(dirname "$0")/kit.sh"
document docs/migrate/agent-queue.md
state_of agent-queue "$HOME/.agent-queue"
mkdir -p "$HOME/src/web" "$HOME/agent-queue-workspaces/weather-cli/main"
after 'sluice init' agents_can_log
mkfifo "$log/gate"
taken() {
    becomes web-1 running
}
finished() {
    timeout "$patience" sh -c 'echo >"$1"; rm "$1"' - "$log/gate"
    drained
    are 'done' web-1
    rule 'in the folder of its project' [ "$(cat "$log/web-1.1.cwd")" = "$HOME/src/web" ]
    prompted 'fix the failing test' 'a worker was told the prompt'
    run sluice show web-1
    has 'ok, by ada' 'show names the worker of the run'
}
before 'sluice list' taken
after 'sluice list' finished
play
drained
says_that 'sluice list' ada
says_that 'sluice import agent-queue --dry-run' '4 would be added, 0 already, 0 skipped, 0 refused'
says_that 'sluice import agent-queue --settings' '4 added, 0 already, 0 skipped, 0 refused'
are 'done' calm-heron brave-otter keen-lynx quick-wren
rule 'the project has its limit' [ "$("$SLUICE" project show --json weather-cli | first max_running)" = 2 ]
rule 'what came over runs in its workspace' [ "$(sort -u "$log"/weatherc-*.cwd)" = "$HOME/agent-queue-workspaces/weather-cli/main" ]
played
