# kit.sh: what the tests of the clients share, in addition to lib.sh and daemon.sh of tests/cli.
# shellcheck shell=sh disable=SC1091,SC2034,SC2154 # lib.sh sets root and tmp
. "$(dirname "$0")/../cli/lib.sh"
. "$root/tests/cli/daemon.sh"
SLUICED=$(dirname "$SLUICE")/sluiced

# Reports the lines of a program that prints "ok - what", and whether it came to its end.
report_rules() { # 'who'
    while IFS= read -r line; do
        case $line in
        'ok - '* | 'not ok - '*)
            number=$((number + 1))
            printf '%s\n' "$line" | sed "s/^\(not ok\|ok\) - /\1 $number - /"
            ;;
        *) printf '# %s\n' "$line" ;;
        esac
    done <"$tmp/out"
    exits 0 "$1: all rules were tried"
}
