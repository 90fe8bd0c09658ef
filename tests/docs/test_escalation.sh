#!/bin/sh
# docs/guide/escalation.md: a task whose check fails twice.
# shellcheck disable=SC1091,SC2154 # kit.sh sets log
. "$(dirname "$0")/kit.sh"
document docs/guide/escalation.md
agents_can_log
"$SLUICE" config set retry.unfinished.delay_s=0 runaway.pause_s=0 >/dev/null
# shellcheck disable=SC2016 # $$ is for make
printf 'test:\n\t@echo . >>tried; test $$(wc -l <tried) -ge 3\n' >"$HOME/work/Makefile"
play
are 'done' t-2
models=$(sed -n 's/^t-2[.][0-9]* claude .*--model \([^ ]*\).*/\1/p' "$log/argv" | tr '\n' ' ')
rule 'the third run had the stronger model' [ "$models" = 'haiku haiku sonnet ' ]
played
