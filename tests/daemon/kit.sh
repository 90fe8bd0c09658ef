# kit.sh: shared functions of the daemon tests, in addition to lib.sh and daemon.sh of tests/cli.
# Source it with `. "$(dirname "$0")/kit.sh"`. The names of the cases are rules of Sluice as users see them. The tests use
# real programs, real processes and their own home, and wait for events instead of sleeping.
#
#   complains TEXT 'what'         asserts that stderr is one message, which may be followed by the usage, and contains TEXT
#   unblock FIFO                  writes a line to the fifo, for a command that waits for it
#   gone PID, is_gone PID         tests whether the process has ended; waits until it has ended
#   shim_of ID ATTEMPT            prints the pid of the shim of a live run
#   field MEMBER                  prints a member of the JSON value in out: field queue_position
#   last_event                    prints the number of the last event, which increases with every change
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
    timeout "$patience" sh -c 'echo >"$1"' - "$1" || echo "# no process reads from $1"
}

# A zombie counts as ended, but not while one of its threads is alive: the thread keeps its files open, and with
# them its locks.
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

# The end of a run, as its shim has recorded it: end.json, or a record of the lock file when a daemon
# has stored it.
recorded_end() { # TASK ATTEMPT [DATA]: DATA if not in the home
    folder=${3-$home}/runs/$1/$2
    if [ -e "$folder/end.json" ]; then
        cat "$folder/end.json"
    else
        tail -c +1025 "$folder/lock" | tr '\0' '\n' | sed -n '1{/^end$/!q;n;p;q}'
    fi
}

field() {
    first "$1" <"$tmp/out"
}

last_event() {
    "$SLUICE" events --limit 1 --json | first seq
}
