#!/bin/sh
# A process of a run is never treated as the owner: not by the daemon of another home, not while a daemon starts, not by a
# standby, not after a takeover, not if its shim is dead. The same requests succeed from a process outside of runs, which
# shows that they are valid.
# shellcheck disable=SC1091,SC2016,SC2030,SC2031,SC2034,SC2154 # kit.sh sets home, tmp and root; the shell of the run expands the rest
. "$(dirname "$0")/kit.sh"
: "${KNOCK:?is not set: the program knock of this folder}"

b=$tmp/b
mkdir -m 700 "$b"
in_b() {
    (SLUICE_HOME=$b home=$b && "$@")
}
printf '' | with_store "$b" >"$b/sluice.yaml"
trap 'in_b stop_daemon; stop_daemon; rm -rf "$tmp"' EXIT

not() {
    ! "$@"
}
is_paused() { # HOME
    [ "$(SLUICE_HOME=$1 "$SLUICE" status --json | first paused)" = true ]
}

# Runs each line of the fifo `ask` in the background; the output of line N is in N.out once N.done exists.
cat >rogue.sh <<'END_ROGUE'
cd "$(dirname "$0")" || exit 1
n=0
exec 3<>ask
: >ready
while read -r line <&3; do
    n=$((n + 1))
    (
        sh -c "$line" >"$n.out" 2>"$n.err" 3>&-
        : >"$n.done"
    ) &
done
END_ROGUE
mkfifo ask

asked=0
begins() { # LINE
    asked=$((asked + 1))
    timeout "$patience" sh -c 'printf "%s\n" "$1" >ask' - "$1"
}
answer() { # N STATUS 'what'
    soon [ -e "$1.done" ]
    cp "$1.out" "$tmp/out"
    rule "$3" [ "$(cat "$1.out")" = "$2" ]
}
tries() { # LINE STATUS 'what'
    begins "$1"
    answer "$asked" "$2" "$3"
}

start
in_b start
add -- sh "$tmp/rogue.sh"
rogue=$id
becomes "$rogue" running
soon [ -e ready ]

# --- another home --------------------------------------------------------------------------------

rule 'a process outside of runs may pause a daemon' [ "$("$KNOCK" "$b/sluice.sock" POST /v1/pause)" = 200 ]
rule 'which is paused then' is_paused "$b"
SLUICE_HOME=$b "$SLUICE" resume >/dev/null
tries "$KNOCK $home/sluice.sock POST /v1/pause" 403 'a run may not pause its own daemon'
tries "$KNOCK $b/sluice.sock POST /v1/pause" 403 'nor that of another home of the same user'
tries "setsid -w sh -c '$KNOCK $b/sluice.sock POST /v1/pause; exit 0'" 403 'nor in a session of its own'
tries "env -i $KNOCK $b/sluice.sock POST /v1/shutdown" 403 'nor without its environment'
rule 'nothing of it has happened' not is_paused "$b"

# A daemon that was started by the run accepts it: both are descendants of the same shim.
mkdir -m 700 "$tmp/c"
printf '' | with_store "$tmp/c" >"$tmp/c/sluice.yaml"
tries "unset SLUICE_SOCKET SLUICE_TOKEN; SLUICE_HOME=$tmp/c $SLUICE up >/dev/null 2>&1; $KNOCK $tmp/c/sluice.sock POST /v1/pause" 200 \
    'a run may ask the daemon that it has started itself'
tries "unset SLUICE_SOCKET SLUICE_TOKEN; export SLUICE_HOME=$tmp/c; $SLUICE resume >/dev/null 2>&1; $SLUICE run -- $KNOCK $tmp/c/sluice.sock POST /v1/pause" 403 \
    'whose runs may not'
tries "unset SLUICE_SOCKET SLUICE_TOKEN; SLUICE_HOME=$tmp/c $SLUICE down --wait >/dev/null 2>&1; echo down" down 'and it ends'

# --- while a daemon starts -----------------------------------------------------------------------

for round in 1 2 3; do
    daemon=$(pid_of_daemon)
    kill -9 "$daemon"
    is_gone "$daemon"
    first_knock=$((asked + 1))
    begins "$KNOCK $home/sluice.sock POST /v1/pause"
    begins "$KNOCK $home/sluice.sock POST /v1/pause"
    "$KNOCK" "$home/sluice.sock" GET /v1/status >outside &
    outside=$!
    start
    wait "$outside"
    rule "a process that waits for the socket of a daemon is answered ($round)" [ "$(cat outside)" = 200 ]
    answer "$first_knock" 403 'a process of a run that does the same is refused'
    answer "$asked" 403 'each of them'
