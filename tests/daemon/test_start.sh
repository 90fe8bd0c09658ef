#!/bin/sh
# One daemon per home: which commands start it, and what prevents a start.
# shellcheck disable=SC1091,SC2034,SC2154 # kit.sh sets home, root and tmp
. "$(dirname "$0")/kit.sh"

# --- one ---------------------------------------------------------------------------------------

run sluice up
exits 0 'up starts a daemon'
pid=$(pid_of_daemon)
run sluice up
exits 0 'up twice is well'
says "sluice: the daemon is already running (pid $pid)" 'up twice says that it runs already'
run "$SLUICED"
exits 4 'a second daemon on the same home is refused with code 4'
rule 'a second daemon says who is in its way' grep -q 'is in use by another process' err
rule 'the first one goes on' kill -0 "$pid"
run sluice status --json
rule 'and answers' [ "$(field pid)" = "$pid" ]

# --- by itself ---------------------------------------------------------------------------------

run sluice down
exits 0 'down'
rule 'down returns when it has gone' is_gone "$pid"
run sluice add --draft -- true
says "sluice: started the daemon (pid $(pid_of_daemon))" 'a command that hands over work starts it, and says so'
run sluice add --draft -- true
rule 'and says so once' [ ! -s err ]
run sluice down
run sluice list
exits 3 'a command that only looks does not start it: code 3'
says "sluice: no daemon is running; 'sluice up' starts it" 'and says how to'
run sluice down
exits 0 'down without a daemon is well'

# A child that a killed daemon had just forked keeps the locks until its exec.
mkfifo held let_go told
flock "$home/sluice.lock" flock "$home/sluice.db-lock" sh -c 'echo >held; read -r _ <let_go' &
read -r _ <held
exec 8<>told # so that no side waits for the other to open it
"$SLUICED" --ready-fd 9 9>told 2>daemon.log &
# It has come to the lock, as far as we may look.
soon sh -c '! ls /proc/$1/fd >fds 2>&1 || ls -l /proc/$1/fd 2>&1 | grep -q sluice.lock' - $!
echo >let_go
read -r said <&8
exec 8<&-
rule 'what a killed daemon leaves for a moment is waited for' [ "$said" = ready ]
run sluice down

# --- a store it must not touch -----------------------------------------------------------------

db=$home/sluice.db
cp "$db" good.db
rule 'a daemon that was stopped leaves no log of its store behind' [ ! -e "$db-wal" ]
printf '\000\000\000\143' | dd of="$db" bs=1 seek=60 conv=notrunc 2>dd.err # user_version = 99
cp "$db" newer.db
run sluice up
exits 1 'a store of a newer version: up fails'
complains "has version 99, this program knows up to" 'a store of a newer version is refused with a sentence'
complains 'use the newer program' 'which says what to do'
run "$SLUICED"
exits 1 'a store of a newer version: the daemon itself'
compare newer.db "$db" 'a store of a newer version is left as it is'
run sluice doctor
exits 1 'the doctor finds a store of a newer version'
has 'has version 99' 'and says so'

cp good.db "$db"
tr '\000' '\245' </dev/zero | dd of="$db" bs=4096 seek=2 count=6 conv=notrunc iflag=fullblock 2>dd.err
cp "$db" damaged.db
run sluice up
exits 1 'a damaged store: up fails'
complains "store '$db' is damaged" 'a damaged store is named'
complains "'sluice restore --yes FILE'" 'with the command that restores one'
run sluice add -- true
exits 3 'a damaged store: no other command starts it either'
compare damaged.db "$db" 'a damaged store is left as it is'
run "$SLUICED" --check
exits 1 'sluiced --check finds the damage'
rule 'in one sentence' [ "$(wc -l <err)" = 1 ]
printf 'this is no store, only a text\n' >"$db"
run sluice up
exits 1 'a file that is no store: up fails'
complains "store '$db' is damaged" 'a file that is no store is named'

run sluice restore --yes good.db
exits 0 'restore heals it'
run sluice up
run sluice list --all --ids
prints 't-2
t-1' 'with everything that was there'

# --- tables alone ------------------------------------------------------------------------------

run "$SLUICED" --store-migrate "$PWD/new.db"
exits 0 'sluiced --store-migrate makes a store'
prints "$PWD/new.db: version 9, made" 'and says so'
run "$SLUICED" --store-migrate "$PWD/new.db"
prints "$PWD/new.db: version 9, as it was" 'one that is there stays as it is'
run "$SLUICED" --store-migrate "$db"
exits 4 'that of a daemon is refused'
finish
