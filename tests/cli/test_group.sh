#!/bin/sh
# sluice group: groups of tasks and their progress.
# shellcheck disable=SC2154 # lib.sh and daemon.sh set home, id, root and tmp
. "$(dirname "$0")/lib.sh"
. "$here/daemon.sh"

start
run sluice group list
prints "no group yet; 'sluice group add NAME' makes one" 'none'
run sluice group add night
exits 0 'add: exit code'
prints 'night added' 'add'
run sluice group add night
exits 0 'add a second time: exit code'
prints 'night is open already' 'add a second time'
run sluice group add
has 'group-' 'a name is made up'
run sluice pause
run sluice project add web
add --project web --group night -- true
add --project web --group night -- true
run sluice group show night
exits 0 'show: exit code'
has 'night (open): 0 of 2 over' 'show: how far it is'
has '  web-1  ready' 'show: its tasks'
run sluice resume
becomes web-1 'done'
becomes web-2 'done'
run sluice group show night --json
has '"closed":true' 'f148: it closes when all are over, and never kept one from starting'
run sluice group add --owned release
add --project web --group release -- true
becomes "$id" 'done'
run sluice group show release
has 'release (open, owned): 1 of 1 over' 'f147: an owned group stays open'
run sluice group close release
prints 'release closed' 'f147: until somebody closes it'
run sluice group close release
prints 'release is closed already' 'close a second time'
run sluice group list
has '  release  1 of 1  closed  yes' 'list'
for call in 'show nope' 'close nope'; do
    # shellcheck disable=SC2086 # words
    run sluice group $call
    exits 1 "group $call: exit code"
    says "sluice: there is no group 'nope'" "group $call"
done
run sluice group add ''
exits 2 'an empty name: exit code'
says "sluice: a name is empty
usage: sluice group add [--owned] [NAME]" 'an empty name'
run sluice group add a b
exits 2 'two names'
run sluice group show
exits 2 'no name'
run sluice group
exits 2 'no subcommand'
# More groups than fit on one page.
awk -v socket="$home/sluice.sock" 'BEGIN {
    for (i = 1; i <= 1005; i++)
        printf "%ssilent\nurl = http://localhost/v1/groups\nunix-socket = \"%s\"\njson = \"{\\\"name\\\":\\\"g%d\\\"}\"\n", (i > 1 ? "next\n" : ""), socket, i
}' >calls
curl --parallel -K calls >answers 2>curl.err
run sluice group list --json
[ "$(grep -oE '"name":"g[0-9]+"' out | sort -u | wc -l)" -eq 1005 ] && grep -q '"next":null' out && [ "$(wc -l <out)" -eq 1 ]
report $? 'all of them, as JSON'
run sluice group list
rule 'all of them' [ "$(grep -cE '^ *g[0-9]+ ' out)" -eq 1005 ]
finish