done
rule 'so the daemon is not paused' not is_paused "$home"
rule 'and knows its run' [ "$(value "$rogue" state)" = running ]
in_b "$SLUICE" down --wait >/dev/null 2>&1

# --- a standby -----------------------------------------------------------------------------------

store=$tmp/store.db
store_is_file || store="$SLUICE_TEST_STORE?schema=$(schema_of "$b")"
a=$tmp/a
mkdir -m 700 "$a" "$tmp/data"
for folder in "$a" "$b"; do
    cat >"$folder/sluice.yaml" <<END_CONFIG
store: {url: "$store"}
data: {folder: $tmp/data}
daemon: {standby: true, host: one, addresses: ["unix:$a/sluice.sock", "unix:$b/sluice.sock"]}
END_CONFIG
done
in_a() {
    (SLUICE_HOME=$a home=$a && "$@")
}
trap 'in_b stop_daemon; in_a stop_daemon; stop_daemon; rm -rf "$tmp"' EXIT
in_a start
in_b start
standby=$(in_b pid_of_daemon)
mkfifo owner.in rogue.in
"$KNOCK" "$b/sluice.sock" <owner.in >owner.out &
owner=$!
exec 4>owner.in 5<>rogue.in
appears connected owner.out
echo GET /healthz >&4
rule 'a standby answers the owner' appears 200 owner.out
echo GET /v1/status >&4
rule 'as often as it is asked' appears 503 owner.out
begins "$KNOCK $b/sluice.sock <rogue.in"
held=$asked
echo GET /healthz >&5
rule 'a run is refused by a standby, too' appears 403 "$held.out"
tries "$KNOCK $b/sluice.sock POST /v1/shutdown" 403 'it cannot end it'
rule 'the standby lives' kill -0 "$standby"
kill -9 "$(in_a pid_of_daemon)"
active() {
    SLUICE_HOME=$b "$SLUICE" up --json 2>/dev/null | grep -q '"role":"active"'
}
rule 'the standby takes over' soon active
echo GET /v1/status >&4
rule 'the connection that the owner had with the standby has ended' appears closed owner.out
rule 'a new one is answered' [ "$("$KNOCK" "$b/sluice.sock" GET /v1/status)" = 200 ]
echo POST /v1/pause >&5
tries "$KNOCK $b/sluice.sock POST /v1/pause" 403 'a run is refused as before'
rule 'whatever it had connected before' not grep -q 200 "$held.out"
rule 'and nothing of it has happened' not is_paused "$b"
exec 4>&- 5>&-
wait "$owner"
kill -TERM "$standby"
is_gone "$standby"

# --- a dead shim -----------------------------------------------------------------------------------

# The daemon is stopped while the shim dies and a child of the command connects, so it sees both at once. A run without a
# cgroup is recognized only by its ancestors, and those have ended: docs/guide/capabilities.md describes this gap.
cat >orphan.sh <<'END_ORPHAN'
cd "$(dirname "$0")" || exit 1
(env -i setsid sh -c 'echo $$ >orphan.pid; read -r _ <go; exec "$1" "$2" <request >orphan.out' - "$KNOCK" "$OWNER" &)
read -r _ <never
END_ORPHAN
mkfifo go never
echo POST /v1/pause >request
add --env "KNOCK=$KNOCK" --env "OWNER=$home/sluice.sock" -- sh "$tmp/orphan.sh"
soon [ -s orphan.pid ]
orphan=$(cat orphan.pid)
shim=$(shim_of "$id" 1)
daemon=$(pid_of_daemon)
grep -q 'sluice-[0-9a-f]*/[0-9]' "/proc/$orphan/cgroup"
in_slot=$?
kill -STOP "$daemon"
kill -9 "$shim"
is_gone "$shim"
unblock go
appears connected orphan.out
kill -CONT "$daemon"
rule 'what is left of a run whose shim was killed is killed' is_gone "$orphan"
if [ "$in_slot" = 0 ]; then
    rule 'and could not ask before' not grep -q 200 orphan.out
    rule 'so nothing of it has happened' not is_paused "$home"
fi
finish
