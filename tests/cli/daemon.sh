# daemon.sh: shared functions of tests that need a daemon. Source it after lib.sh.
#
#   $home                     the home of this test; its daemon is stopped at the end of the test
#   config 'TEXT'             writes the configuration; call it before the daemon starts
#   start                     starts the daemon
#   add ARGS...               adds a task; sets $id
#   ends ID                   waits until the run of the task has ended
#   becomes ID STATE          waits until the task is in this state
#   value ID MEMBER           prints a member of a task: value web-1 state
#   first MEMBER              prints the first member of that name of the JSON value on stdin
#   pid_of_daemon             prints the pid of the daemon
#   store_text                prints the contents of the store
#   forget_store              removes the store; the daemon must be down
#   empty_home                empties the home, its store included; the daemon must be down
#
# SLUICE_TEST_STORE=postgresql://… (make test-postgres) keeps the state of each home in a separate schema there.
# SLUICE_TEST_EXECUTOR=slurm (make test-slurm) makes every run a Slurm job.
# shellcheck shell=sh disable=SC2034,SC2154 # lib.sh sets tmp and SLUICE; the tests use the others

home=$tmp/home
SLUICE_HOME=$home
export SLUICE_HOME
mkdir -p "$home"

# Cancels live runs first: no process may outlive its test.
stop_daemon() {
    ids=$("$SLUICE" list --ids --state starting,running --limit 1000 2>/dev/null)
    # Waiting tasks must not take the slots of canceled runs.
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
        psql -Xqc "DROP SCHEMA IF EXISTS $(schema_of "$home") CASCADE" "$SLUICE_TEST_STORE" 2>"$tmp/psql.err" || cat "$tmp/psql.err"
    fi
}

# On a server the store is outside the home, and outlives it.
empty_home() {
    forget_store
    rm -rf "$home"
    mkdir -p "$home"
}

# Copies a configuration and adds the URL of the store of a home, unless the configuration has one.
with_store() { # HOME
    store_is_file && { cat && return; }
    awk -v url="$SLUICE_TEST_STORE?schema=$(schema_of "$1")" '
        /^store:.*url:/ { told = 1 }
        !told && /^store: *{/ { sub(/{/, "{url: \"" url "\", "); told = 1 }
        { print }
        !told && /^store: *$/ { print "  url: \"" url "\""; told = 1 }
        END { if (!told) print "store: {url: \"" url "\"}" }'
}

# The same for the executor.
with_executor() {
    cat
    [ "${SLUICE_TEST_EXECUTOR-}" != slurm ] || printf 'tasks.executor: slurm\nslurm.poll_s: 0.3\n'
}

# No sandbox by default: fake agents are in $tmp and write there. Tests of sandboxes configure one.
with_sandbox() {
    awk '{ print } /^agents|^ *agents:/ { agents = 1 } /(sandbox|sandbox_[a-z]*|wrap):/ { told = 1 }
        END { if (agents && !told) print "tasks.sandbox: none" }'
}

# Loops in tests end quickly on purpose: the guard against that is off, except in its own test.
without_guard() {
    awk '{ print } /runaway/ { told = 1 } END { if (!told) print "runaway.pause_s: 0" }'
}

# Readable by the owner only, as `sluice init` writes it: it may hold secrets and the password of the store.
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

# The first member of that name on stdin: members of the object come before those of nested objects.
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
