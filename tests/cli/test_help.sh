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
printf '%s\n' start: look: control: agents: set-up: >titles
grep '^[a-z-]*:$' overview >found
compare titles found 'in groups'
run sluice help --all
cp out everything
rule 'the list of all fits 80 columns' [ "$(wc -L <everything)" -le 80 ]
commands=$(sed -n '/^exit codes:/q; s/^  \([a-z-]*\) .*/\1/p' everything)
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

# The options of `add` stand in groups, everywhere from the same table, and the examples come first.
printf '%s\n' 'What to run' 'Where it belongs' 'When it may start' 'When it is finished' 'Best of several' \
    'What happens when it fails' Limits 'Several tasks at once' 'How it is added' >groups
run sluice add --help
sed -n '/^options:/,/^exit codes:/s/^  \([A-Z][A-Za-z ]*\):$/\1/p' out | grep -vx General >found
compare groups found 'add --help has its options in groups'
sed -n 's/^| \*\*\(.*\)\*\* | |$/\1/p' "$root/docs/reference/cli/add.md" >found
compare groups found 'and so has docs/reference/cli/add.md'
"$root/scripts/man-page" "$root/docs/reference/cli/add.md" | sed -n 's/^\.SS //p' | head -n 9 >found
compare groups found 'and man sluice-add'
rule 'examples come before options: --help' [ "$(grep -n '^examples:' out | cut -d : -f 1)" -lt "$(grep -n '^options:' out | cut -d : -f 1)" ]
rule 'examples come before options: the page' [ "$(grep -n '^```sh' "$root/docs/reference/cli/add.md" | head -n 1 | cut -d : -f 1)" -lt \
    "$(grep -n '^| option' "$root/docs/reference/cli/add.md" | cut -d : -f 1)" ]

# Names from other programs, and names that are nearly right.
suggests() { # TEXT ARGS...: what the error says
    text=$1
    shift
    run sluice "$@"
    rule "$*: $text" grep -qF -e "; did you mean '$text'?" err
}
suggests list lst
suggests add enqueue
suggests list squeue
suggests cancel scancel
suggests schedule crontab
suggests "up' or 'resume" start
suggests add help submit
suggests --title add --label x -- true
suggests --after run --dependency 3 -- true
suggests 'sluice schedule add --cron' add --cron @daily -- true
suggests --timeout add --timeuot 3 -- true
suggests validate add --until validte -- true
suggests limits.runs config set limit.runs=3
suggests limits.runs config set concurrency=3
suggests never config set agents.claude.resume=nevr
suggests markdown digest --format markdwn
printf 'tasks:\n- command: make\n' >foreign.yaml
suggests "argv' or 'run" add --file foreign.yaml
printf 'tasks:\n- run: make\n  dependencies: [1]\n' >foreign.yaml
suggests depends_on add --file foreign.yaml
printf 'tasks:\n- run: make\n  merge: diretc\n' >foreign.yaml
suggests direct add --file foreign.yaml

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
