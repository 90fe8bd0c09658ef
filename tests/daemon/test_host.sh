#!/bin/sh
# Gates for disk space, memory and load, with a separate file system that the test can fill.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
if [ -z "${OWN_DISKS-}" ]; then
    for options in -m -rm; do
        ! unshare $options true 2>/dev/null || OWN_DISKS=1 exec unshare $options "$0"
    done
    echo '1..0 # SKIP the kernel does not let us mount a disk of our own'
    exit 0
fi
. "$(dirname "$0")/kit.sh"
mount -t tmpfs -o size=300m,mode=700 none "$home" || { echo '1..0 # SKIP no disk of our own' && exit 0; }
trap 'stop_daemon; umount -l "$home"; rm -rf "$tmp"' EXIT
# 300 MB, of which the store reserves 64: 236 are free, and 200 are required.
config 'host: {disk_free_gb: 0.2}
store: {min_free_mb: 20}
retention: {low_disk_days: never}
limits: {runs: 4}'
store_is_file || head -c $((64 << 20)) /dev/zero >"$home/in-the-place-of-the-reserve"
start

alert() { # prints the text of an open alert: alert disk
    "$SLUICE" status --json | sed -e 's/.*"alerts":\[//' -e 's/\],"external":.*//' |
        grep -oE "\"key\":\"$1\",\"text\":\"[^\"]*" | sed 's/.*"text":"//'
}
until_alert() { # KEY yes|no
    soon is_alert "$1" "$2"
}
is_alert() {
    [ "$([ -n "$(alert "$1")" ] && echo yes || echo no)" = "$2" ]
}

# --- f067 -----------------------------------------------------------------------------------------------

add -- true
rule 'f067 with room, work starts' becomes "$id" 'done'
mkfifo "$tmp/go"
add -- sh -c "read -r _ <'$tmp/go'"
runs=$id
becomes "$runs" running
head -c 60000000 /dev/zero >"$home/filling"
add -- true
waits=$id
rule 'f067 below the floor nothing new starts' [ "$(value "$waits" state)" = ready ]
run sluice why "$waits"
rule 'f067 the reason names the floor, what is free and what clears it' \
    grep -Eq 'host .*[0-9]+ MB.*200 MB' out
rule 'f067 one alert, with figures and what it takes' sh -c \
    'echo "$1" | grep -Eq "^[0-9]+ MB of disk are free, the floor is 200 MB .*until [0-9]+ MB more are free"' - "$(alert disk)"
rule 'f067 the log has the warning' grep -q 'Low disk space, not starting tasks available_gb=0\.' "$home/sluice.log"
rule 'f067 running tasks continue' [ "$(value "$runs" state)" = running ]
unblock "$tmp/go"
rule 'f067 and its end is recorded' becomes "$runs" 'done'
rm "$home/filling"
rule 'f067 with room again it starts by itself' becomes "$waits" 'done'
rule 'f067 and the alert is over' until_alert disk no
rule 'f067 it was told once' [ "$("$SLUICE" debug events | grep -c '"kind":"alert".*"key":"disk"')" = 1 ]

# --- f067: files of finished tasks are removed first ------------------------------------------------------

for _ in 1 2 3; do
    add -- head -c 15000000 /dev/zero
    becomes "$id" 'done'
done
rule 'f067 three long logs, and no room left' [ "$(df -m --output=avail "$home" | tail -n 1)" -lt 200 ]
add -- true
rule 'f067 nothing starts' [ "$(value "$id" state)" = ready ]
"$SLUICE" config set retention.low_disk_days=0 >/dev/null
rule 'f067 old finished work is removed until there is room' becomes "$id" 'done'
rule 'f067 the tasks went with their logs' [ "$("$SLUICE" list --ids --all | wc -l)" -le 2 ]

# --- f120: a store that cannot be written -----------------------------------------------------------------

add -- sh -c "read -r _ <'$tmp/go'"
runs=$id
becomes "$runs" running
"$SLUICE" config set host.disk_free_gb=0 retention.low_disk_days=never >/dev/null
fallocate -l "$(df -B1 --output=avail "$home" | tail -n 1)" "$home/filling" 2>/dev/null ||
    head -c 200000000 /dev/zero >"$home/filling" 2>/dev/null
before=$("$SLUICE" list --ids --all | wc -l)
run sluice add -- true
rule 'f120 a full disk is an error, not an empty queue' [ "$code" != 0 ]
rule 'f120 which says so' grep -Eqi 'disk|space' err
rule 'f120 and nothing was taken' [ "$("$SLUICE" list --ids --all | wc -l)" = "$before" ]
run sluice status
has 'DISK FULL' 'f120 status says it on its first line'
unblock "$tmp/go"
rule 'f120 the end of what ran is recorded all the same: room for it was kept aside' becomes "$runs" 'done'
rm "$home/filling"
run sluice add -- true
exits 0 'f120 with room again work is taken'
rule 'f120 and done' becomes "$(sed 's/ .*//' out)" 'done'

# --- pain 9: memory and load ------------------------------------------------------------------------------

"$SLUICE" config set host.memory_free_mb=900000000 >/dev/null
add -- true
run sluice why "$id"
rule 'pain 9: a floor for memory stops starts, with its figures' grep -Eq 'host .*900000000 MB' out
rule 'pain 9: and a person is told' until_alert memory yes
rule 'pain 9: with figures' sh -c 'echo "$1" | grep -Eq "^[0-9]+ MB of memory are available, the floor is 900000000 MB"' - "$(alert memory)"
"$SLUICE" down >/dev/null 2>&1
start
add -- true
until_alert memory yes
rule 'pain 9: once, whatever comes behind it' [ "$("$SLUICE" debug events | grep -c '"kind":"alert".*"key":"memory"')" = 1 ]
"$SLUICE" config set host.memory_free_mb=0 >/dev/null
rule 'pain 9: lowered, work goes on at once' becomes "$id" 'done'
rule 'pain 9: and the alert is over' until_alert memory no
"$SLUICE" config set host.load=0.001 >/dev/null
sh -c 'while :; do :; done' & # creates load on an idle machine
burner=$!
trap 'kill "$burner" 2>/dev/null; stop_daemon; umount -l "$home"; rm -rf "$tmp"' EXIT
is_loaded() {
    [ "$(cut -d ' ' -f 1 /proc/loadavg)" != 0.00 ]
}
soon is_loaded
add -- true
run sluice why "$id"
rule 'pain 9: a limit for the load of the machine stops starts' grep -Eq 'host .*load' out
rule 'pain 9: which is told too' until_alert load yes
kill "$burner"
"$SLUICE" config unset host.load >/dev/null
rule 'pain 9: and lets them go on' becomes "$id" 'done'
finish
