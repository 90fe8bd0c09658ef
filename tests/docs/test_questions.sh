#!/bin/sh
# docs/guide/questions.md: an agent asks, and a person answers.
# shellcheck disable=SC1091 # kit.sh
. "$(dirname "$0")/kit.sh"
document docs/guide/questions.md
repository "$HOME/src/web"
agents_can_log
"$SLUICE" project add web --path "$HOME/src/web" >/dev/null 2>&1
"$SLUICE" add --project web --cwd - --agent claude 'Ask: Which database should the tests use?' >/dev/null 2>&1
asks() {
    becomes web-1 held
}
before 'sluice questions' asks
play
prompted 'postgres' 'the agent has the answer'
played
