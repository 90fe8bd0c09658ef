#!/bin/sh
# scripts/postgres-server: starts, stops, kills and restarts a server in a folder. Prints TAP.
set -u
: "${POSTGRES_SERVER:?is not set: run it by make test-postgres T=postgres_server}"
: "${SLUICE_TEST_POSTGRES:?is not set: run it by make test-postgres T=postgres_server}"
top=$(mktemp -d)
trap '"$POSTGRES_SERVER" stop "$top/one"; "$POSTGRES_SERVER" stop "$top/two"; rm -rf "$top"' EXIT
trap 'exit 130' INT TERM HUP
number=0

check() { # 'what' COMMAND...
    what=$1
    shift
    number=$((number + 1))
    if "$@" >"$top/out" 2>&1; then
        echo "ok $number - $what"
    else
        echo "not ok $number - $what"
        sed 's/^/# /' "$top/out"
    fi
}

ask() { # URL SQL
    psql -XAtqv ON_ERROR_STOP=1 "$1" -c "$2"
}

answers() { # TEXT URL SQL
    [ "$(ask "$2" "$3" 2>&1)" = "$1" ]
}

fails() {
    ! "$@"
}

one=$("$POSTGRES_SERVER" start "$top/one")
two=$("$POSTGRES_SERVER" start "$top/two")
check 'two at once' answers 1 "$two" 'SELECT 1'
check 'a start of one that runs changes nothing' [ "$("$POSTGRES_SERVER" start "$top/one")" = "$one" ]
check 'its role is no superuser' answers off "$one" 'SHOW is_superuser'
check 'but may make databases' ask "$one" 'CREATE DATABASE more'
check 'its administrator is one' answers on "$("$POSTGRES_SERVER" admin "$top/one")" 'SHOW is_superuser'
check 'by its socket too' answers 1 "$one?host=$top/one/socket" 'SELECT 1'
check 'what is committed is synced' answers on "$one" 'SHOW fsync'
check 'text is not sorted as bytes' answers t "$one" "SELECT 'a' < 'B'"
check 'it listens on loopback alone' answers 127.0.0.1 "$one" 'SHOW listen_addresses'
check 'nobody comes in without the password' fails ask "$(echo "$one" | sed 's/:[^:@]*@/:wrong@/')" 'SELECT 1'

ask "$one" 'CREATE TABLE kept (a int); INSERT INTO kept VALUES (7)'
process=$(head -n 1 "$top/one/data/postmaster.pid")
check 'kill' "$POSTGRES_SERVER" kill "$top/one"
check 'nobody answers' fails ask "$one" 'SELECT 1'
# shellcheck disable=SC2016 # for the inner shell
check 'its process is dead' sh -c '[ ! -e "/proc/$1" ] || grep -q "^State:.Z" "/proc/$1/status"' - "$process"
check 'the other one lives' answers 1 "$two" 'SELECT 1'
check 'restart' "$POSTGRES_SERVER" restart "$top/one"
check 'the same URL, and what was committed' answers 7 "$one" 'SELECT a FROM kept'
check 'url' [ "$("$POSTGRES_SERVER" url "$top/one")" = "$one" ]
check 'stop' "$POSTGRES_SERVER" stop "$top/one"
check 'stopped: nobody answers' fails ask "$one" 'SELECT 1'
check 'stop again' "$POSTGRES_SERVER" stop "$top/one"
check 'start again' "$POSTGRES_SERVER" start "$top/one"
check 'and it is all there' answers 7 "$one" 'SELECT a FROM kept'

"$POSTGRES_SERVER" url "$top/none" >"$top/out" 2>"$top/err"
check 'none there: one sentence' grep -q "there is no server in '$top/none'; make one: " "$top/err"
"$POSTGRES_SERVER" dance "$top/one" >"$top/out" 2>&1
check 'an unknown word' [ $? = 2 ]
echo "1..$number"
