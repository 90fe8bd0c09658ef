#!/bin/sh
# A standby takes over while schedules are due: each due time has its task or is in one recorded skip. docs/guide/schedules.md.
# shellcheck disable=SC1091,SC2154 # kit.sh sets home, root and tmp
. "$(dirname "$0")/kit.sh"
. "$root/tests/daemon/schedules.sh"

b=$tmp/b
mkdir -m 700 "$b" "$tmp/data"
trap 'in_b stop_daemon; stop_daemon; rm -rf "$tmp"' EXIT
store=$tmp/store.db
store_is_file || store="$SLUICE_TEST_STORE?schema=$(schema_of "$b")"

in_b() {
    (SLUICE_HOME=$b && "$@")
}

for place in "$home" "$b"; do
    cat >"$place/sluice.yaml" <<END
store: {url: "$store"}
data: {folder: $tmp/data}
daemon: {standby: true, host: one, addresses: ["unix:$home/sluice.sock", "unix:$b/sluice.sock"]}
limits: {runs: 8}
schedules:
  tick: {every: 1s, overlap: queue, task: '{"argv": ["true"]}'}
  each: {every: 1s, overlap: queue, catch_up: all, task: '{"argv": ["true"]}'}
END
done

fires() { # as soon as something is due
    fired=$(number each fired)
    soon fired_more each $((${fired:-0} + 1))
}

"$SLUICE" up >/dev/null 2>&1
in_b "$SLUICE" up >/dev/null 2>&1
rule 'the active daemon fires' fires

# The one that was killed comes back as a standby.
for killed in "$home" "$b" "$home"; do
    (export SLUICE_HOME="$killed" && daemon=$(pid_of_daemon) && kill -9 "$daemon" && is_gone "$daemon")
    rule 'the standby goes on with the schedules' fires
    SLUICE_HOME=$killed "$SLUICE" up >/dev/null 2>&1
done

"$SLUICE" schedule pause tick >/dev/null
"$SLUICE" schedule pause each >/dev/null
account tick >problems
rule 'each due time has one task or is in one skip, over three takeovers' [ ! -s problems ]
sed 's/^/# /' problems
account each >problems
rule 'with catch_up: all each due time has its task' [ ! -s problems ]
sed 's/^/# /' problems
rule 'none is skipped' [ "$(number each skipped)" = 0 ]
finish
