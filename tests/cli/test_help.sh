#!/bin/sh
# sluice help: every command has a help text, and --help, docs/reference/cli and the man page agree.
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

rule 'the overview fits a screen of 80 columns and 24 lines' [ "$(wc -l <overview)" -le 23 ]
rule 'in both directions' [ "$(wc -L <overview)" -le 80 ]
rule 'with the commands for the first day' [ "$(grep -c '^  [a-z]' overview)" = 12 ]
run sluice help --all
cp out everything
rule 'the list of all fits 80 columns' [ "$(wc -L <everything)" -le 80 ]
commands=$(sed -n '/^exit codes:/q; s/^  \([a-z]*\) .*/\1/p' everything)
rule 'and are listed once' [ "$(echo "$commands" | sort | uniq -d | wc -l)" = 0 ]
for command in $commands; do
    run sluice "$command" --help
    exits 0 "$command --help"
    cp out command
    has 'usage: sluice ' "$command --help: usage"
    run sluice help "$command"
    compare command out "help $command"
    run sluice "$command" -h
    compare command out "$command -h"
    has 'exit codes:' "$command --help: exit codes"
    has 'examples:' "$command --help: examples"
    # The manual page has the same usage, and every option.
    "$root/scripts/man-page" "$root/docs/reference/cli/$command.md" >page
    sed 's,\\,,g' page >plain
    rule "man sluice-$command has the usage" grep -qxF -e "$(sed -n '1s/^usage: //p' command)" plain
    sed -n '/^options:/,/^$/s/^  \(..,\|   \) --\([a-z-]*\).*/--\2/p' command | grep -vxF -e --json -e --help >names || :
    while read -r name; do
        grep -qF -e "$name" plain || echo "$name"
    done <names >missing
    compare /dev/null missing "man sluice-$command has every option"
done

# Files that are generated from the commands are up to date.
run "$root/scripts/command-pages" --check "$SLUICE"
exits 0 'the tables of options in docs/reference/cli are up to date (make docs)'
run sluice wait --help
has '5    the time was over first' 'exit code 5'
run sluice help --all
has '5    the time was over first' 'exit code 5 in the list of all'

# A page without a required part fails the build.
for part in '- ' '```sh' 'Print the version.'; do
    grep -vF -e "$part" "$root/docs/reference/cli/version.md" >version.md
    run "$root/scripts/embed-commands" version.md
    exits 1 "a page without '$part'"
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
usage: sluice help [--all] [COMMAND...]" 'help of an unknown command'
run sluice help plan more
exits 2 'help of a subcommand that is not there'
finish
