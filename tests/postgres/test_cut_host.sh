#!/bin/sh
# The machine of the active daemon is cut off: its packets are lost, and no connection is closed. Each daemon has its own
# network namespace and host name; the server is on the side of the standby.
# shellcheck disable=SC1091,SC2034,SC2154 # kit.sh sets home, root and tmp
: "${POSTGRES_SERVER:?is not set: run it by make test-postgres T=postgres_cut_host}"
SLUICE_TEST_STORE= # a server of its own
. "$(dirname "$0")/../daemon/kit.sh"

here=sluice-here-$$ there=sluice-there-$$
if ! ip netns add "$here" 2>net.err || ! ip netns add "$there" 2>>net.err ||
    ! ip link add sluice0 netns "$here" type veth peer name sluice0 netns "$there" 2>>net.err; then
    ip netns del "$here" 2>/dev/null
    ip netns del "$there" 2>/dev/null
    echo "1..0 # SKIP networks cannot be made here: $(head -n 1 net.err)"
    exit 0
fi
b=$tmp/b
mkdir -m 700 "$b" "$tmp/data" && mkdir -m 755 "$tmp/pg"
chmod 755 "$tmp"
server() { # VERB
    ip netns exec "$here" "$POSTGRES_SERVER" "$1" "$tmp/pg/server" 2>"$tmp/server.err"
}
clean_up() {
    (SLUICE_HOME=$b && stop_daemon)
    stop_daemon
    server stop
    ip netns del "$here"
    ip netns del "$there"
    rm -rf "$tmp"
}
trap clean_up EXIT
cable() { # NETWORK up|down
    ip -n "$1" link set sluice0 "$2"
}
ip -n "$here" addr add 10.99.0.1/24 dev sluice0
ip -n "$there" addr add 10.99.0.2/24 dev sluice0
for network in "$here" "$there"; do
    ip -n "$network" link set lo up
    cable "$network" up
done
store=$(server start | sed 's/127\.0\.0\.1/10.99.0.1/')
echo "listen_addresses = '*'" >>"$tmp/pg/server/data/postgresql.conf"
echo 'host all all 10.99.0.0/24 scram-sha-256' >>"$tmp/pg/server/data/pg_hba.conf"
server restart >out || { echo "Bail out! no server: $(cat "$tmp/server.err")" && exit 1; }

configure() { # HOME NAME
    cat >"$1/sluice.yaml" <<END
store: {url: "$store"}
data: {folder: $tmp/data}
daemon: {standby: true, host: $2, addresses: ["unix:$home/sluice.sock", "unix:$b/sluice.sock"]}
END
}
role() { # HOME
    curl -s --max-time "$patience" --unix-socket "$1/sluice.sock" http://sluice/healthz | first role
}
is_role() { # HOME ROLE
    [ "$(role "$1")" = "$2" ]
}
now() { # ms
    echo $(($(date +%s%N) / 1000000))
}
configure "$home" far
configure "$b" near
run ip netns exec "$there" "$SLUICE" up
run env "SLUICE_HOME=$b" ip netns exec "$here" "$SLUICE" up
rule 'the daemon of the other machine is active' is_role "$home" active
rule 'the one beside the server stands by' is_role "$b" standby
add -- tail -f /dev/null
becomes "$id" running

cable "$there" down
cut=$(now)
rule 'a machine that is cut off loses the store' soon is_role "$b" active
took=$(($(now) - cut))
echo "# the standby was active after $took ms"
rule 'within 5 s, and what a busy machine adds' [ $took -le 15000 ]
rule 'the one that was cut off knows it, too' soon is_role "$home" standby
run env "SLUICE_HOME=$b" "$SLUICE" list
has 'host far unreachable' 'what ran there keeps its place, and says why'
run env "SLUICE_HOME=$b" "$SLUICE" run -- echo near
prints near 'work goes on here'

cable "$there" up
sees_it() {
    curl -s --unix-socket "$home/sluice.sock" http://sluice/v1/daemon | grep -q '"who":"near/'
}
rule 'when it is back it stands by, and knows who is active' soon sees_it
kill -9 "$(env "SLUICE_HOME=$b" "$SLUICE" up --json | first pid)"
rule 'and takes over in its turn' soon is_role "$home" active
rule 'then its run is its own again' [ "$(value "$id" state)" = running ]
run sluice cancel --now "$id"
becomes "$id" canceled
"$SLUICE" events --task "$id" --json --after 0 >out
rule 'and has ended once' [ "$(grep -o '"kind":"run.ended"' out | wc -l)" = 1 ]
finish
