#!/bin/sh
# Two daemons of one store on two hosts: runs of a dead host keep belonging to it, across two takeovers.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"

b=$tmp/b
mkdir -m 700 "$b"
trap 'in_b stop_daemon; stop_daemon; rm -rf "$tmp"' EXIT

configure() { # HOME HOST
    cat >"$1/sluice.yaml" <<END
store: {url: $tmp/store.db}
data: {folder: $tmp/data}
limits: {runs: 2}
retry: {lost: {delay_s: 0}}
daemon:
  standby: true
  host: $2
  addresses: ["unix:$home/sluice.sock", "unix:$b/sluice.sock"]
END
}
in_b() {
    (SLUICE_HOME=$b && "$@")
}
is_active() { # HOME
    curl -s --max-time "$patience" --unix-socket "$1/sluice.sock" http://sluice/healthz | grep -q '"role":"active"'
}
says_away() {
    "$SLUICE" status --json 2>/dev/null | grep -q '"key":"host:hosta"'
}
where() { # RUN: the host in its row
    "$SLUICE" show --json "${1%.*}" 2>/dev/null | grep -o "\"attempt\":${1#*.},[^}]*\"host\":\"[^\"]*\"" | sed 's/.*"host":"\(.*\)"/\1/' | head -n 1
}

configure "$home" hosta
configure "$b" hostb
mkfifo go
run sluice up
in_b "$SLUICE" up >/dev/null 2>&1
add -- sh -c 'echo "$SLUICE_RUN" >>started; read -r _ <go; exit 0'
living=$id
add -- sh -c 'echo "$SLUICE_RUN" >>started; exec tail -f /dev/null'
gone=$id
becomes "$living" running
becomes "$gone" running
add -- sh -c 'echo "$SLUICE_RUN" >>started'
waiting=$id
first=$(tr '\0\n' '  ' <"data/runs/$living/1/lock" | sed -n 's/.*shim \([0-9]*\) .*/\1/p')

# --- the active one dies, with its runs alive -------------------------------------------------------

# A client sends a request while no daemon is active: the standby is stopped, so that the request precedes the takeover.
standby=$(in_b pid_of_daemon)
kill -STOP "$standby"
kill -9 "$(pid_of_daemon)"
SLUICE_HOME=$b "$SLUICE" host list >hosts 2>hosts.err &
asker=$!
SLUICE_HOME=$b "$SLUICE" status >/dev/null 2>status.err &
looker=$!
soon grep -q '^State:.S' "/proc/$asker/status"
soon grep -q '^State:.S' "/proc/$looker/status"
kill -CONT "$standby"
rule 'the standby of the other host takes over' soon is_active "$b"
wait "$asker" "$looker"
rule 'since when a host is away is not in the future' grep -qE '^  hosta +unreachable +2  (now|[0-9]+ s ago) ' hosts
rule 'who answers is no standby any more, and not called one' [ ! -s status.err ]
rule 'what runs on the first host is running still' [ "$(value "$living" state) $(value "$living" attempt)" = 'running 1' ]
rule 'a person is told' soon says_away
rule 'its rows name its host' [ "$(where "$living.1")" = hosta ]
rule 'it goes on' kill -0 "$first"
rule 'its places are taken' [ "$(value "$waiting" state)" = ready ]
run sluice logs "$living"
exits 0 'its log is seen in the shared folder'

# --- the run ends there, and its daemon is back as a standby -----------------------------------------

unblock go
is_gone "$first"
run env "SLUICE_HOME=$home" "$SLUICE" up
rule 'a standby of its host alone changes nothing' [ "$(value "$living" state)" = running ]
"$SLUICE" cancel "$gone" >out 2>err
has 'it is stopped when the daemon of that host is the active one' 'cancel says when'

# --- and takes over again ----------------------------------------------------------------------------

second=$(in_b pid_of_daemon)
kill -9 "$second"
rule 'the daemon of its host takes over again' soon is_active "$home"
rule 'the end that nobody saw is recorded' becomes "$living" 'done'
rule 'the stop that was remembered is carried out' becomes "$gone" canceled
rule 'who waited has its place' becomes "$waiting" 'done'
rule 'everything ran once' [ "$(sort started | uniq -c | awk '$1 != 1' | wc -l) $(wc -l <started)" = '0 3' ]
run sluice host list
rule 'no host is unreachable' [ "$(grep -c unreachable out)" = 0 ]
finish
