#!/bin/sh
# sluice help: every command explains itself, in the same words everywhere.
# shellcheck disable=SC2154 # lib.sh sets here, root and tmp
. "$(dirname "$0")/lib.sh"

run sluice
exits 0 'no command'
cp out overview
has 'usage: sluice COMMAND' 'no command: the overview'
run sluice --help
compare overview out '--help'
run sluice -h
compare overview out '-h'
run sluice help
compare overview out 'help'

commands=$(sed -n '/^commands:/,/^$/s/^  \([a-z]*\) .*/\1/p' overview)
for command in $commands; do
    run sluice "$command" --help
    exits 0 "$command --help"
    cp out command
    has 'usage: sluice ' "$command --help: usage"
    run sluice help "$command"
    compare command out "help $command"
    run sluice "$command" -h
    compare command out "$command -h"
    # The page of the manual has the same usage.
    usage=$(sed -n '1s/^usage: //p' command)
    tr -s ' \n' ' ' <"$root/docs/cli/$command.md" | grep -qF -e "$usage"
    report $? "docs/cli/$command.md has '$usage'"
done

run sluice plan --nonsense --help
exits 0 'help wins over a wrong option'
run sluice help debug scheduler
has 'usage: sluice debug scheduler' 'help of a subcommand'
run sluice help --json
has '"usage": "plan [--all] [--set KEY=VALUE]... FILE|-"' 'all commands as JSON'
run sluice help plan --json
has '"name": "all"' 'one command as JSON'
run sluice help plam
exits 2 'help of an unknown command: exit code'
says "sluice: unknown command 'plam'; did you mean 'plan'?
usage: sluice help [COMMAND...]" 'help of an unknown command'
run sluice help plan more
exits 2 'help of a subcommand that is not there'
finish
