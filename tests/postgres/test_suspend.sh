#!/bin/sh
# The machine is suspended while PostgreSQL is about to answer: time has passed, and the server is not lost.
#
# TEST_SLUICED is a copy of the daemon whose clock the test sets (tests/harness/test_clock.c).
# shellcheck disable=SC1091,SC2034,SC2154 # kit.sh sets home and tmp
: "${POSTGRES_SERVER:?is not set: run it by make test-postgres T=postgres_suspend}"
SLUICE_TEST_STORE= # this test stops its own server
. "$(dirname "$0")/../daemon/kit.sh"
mkdir bin clock
mkdir -m 755 "$tmp/pg"
chmod 755 "$tmp"
for name in sluice sluice-shim; do
    cp "$(dirname "$SLUICE")/$name" bin/
done
cp "${TEST_SLUICED:?is not set}" bin/sluiced
SLUICE=$tmp/bin/sluice SLUICE_TEST_CLOCK=$tmp/clock
export SLUICE SLUICE_TEST_CLOCK
echo 0 >clock/ahead

server() { # VERB
    "$POSTGRES_SERVER" "$1" "$tmp/pg/server" 2>"$tmp/server.err"
}
signal() { # SIGNAL, to all processes of the server
    postmaster=$(head -1 "$tmp/pg/server/data/postmaster.pid")
    kill "-$1" "$postmaster" $(pgrep -P "$postmaster")
}
trap 'signal CONT; stop_daemon; server stop; rm -rf "$tmp"' EXIT
store=$(server start) || { echo "Bail out! no server: $(cat "$tmp/server.err")" && exit 1; }
port=$(printf '%04X' "$(echo "$store" | sed 's|.*:\([0-9]*\)/.*|\1|')")
has_unread() { # the server has got a statement, and has not read it
    awk -v port=":$port" 'index($2, port) && $5 !~ /:00000000$/ { found = 1 } END { exit !found }' /proc/net/tcp
}

config "store: {url: \"$store\"}"
start
daemon=$(pid_of_daemon)
run sluice add --hold -- true
exits 0 'a task is stored'

signal STOP
"$SLUICE" add --hold -- true >added 2>&1 &
adding=$!
rule 'a commit is under way' soon has_unread
echo 600000 >clock/next
mv clock/next clock/ahead
rule 'the daemon sees that ten minutes have passed' soon curl -s --max-time "$patience" --unix-socket "$home/sluice.sock" http://sluice/healthz -o out
signal CONT
wait $adding
code=$?
cp added out
rule 'the commit is done when both go on' [ $code = 0 ]
rule 'by the same daemon' [ "$(pid_of_daemon)" = "$daemon" ]
rule 'once' [ "$("$SLUICE" list --ids | wc -l)" = 2 ]
finish
