#!/bin/sh
# docs/guide/take-over.md: a task that a person finishes, and one that is given back.
# shellcheck disable=SC1091,SC2154 # kit.sh sets log
. "$(dirname "$0")/kit.sh"
document docs/guide/take-over.md
repository "$HOME/src/web"
agents_can_log
play
rule 'the work of the person is merged' [ "$(git -C "$HOME/src/web" show HEAD:README.md | grep -c 'Call the section Tests.')" = 1 ]
rule 'both tasks are done' [ "$(value web-1 state) $(value web-2 state)" = 'done done' ]
prompted 'Now add the date of each version.' 'the agent has the message'
played
