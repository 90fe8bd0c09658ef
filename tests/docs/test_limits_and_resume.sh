#!/bin/sh
# docs/guide/limits-and-resume.md: settings of agents, and a key.
# shellcheck disable=SC1091 # kit.sh
. "$(dirname "$0")/kit.sh"
document docs/guide/limits-and-resume.md
ANTHROPIC_API_KEY=not-a-key
export ANTHROPIC_API_KEY
agents_can_log
play
drained
prompted 'make the tests of the parser pass' 'the first task'
played
