#!/bin/sh
# Daemons whose PostgreSQL server becomes unavailable and comes back: with daemon.standby they wait for it.
# shellcheck disable=SC1091,SC2034,SC2154 # kit.sh sets home, root and tmp
: "${POSTGRES_SERVER:?is not set: run it by make test-postgres T=postgres_standby}"
SLUICE_TEST_STORE= # this test stops its own server
. "$(dirname "$0")/../daemon/kit.sh"

b=$tmp/b
mkdir -m 700 "$b" "$tmp/data" && mkdir -m 755 "$tmp/pg"
chmod 755 "$tmp"
server() { # VERB
    "$POSTGRES_SERVER" "$1" "$tmp/pg/server" 2>"$tmp/server.err"
}
first=
trap '[ -z "$first" ] || kill -CONT "$first"; (SLUICE_HOME=$b && stop_daemon); stop_daemon; server stop; rm -rf "$tmp"' EXIT
store=$(server start) || { echo "Bail out! no server: $(cat "$tmp/server.err")" && exit 1; }

configure() { # HOME STANDBY
    cat >"$1/sluice.yaml" <<END
store: {url: "$store"}
data: {folder: $tmp/data}
daemon: {standby: $2, host: one, addresses: ["unix:$home/sluice.sock", "unix:$b/sluice.sock"]}
END
}
run_b() {
    run env "SLUICE_HOME=$b" "$@"
}
ask() { # HOME PATH
    curl -s --max-time "$patience" --unix-socket "$1/sluice.sock" "http://sluice$2" >"$tmp/out"
}
is_role() { # HOME ROLE
    ask "$1" /v1/daemon && grep -q "\"role\":\"$2\"" out
}
one_is_active() {
    is_role "$home" active || is_role "$b" active
}
says_problem() { # HOME TEXT
    ask "$1" /v1/daemon && grep -q "\"problem\":\".*$2" out
}
configure "$home" true
configure "$b" true

# --- the server is not available at the start --------------------------------------------------

server stop
run sluice up
exits 0 'a standby starts although its server is away'
rule 'and says what is missing' says_problem "$home" 'cannot reach PostgreSQL'
rule 'but not the password' sh -c "! grep -q '$(echo "$store" | sed 's|.*:\([^@]*\)@.*|\1|')' out '$home/sluice.log'"
mkdir -m 700 "$tmp/alone" && echo "store: {url: \"$store\"}" >"$tmp/alone/sluice.yaml"
run env "SLUICE_HOME=$tmp/alone" "$SLUICE" doctor
has '-> # start the PostgreSQL server, or correct store.url' 'the doctor of a home without a daemon knows what to do, and speaks of no backup'
run sluice list
exits 3 'commands find nobody: code 3'
rule 'and hear why' grep -q 'the store cannot be reached: ' err
run sluice down
says 'sluice: the standby has stopped; it knew of no active daemon' 'down says that none goes on'
run sluice up
server start >out
rule 'when the server comes it is active' soon is_role "$home" active
run sluice backup copy.db
rule 'and says how a backup is made' grep -qF -- '-f '"$tmp"'/copy.db DATABASE' err
run sluice doctor
rule 'the doctor names the server, without the password' grep -qE "^  ok    store +postgresql at 'postgresql://sluice@" out
rule 'each has said once in the log that it was away' [ "$(grep -c 'the store cannot be reached' "$home/sluice.log")" = 2 ]

# --- the server dies ---------------------------------------------------------------------------

run_b "$SLUICE" up
rule 'the second one is the standby' is_role "$b" standby
pid=$(pid_of_daemon)
"$SLUICE" add --json -- tail -f /dev/null >out
id=$(field id)
becomes "$id" running
shim=$(tr '\0\n' '  ' <"$tmp/data/runs/$id/1/lock" | sed -n 's/.*shim \([0-9]*\) .*/\1/p')
"$SLUICE" add --json --after "$id" -- true >out
behind=$(field id)
server kill
rule 'an active daemon that loses its server becomes a standby' soon is_role "$home" standby
rule 'in the same process' [ "$(pid_of_daemon)" = "$pid" ]
rule 'what runs is left alone' kill -0 "$shim"
"$SLUICE" cancel --now "$id" >canceled 2>&1 &
waiter=$!
server restart >out
wait "$waiter"
rule 'a command that comes meanwhile is done when the server is back' grep -q "$id" canceled
rule 'one of them is active' soon one_is_active
becomes "$id" canceled
rule 'and what was canceled has stopped' is_gone "$shim"
"$SLUICE" show --json "$behind" >out
rule 'nothing is lost' grep -q "\"id\":\"$behind\"" out

# --- a server that refuses logins -----------------------------------------------------

# The server's first process accepts connections. Existing connections continue without it.
find_roles() { # sets standby, other: homes; active: the pid of the active daemon
    soon one_is_active
    if is_role "$home" active; then
        standby=$b other=$home
    else
        standby=$home other=$b
    fi
    active=$(SLUICE_HOME=$other pid_of_daemon)
}
names_the_active_one() {
    ask "$standby" /v1/daemon && grep -q "\"who\":\"one/$active\".*\"problem\":null" out
}
names_it_all_the_time() { # longer than an answer is kept
    end=$(($(date +%s) + 3))
    while [ "$(date +%s)" -lt "$end" ]; do
        names_the_active_one || return 1
    done
}
find_roles
first=$(head -n 1 "$tmp/pg/server/data/postmaster.pid")
soon names_the_active_one
kill -STOP "$first"
rule 'a standby waits for no new connection to say who is active' names_it_all_the_time
kill -CONT "$first"
first=

