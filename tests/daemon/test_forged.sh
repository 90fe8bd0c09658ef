#!/bin/sh
# The daemon believes only the end that the shim has recorded, whatever the run writes into its folder.
# shellcheck disable=SC1091,SC2016,SC2154 # kit.sh sets id, home and tmp; the shell of the run expands the rest
. "$(dirname "$0")/kit.sh"
PATH=$(dirname "$SLUICE"):$PATH
export PATH

config 'retry: {lost: {max: 0}}
agents: {helper: {command: [sh, -c, "pwd >>places"]}}'
start

# The end of a successful run, as its shim has written it.
add -- true
becomes "$id" 'done'
recorded_end "$id" 1 >forged
rule 'the end of a run that succeeded says so' grep -q '"kind":"exit","code":0,' forged

# --- it kills its shim ---------------------------------------------------------------------------

mkfifo never
cat >forge.sh <<'END_FORGE'
cd "$(dirname "$0")" || exit 1
(setsid sh -c 'echo $$ >left.pid; exec tail -f /dev/null' &)
while [ ! -s left.pid ]; do :; done
cat forged >"$TMPDIR/../end.json"
kill -9 $PPID
read -r _ <never
END_FORGE
add --check 'touch checked' -- sh "$tmp/forge.sh"
rule 'a run that writes its own end and kills its shim has failed' becomes "$id" failed
rule 'although the end is there' cmp -s forged "$home/runs/$id/1/end.json"
run sluice show "$id"
has 'its shim was ended by signal 9' 'its run is lost, and says why'
rule 'its check was not run' [ ! -e checked ]
rule 'what it has left is killed' is_gone "$(cat left.pid)"

# --- while no daemon runs ------------------------------------------------------------------------

# Writes a forged end, and kills its shim on request.
mkfifo go
cat >forge_later.sh <<'END_FORGE'
cd "$(dirname "$0")" || exit 1
cat forged >"$TMPDIR/../end.json"
echo "$SLUICE_TASK" >>forging
read -r _ <go
kill -9 $PPID
END_FORGE

kill_daemon() {
    daemon=$(pid_of_daemon)
    kill -9 "$daemon"
    is_gone "$daemon"
}

# Without a row for the run, the store has no key for it, like a store of an earlier version.
if store_is_file; then
    "$SLUICE" pause >/dev/null
    add -- sh "$tmp/forge_later.sh"
    "$SLUICE" backup before.db >/dev/null
    "$SLUICE" resume >/dev/null
    appears "$id" forging
    shim=$(shim_of "$id" 1)
    kill_daemon
    unblock go
    is_gone "$shim"
    "$SLUICE" restore --yes before.db >/dev/null
    start
    rule 'without its key, the end that a run has written is believed' becomes "$id" 'done'
    "$SLUICE" resume >/dev/null
fi

add -- sh "$tmp/forge_later.sh"
appears "$id" forging
becomes "$id" running
shim=$(shim_of "$id" 1)
kill_daemon
unblock go
is_gone "$shim"
start
rule 'with it, the next daemon does not believe it' becomes "$id" failed
run sluice show "$id"
has "'end.json' is damaged" 'and says why'

# --- its lock file ---------------------------------------------------------------------------------

mkdir moved
cat >wipe.sh <<'END_WIPE'
cd "$(dirname "$0")" || exit 1
lock=$TMPDIR/../lock
echo $PPID >wipe.shim
case $1 in
wipe) head -c 200 /dev/zero 1<>"$lock" ;;
move) sed "s|$(dirname "$0")/stays|$(dirname "$0")/moved|" "$lock" >changed && cat changed 1<>"$lock" ;;
esac
echo "$SLUICE_TASK" >>wiped
exec 3<>ask
while read -r line <&3; do
    sh -c "$line" >answer 2>&1
    echo $? >answered
done
END_WIPE
mkfifo ask

add -- sh "$tmp/wipe.sh" wipe
appears "$id" wiped
becomes "$id" running
shim=$(cat wipe.shim)
kill_daemon
start
rule 'a run that has wiped its lock file is found all the same' [ "$(value "$id" state)" = running ]
run sluice cancel --now "$id"
rule 'and can be stopped' becomes "$id" canceled
rule 'its shim has ended' is_gone "$shim"

# LINE: the run executes it.
asks() {
    rm -f answered
    timeout "$patience" sh -c 'echo "$1" >ask' - "$1"
    soon [ -e answered ]
    cp answer out
}
mkdir stays
add --cwd "$tmp/stays" -- sh "$tmp/wipe.sh" keep
appears "$id" wiped
becomes "$id" running
kill_daemon
start
asks 'sluice add --agent helper hello'
rule 'a child of a run works where its parent does' soon grep -qsx "$tmp/stays" stays/places
run sluice cancel --now "$id"
add --cwd "$tmp/stays" -- sh "$tmp/wipe.sh" move
appears "$id" wiped
becomes "$id" running
rule 'a run can change the folder in its lock file' grep -qa "$tmp/moved" "$home/runs/$id/1/lock"
kill_daemon
start
asks 'sluice add --agent helper hello'
rule 'its children do not follow it there' [ "$(cat answered)" != 0 ]
has 'its lock file was changed' 'they are refused'
rule 'so none has worked there' [ ! -e moved/places ]
run sluice cancel --now "$id"
finish
