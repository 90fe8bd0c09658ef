#!/bin/sh
# docs/guide/edit-and-follow-up.md: an edit before the start, and a message after the end.
# shellcheck disable=SC1091,SC2154 # kit.sh sets log
. "$(dirname "$0")/kit.sh"
document docs/guide/edit-and-follow-up.md
agents_can_log
play
are 'done' t-1
prompted 'port the parser and the lexer to C' 'the edited prompt'
prompted 'Good. Now update the manual, too.' 'the message'
played