# --- a connection that is ended ----------------------------------------------------------------

epoch() {
    psql -XAtq "$store" -c 'SELECT epoch FROM sluice.store'
}
before=$(epoch)
psql -XAtq "$store" -c 'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND usename = current_user' >out
is_next() {
    [ "$(epoch)" -gt "$before" ] && one_is_active
}
rule 'a connection that the server ends makes a new epoch' soon is_next
run sluice add -- true
exits 0 'and work goes on'

# --- a connection that is ended while a standby takes over -------------------------------------

# The standby has opened the store and loads it. A policy makes it wait at the first project.
psql -XAtq "$store" >out <<'END'
CREATE FUNCTION sluice.held() RETURNS boolean LANGUAGE plpgsql AS
    'BEGIN PERFORM pg_advisory_xact_lock(4711); RETURN true; END';
ALTER TABLE sluice.project ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY held ON sluice.project USING (sluice.held());
END
find_roles
pid=$(SLUICE_HOME=$standby pid_of_daemon)
soon names_the_active_one
mkfifo holding
psql -XAtq "$store" <holding >held 2>&1 &
exec 8>holding
echo "SELECT pg_advisory_lock(4711), 'held';" >&8
soon grep -q held held
kill -9 "$active"
end_load() {
    psql -XAtq "$store" -c "SELECT pg_terminate_backend(l.pid) FROM pg_locks l, sluice.store s
        WHERE NOT l.granted AND l.objid = 4711 AND s.holder_pid = l.pid AND s.holder LIKE 'one/$pid %'" >ended
    [ -s ended ]
}
rule 'a server can end the connection of a standby that loads the store' soon end_load
exec 8>&-
wait $!
psql -XAtq "$store" -c 'DROP FUNCTION sluice.held CASCADE; ALTER TABLE sluice.project DISABLE ROW LEVEL SECURITY, NO FORCE ROW LEVEL SECURITY' >out 2>&1
rule 'which tries again, and is active' soon is_role "$standby" active
rule 'in the same process, again' [ "$(SLUICE_HOME=$standby pid_of_daemon)" = "$pid" ]
run env "SLUICE_HOME=$other" "$SLUICE" up
exits 0 'and the other daemon stands by'

# --- fenced ------------------------------------------------------------------------------------

# As if another daemon had taken over unnoticed: the epoch in the store has changed.
psql -XAtq "$store" -c 'UPDATE sluice.store SET epoch = epoch + 1' >out
before=$(epoch)
run sluice add --draft --title fenced -- true
exits 0 'a commit of an old epoch is refused, and the same request is done by the next one'
rule 'which has an epoch of its own' is_next
"$SLUICE" list --state draft --json >out
rule 'once' [ "$(grep -o '"title":"fenced"' out | wc -l)" = 1 ]
rule 'the refusal is in the log' grep -q 'taken over' "$home/sluice.log" "$b/sluice.log"

# --- a store that takes no writes --------------------------------------------------------------

# Existing sessions continue; new ones are read-only, like those of a server that is not a primary.
read_only() { # on|off
    psql -XAtq "$(server admin)" -c "ALTER ROLE sluice SET default_transaction_read_only = $1" >out
}
find_roles
pid=$(SLUICE_HOME=$standby pid_of_daemon)
soon names_the_active_one # so it already has a session, which will get the lock
times=$(grep -c 'the store cannot be opened' "$standby/sluice.log")
read_only on
run env "SLUICE_HOME=$other" "$SLUICE" down
rule 'a standby that cannot open the store says why' soon says_problem "$standby" 'are read-only'
tried_again() { # while a client polls: each attempt begins a session
    ask "$standby" /healthz
    [ "$(psql -XAtq "$(server admin)" -c "SELECT sessions > $1 + 8 FROM pg_stat_database WHERE datname = 'sluice'")" = t ]
}
before=$(psql -XAtq "$(server admin)" -c "SELECT sessions FROM pg_stat_database WHERE datname = 'sluice'")
soon tried_again "$before"
rule 'stays, and tries again' is_role "$standby" standby
rule 'and says so once in its log' [ "$(grep -c 'the store cannot be opened' "$standby/sluice.log")" = $((times + 1)) ]
run env "SLUICE_HOME=$other" "$SLUICE" up
exits 1 'a first start that finds it so, and nobody active, ends'
complains 'default_transaction_read_only' 'with the sentence'
read_only off
rule 'when it can be opened the standby is active' soon is_role "$standby" active
rule 'in the same process' [ "$(SLUICE_HOME=$standby pid_of_daemon)" = "$pid" ]
read_only on
run env "SLUICE_HOME=$other" "$SLUICE" up
exits 0 'a first start that finds it so while another daemon is active stands by'
rule 'as a standby' is_role "$other" standby
read_only off

# --- without the setting -----------------------------------------------------------------------

run_b "$SLUICE" down
run sluice down
configure "$b" false
env "SLUICE_HOME=$b" "$SLUICED" 2>daemon.log &
daemon=$!
soon is_role "$b" active
server kill
wait "$daemon"
rule 'without the setting it ends: code 75, start it again' [ $? = 75 ]
run_b "$SLUICED"
exits 1 'and does not start without a server: code 1'
finish
