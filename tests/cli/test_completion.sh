#!/bin/sh
# sluice completion: the shells accept the scripts, and these offer all commands and options.
# shellcheck disable=SC2154 # lib.sh sets here, root and tmp
. "$(dirname "$0")/lib.sh"

SLUICE_HOME=$tmp/home # where no daemon runs
export SLUICE_HOME
for shell in bash zsh fish; do
    run sluice completion $shell
    exits 0 "$shell: exit code"
    cp out "$shell.script"
    for word in plan status completion; do
        rule "$shell knows the command $word" grep -q -w -e "$word" "$shell.script"
    done
    if command -v $shell >/dev/null 2>&1; then
        run $shell -n "$shell.script"
        exits 0 "$shell accepts the script"
    fi
done
run sluice completion fish --json
has '{"shell":"fish","script":"' 'as JSON'
run sluice completion tcsh
exits 2 'another shell: exit code'
says "sluice: there is no completion for 'tcsh'; there are bash, zsh, fish
usage: sluice completion bash|zsh|fish" 'another shell'
run sluice completion
exits 2 'no shell'

# Prints what bash offers for this command line, whose end is incomplete. `sluice list` is a fake.
offers() {
    cat >offer.bash <<'END'
sluice() { echo web-17; echo web-18; }
. ./bash.script
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_sluice
printf '%s ' "${COMPREPLY[@]}"
END
    run bash offer.bash "$@"
}
needs bash
offers sluice stat
has 'status' 'a command'
offers sluice status --w
has '--watch' 'an option'
offers sluice config ex
has 'explain' 'a subcommand'
offers sluice config explain --fi
has '--file' 'an option of a subcommand'
offers sluice show web-1
has 'web-17 web-18' 'ids'
offers sluice help com
has 'completion' 'a command behind help'
finish
