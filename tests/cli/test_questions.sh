#!/bin/sh
# sluice questions: lists what is asked and not answered.
# shellcheck disable=SC2154 # lib.sh and daemon.sh set home, id, root and tmp
. "$(dirname "$0")/lib.sh"
. "$here/daemon.sh"

start
run sluice questions
exits 0 'none: exit code'
prints 'no open questions' 'none'
run sluice project add web
add --project web -- "$SLUICE" ask 'Which one?'
becomes web-1 held
add --project web -- "$SLUICE" ask --deadline 1h 'And when?'
becomes web-2 held
run sluice questions
rule 'oldest first' [ "$(awk 'NR > 1 { printf "%s ", $1 }' out)" = 'web-1 web-2 ' ]
has 'Which one?' 'with the question'
run sluice questions --json
has '"question":"And when?","choices":[]' 'as JSON'
run sluice questions web-1
exits 2 'an argument: exit code'
finish
