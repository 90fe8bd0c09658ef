# daemon.sh: what the tests share that need a daemon. Read it after lib.sh.
#
#   $home                     the home of this test alone; the daemon is stopped at its end
#   config 'TEXT'             writes the configuration; before the daemon starts
#   start                     starts the daemon
#   add ARGS...               adds a task; sets $id
#   ends ID                   until the run of the task has ended
#   becomes ID STATE          until the task is in this state
#   value ID MEMBER           prints a member of a task: value web-1 state
#   first MEMBER              prints that of the JSON value on stdin
#   pid_of_daemon             prints it
#   store_text                prints all that the store holds
#   forget_store              the store is gone; the daemon is down
#
# SLUICE_TEST_STORE=postgresql://… (make test-postgres) keeps the state of each home in a schema of its own there.
# SLUICE_TEST_EXECUTOR=slurm (make test-slurm) makes every run a job of Slurm.
# shellcheck shell=sh disable=SC2034,SC2154 # lib.sh sets tmp and SLUICE; the tests use the others

home=$tmp/home
SLUICE_HOME=$home
export SLUICE_HOME
mkdir -p "$home"

# What still runs is canceled first: no process outlives its test.
stop_daemon() {
    ids=$("$SLUICE" list --ids --state starting,running --limit 1000 2>/dev/null)
    # What waited for their places must not begin now.
    # shellcheck disable=SC2086 # a list
    [ -z "$ids" ] || { timeout "$patience" "$SLUICE" pause && timeout "$patience" "$SLUICE" cancel --now $ids; } >/dev/null 2>&1
    timeout "$patience" "$SLUICE" down --wait >/dev/null 2>&1
}
trap 'stop_daemon; rm -rf "$tmp"' EXIT
trap 'exit 1' INT TERM HUP

store_is_file() {
    [ -z "${SLUICE_TEST_STORE-}" ]
}

schema_of() { # HOME
    echo "home_$(printf %s "$1" | cksum | tr ' ' _)"
}

store_text() {
    if store_is_file; then
        cat "$home"/sluice.db*
    else
        pg_dump --schema="$(schema_of "$home")" "$SLUICE_TEST_STORE"
    fi
}

forget_store() {
    if store_is_file; then
        rm -f "$home"/sluice.db*
    else
        psql -Xqc "DROP SCHEMA $(schema_of "$home") CASCADE" "$SLUICE_TEST_STORE" 2>"$tmp/psql.err" || cat "$tmp/psql.err"
    fi
}

# Copies a configuration, and says in it where the state of a home is, unless it says so itself.
with_store() { # HOME
    store_is_file && { cat && return; }
    awk -v url="$SLUICE_TEST_STORE?schema=$(schema_of "$1")" '
        /^store:.*url:/ { told = 1 }
        !told && /^store: *{/ { sub(/{/, "{url: \"" url "\", "); told = 1 }
        { print }
        !told && /^store: *$/ { print "  url: \"" url "\""; told = 1 }
        END { if (!told) print "store: {url: \"" url "\"}" }'
}

# The same for where runs happen.
with_executor() {
    cat
    [ "${SLUICE_TEST_EXECUTOR-}" != slurm ] || printf 'tasks.executor: slurm\nslurm.poll_s: 0.3\n'
}

# Fake agents live in $tmp and write where they like: only a test that is about sandboxes has one.
with_sandbox() {
    awk '{ print } /^agents|^ *agents:/ { agents = 1 } /(sandbox|sandbox_[a-z]*|wrap):/ { told = 1 }
        END { if (agents && !told) print "tasks.sandbox: none" }'
}

# Loops of tests end at once, and mean it: only a test of the guard against that has one.
without_guard() {
    awk '{ print } /runaway/ { told = 1 } END { if (!told) print "runaway.pause_s: 0" }'
}

# For the owner alone, as `sluice init` writes it: it may hold secrets, and the password of the store.
config() {
    (umask 077 && printf '%s\n' "$1" | with_store "$home" | with_executor | with_sandbox | without_guard >"$home/sluice.yaml")
}
{ store_is_file && [ -z "${SLUICE_TEST_EXECUTOR-}" ]; } || config ''

start() {
    "$SLUICE" up >"$tmp/up" 2>&1 && return
    sed 's/^/# /' "$tmp/up"
    echo "Bail out! the daemon does not start"
    exit 1
}

pid_of_daemon() {
    "$SLUICE" up --json 2>/dev/null | sed 's/.*"pid":\([0-9]*\).*/\1/'
}

add() {
    id=$("$SLUICE" add --json "$@" 2>"$tmp/err" | sed 's/.*"tasks":\[{"id":"\([^"]*\)".*/\1/')
    [ -n "$id" ] || { echo "Bail out! add $*: $(cat "$tmp/err")" && exit 1; }
}

ends() {
    timeout "$patience" "$SLUICE" logs --follow "$1" >/dev/null 2>"$tmp/err"
}

# The first one of that name on stdin: members of the object itself come before those inside.
first() {
    awk -v name="\"$1\":" '
        (at = index($0, name)) {
            rest = substr($0, at + length(name))
            if (sub(/^"/, "", rest))
                sub(/".*/, "", rest)
            else
                sub(/[],}].*/, "", rest)
            print rest
            exit
        }'
}

value() {
    "$SLUICE" show --json "$1" 2>/dev/null | first "$2"
}

in_state() { # ID STATE
    [ "$(value "$1" state)" = "$2" ]
}

becomes() {
    soon in_state "$1" "$2" || { echo "# $1 is $(value "$1" state), not $2" && return 1; }
}
