#!/bin/sh
# Scheduled backups: one for each due time, old ones are deleted, and each of them can be restored. docs/guide/schedules.md.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"
mkdir kept
config 'limits: {runs: 2}'
start
"$SLUICE" add --title first -- true >/dev/null
run sluice backup --every 1s --keep 3 kept
exits 0 'sluice backup --every adds a schedule'
has "schedule backup added: every 1s to $tmp/kept, 3 are kept" 'and says so'
number() {
    "$SLUICE" schedule show backup --json | first "$1"
}
fired_more() {
    [ "$(number fired)" -gt "$1" ]
}
soon fired_more 4
daemon=$(pid_of_daemon)
kill -9 "$daemon"
is_gone "$daemon"
start
soon fired_more "$(number fired)"
"$SLUICE" schedule pause backup >/dev/null
is_idle() { # a backup that has begun may still be written
    [ -z "$(find kept -name '*.partial*')" ]
}
soon is_idle
rule 'at most as many as asked for are kept, and the next one' [ "$(find kept -name 'backup-*.db' | wc -l)" -le 4 ]
rule 'and at least these' [ "$(find kept -name 'backup-*.db' | wc -l)" -ge 3 ]
run sluice schedule show backup
has "$tmp/kept" 'the schedule shows its directory'
last=$(number last_backup)
rule 'and its last backup' [ -s "$last" ]
"$SLUICE" events --json --after 0 --limit 10000 | tr '{' '\n' | grep '"backup":' | first due_at >due_times
rule 'each due time has one backup, over a kill of the daemon' [ "$(sort due_times | uniq -d | wc -l)" = 0 ]
run sluice schedule run backup
exits 2 'it cannot be run by hand'
complains "makes backups: 'sluice backup FILE' makes one now" 'and says what to use instead'

# --- errors ------------------------------------------------------------------------------------------

run sluice schedule add bad --every 1d --backup /nowhere
exits 2 'a directory that does not exist is refused'
complains "cannot use the directory '/nowhere'" 'with its name'
run sluice schedule add bad --every 1d --backup kept -- true
exits 2 'a schedule does one thing'
run sluice backup --keep 2 one.db
exits 2 '--keep needs --every'
run sluice schedule list --json
rule 'and nothing is stored' [ "$(grep -o '"name":"[a-z]*"' out | wc -l)" = 1 ]
"$SLUICE" schedule add gone --every 1s --backup kept >/dev/null
"$SLUICE" schedule set gone backup="$tmp/kept" keep=1 >/dev/null
mkdir lost
"$SLUICE" schedule set gone backup="$tmp/lost" >/dev/null
rm -rf lost
alerted() {
    "$SLUICE" status --json | grep -q '"key":"schedule:gone"'
}
soon alerted
rule 'a backup that cannot be made raises an alert' alerted
run sluice schedule show gone --json
has '"reason":"refused"' 'and is a recorded skip'
"$SLUICE" schedule remove gone >/dev/null

# --- restore -----------------------------------------------------------------------------------------

"$SLUICE" add --title second -- true >/dev/null
"$SLUICE" down >/dev/null
run sluice restore --yes "$last"
exits 0 'such a backup is restored'
start
run sluice list --state all
has first 'with what it had'
rule 'and without what came later' not grep -q second out
finish
