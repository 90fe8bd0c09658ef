#!/bin/sh
# sluice up: one daemon per home, no matter which command starts it.
# shellcheck disable=SC1091,SC2034,SC2154 # lib.sh and daemon.sh set home, root and tmp
. "$(dirname "$0")/lib.sh"
. "$here/daemon.sh"

run sluice up
exits 0 'up: exit code'
pid=$(pid_of_daemon)
says "sluice: the daemon is running (pid $pid) in '$home'" 'up says which daemon'
run sluice up
exits 0 'up twice: exit code'
says "sluice: the daemon is already running (pid $pid)" 'up twice'
rule 'what is no result is not on stdout' [ ! -s out ]
run sluice up --detach --json
has "{\"pid\":$pid,\"already\":true,\"role\":\"active\",\"home\":\"$home\",\"socket\":\"$home/sluice.sock\"" 'up --json'
run sluice up --foreground --detach
exits 2 'two ways at once'

# A second daemon refuses to start.
run "$(dirname "$SLUICE")/sluiced"
exits 4 'a second daemon on the same home is refused'
rule 'and the first one lives' kill -0 "$pid"

# A daemon that died is replaced; concurrent commands get the same new daemon.
kill -9 "$pid"
for i in 1 2 3 4; do
    "$SLUICE" up --json >"up.$i" 2>&1 &
done
wait
rule 'four at once get one daemon' [ "$(sed 's/.*"pid":\([0-9]*\).*/\1/' up.1 up.2 up.3 up.4 | sort -u | wc -l)" = 1 ]
rule 'one of them started it' [ "$(grep -c '"already":false' up.1 up.2 up.3 up.4 | grep -c ':1')" = 1 ]
rule 'it is a new one' [ "$(pid_of_daemon)" != "$pid" ]
run sluice down
exits 0 'down'

# Commands that submit work start the daemon, with one message; commands that only read do not.
run sluice list
exits 3 'list starts no daemon: exit code'
says "sluice: no daemon is running; 'sluice up' starts it" 'list starts no daemon'
run sluice add --draft -- true
exits 0 'add starts one'
says "sluice: started the daemon (pid $(pid_of_daemon))" 'add says so'
run sluice add --draft -- true
rule 'and not again' [ ! -s err ]
run sluice down

# A missing prerequisite is reported in one message.
printf 'limits: {rnus: 3}\n' >"$home/sluice.yaml"
run sluice up
exits 1 'a bad configuration: exit code'
says "sluice: the daemon did not start: $home/sluice.yaml:1: unknown key 'limits.rnus'; did you mean 'limits.runs'?" \
    'a bad configuration'
rm "$home/sluice.yaml"
run env SLUICE_HOME=/dev/null/home "$SLUICE" up
exits 1 'a home that cannot be: exit code'
rule 'a home that cannot be: one sentence' [ "$(wc -l <err)" = 1 ]
run env SLUICE_HOME=home2 "$SLUICE" up --json
has "\"home\":\"$tmp/home2\"" 'a relative home counts from here'
run env SLUICE_HOME=home2 "$SLUICE" down
mkdir alone
cp "$SLUICE" alone/sluice
run env PATH=/nowhere "$tmp/alone/sluice" up
exits 1 'without sluiced: exit code'
says "sluice: there is no program 'sluiced' beside '$tmp/alone/sluice' or in PATH; install it" 'without sluiced'
run sluice up now
exits 2 'an argument too many'
finish
