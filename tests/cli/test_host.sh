#!/bin/sh
# sluice host: lists hosts with runs, and forgets hosts.
# shellcheck disable=SC2154 # lib.sh and daemon.sh set home, id, root and tmp
. "$(dirname "$0")/lib.sh"
. "$here/daemon.sh"

config 'daemon: {host: hosta}
retry: {lost: {delay_s: 0}}'
start
add -- tail -f /dev/null
becomes "$id" running
run sluice host list
exits 0 'list: exit code'
rule 'list: our own, with its run' grep -qx '  hosta  active *1  -      -          - *' out
run sluice host list --json
has '{"items":[{"name":"hosta","active":true,"reachable":true,"runs":1,"unreachable_since":null,"forgotten_at":null,"forgotten_by":null}],"next":null}' 'list: as JSON'

run sluice host forget hosta
exits 4 'forget, our own: exit code'
says "sluice: host 'hosta' is this one, and its runs are seen; cancel what shall not go on" 'forget, our own'
run sluice host forget hostb
exits 1 'forget, nobody knows it: exit code'
says "sluice: no run is on host 'hostb'; 'sluice host list' shows the hosts" 'forget, nobody knows it'
run sluice host forget
exits 2 'forget, without a name: exit code'
run sluice host forget a b
exits 2 'forget, two at once: exit code'
run sluice host
exits 2 'without a verb: exit code'
finish
