# kit.sh: what the tests of this folder share: lib.sh and daemon.sh of tests/cli, and a few more words.
# Read with `. "$(dirname "$0")/kit.sh"`. The names of the tests are rules of Sluice, seen from outside:
# real programs, real processes, a home of its own. Nothing sleeps.
#
#   complains TEXT 'what'         stderr is one message (and perhaps the usage), and contains TEXT
#   unblock FIFO                  writes the line that a command reads from the fifo
#   gone PID, is_gone PID         that process does not live any more; until it does not
#   shim_of ID ATTEMPT            prints the pid of the shim of a live run
#   field MEMBER                  a member of the JSON value in out: field queue_position
#   last_event                    the number of the last event: it rises with every change
# shellcheck shell=sh disable=SC1091,SC2034,SC2153,SC2154 # lib.sh sets tmp, root, code; the tests use the others

. "$(dirname "$0")/../cli/lib.sh"
. "$root/tests/cli/daemon.sh"
SLUICED=$(dirname "$SLUICE")/sluiced

complains() {
    [ "$(grep -c '^sluice: ' "$tmp/err")" = 1 ] && ! grep -qv -e '^sluice: ' -e '^usage: ' "$tmp/err" &&
        grep -qF -e "$1" "$tmp/err"
    report $? "$2"
}

unblock() {
    # shellcheck disable=SC2016 # for the inner shell
    timeout "$patience" sh -c 'echo >"$1"' - "$1" || echo "# nobody reads from $1"
}

# A process that has not been reaped yet counts as dead; but not while one of its threads lives, which
# keeps its files open, and with them its locks.
gone() {
    [ ! -e "/proc/$1" ] || { grep -q '^State:[[:space:]]*Z' "/proc/$1/status" 2>/dev/null &&
        [ "$(find "/proc/$1/task" -mindepth 1 -maxdepth 1 2>/dev/null | wc -l)" -le 1 ]; }
}

is_gone() {
    "$await" exit "$1" $(($(date +%s) + patience)) || { echo "# process $1 has not exited" && return 1; }
}

shim_of() {
    tr '\0\n' '  ' <"$home/runs/$1/$2/lock" | sed -n 's/.*shim \([0-9]*\) .*/\1/p'
}

field() {
    first "$1" <"$tmp/out"
}

last_event() {
    "$SLUICE" events --limit 1 --json | first seq
}
