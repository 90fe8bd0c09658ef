#!/bin/sh
# A backup of a large store: only the client that asked for it waits.
# shellcheck disable=SC1091,SC2154 # kit.sh sets home, id and tmp
. "$(dirname "$0")/kit.sh"
start
run sluice pause
add -- true
awk 'BEGIN { for (i = 0; i < 8000; i++) p = p "x"; print "tasks:"
             for (i = 0; i < 1500; i++) printf "  - { argv: [\"true\", %s] }\n", p }' >many.yaml
for _ in 1 2; do
    "$SLUICE" add -f many.yaml >/dev/null 2>err || sed 's/^/# /' err
done
is_large() { # rows in the log reach the file later
    [ "$(stat -c %s "$home/sluice.db")" -gt 24000000 ]
}
rule 'a store of 24 MB' soon is_large

# Stops the daemon in the middle of the copy. Retries if the copy was already complete.
daemon=$(pid_of_daemon)
trap 'kill -CONT "$daemon" 2>/dev/null; stop_daemon; rm -rf "$tmp"' EXIT
stop_in_the_middle() {
    rm -f big.db*
    "$SLUICE" backup big.db >backup.out 2>&1 &
    backup=$!
    soon begins
    kill -STOP "$daemon"
    size=$(stat -c %s big.db.partial 2>/dev/null)
    # Near its end the copy would complete before the daemon reads another request.
    [ "${size:-0}" -gt 0 ] && [ "$size" -lt $(($(stat -c %s "$home/sluice.db") / 2)) ] && return
    kill -CONT "$daemon"
    wait $backup
    false
}
begins() {
    [ -s big.db.partial ] || gone $backup
}

# Continues the daemon when another command waits for it.
at_the_door() {
    grep -c " $home/sluice.sock\$" /proc/net/unix
}
has_asked() {
    [ "$(at_the_door)" -gt "$before" ] && grep -q '^State:.S' "/proc/$asker/status"
}
meanwhile() { # COMMAND...
    before=$(at_the_door)
    "$SLUICE" "$@" >"$1.out" 2>&1 &
    asker=$!
    soon has_asked
    kill -CONT "$daemon"
    wait $asker
}

last=$(last_event)
soon stop_in_the_middle
rule 'others are answered while a large store is copied' meanwhile hold "$id"
wait $backup || sed 's/^/# /' backup.out
rule 'which is whole when the command returns' grep -q 'big.db written' backup.out
rule 'what they have changed meanwhile is in it' \
    [ "$("$SLUICE" store show --json "$tmp/big.db" | first last_event)" -gt "$last" ]

# The daemon does not wait for a backup when it stops, and leaves no partial file.
soon stop_in_the_middle
meanwhile down
wait $backup
rule 'a backup that is interrupted by the end of the daemon leaves no half file' [ -z "$(ls big.db* 2>/dev/null)" ]
rule 'and says so' grep -q 'no copy was made' backup.out
finish
