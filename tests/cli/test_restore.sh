#!/bin/sh
# sluice restore: replaces the state with a backup.
# shellcheck disable=SC2154 # lib.sh and daemon.sh set home, id, root and tmp
. "$(dirname "$0")/lib.sh"
. "$here/daemon.sh"

start
run sluice project add web
add --project web -- true
becomes web-1 'done'
run sluice backup night.db
add --project web -- true
becomes web-2 'done'
usage='usage: sluice restore --yes FILE'
run sluice restore night.db
exits 2 'without --yes: exit code'
says "sluice: 'restore' replaces all tasks with those of the backup: confirm with --yes
$usage" 'without --yes'
run sluice restore --yes night.db
exits 4 'a daemon runs: exit code'
says "sluice: a daemon is running: stop it with 'sluice down' (its runs continue)" 'a daemon runs'
run sluice restore --yes missing.db
exits 2 'no such file: exit code'
says "sluice: cannot open '$tmp/missing.db': No such file or directory" 'no such file'
run sluice down
echo junk >junk.db
run sluice restore --yes junk.db
exits 1 'no backup at all: exit code'
start
rule 'after every refusal all is as it was' [ "$(value web-2 state)" = 'done' ]
run sluice down
run sluice restore --yes night.db
exits 0 'restore: exit code'
has 'what was there before: ' 'restore: the old state is kept'
kept=$(sed -n 's/^what was there before: //p' out)
rule 'under the name it says' [ -e "$kept" ]
start
[ "$(value web-1 state)" = 'done' ] && [ -z "$(value web-2 state)" ]
report $? 'all is as it was at the backup'
add --project web -- true
rule 'and work goes on' becomes "$id" 'done'
run sluice down
run sluice restore --yes --json night.db
prints "{\"restored\":\"$tmp/night.db\"}" 'as JSON'
run sluice restore --yes
exits 2 'no file'
finish
