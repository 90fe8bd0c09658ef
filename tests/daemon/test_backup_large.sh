#!/bin/sh
# A backup of a large store: nobody waits for it but who asked for it.
# shellcheck disable=SC1091,SC2154 # kit.sh sets home, id and tmp
. "$(dirname "$0")/kit.sh"
start
run sluice pause
add -- true
awk 'BEGIN { for (i = 0; i < 8000; i++) p = p "x"; print "tasks:"
             for (i = 0; i < 1500; i++) printf "  - { argv: [\"true\", %s] }\n", p }' >many.yaml
for _ in 1 2 3 4 5; do
    "$SLUICE" add -f many.yaml >/dev/null 2>err || sed 's/^/# /' err
done
soon sh -c '[ "$(stat -c %s "$1/sluice.db")" -gt 60000000 ]' - "$home" # what is in the log comes into the file later
rule 'a store of 60 MB' [ "$(stat -c %s "$home/sluice.db")" -gt 60000000 ]

# While FILE.partial is there it is being made: an answer between two looks at it came meanwhile.
meanwhile=0
tries=0
while [ $meanwhile = 0 ] && [ $tries -lt 10 ]; do
    rm -f big.db
    "$SLUICE" backup big.db >backup.out 2>&1 &
    backup=$!
    until gone $backup; do
        [ -e big.db.partial ] && "$SLUICE" hold "$id" >/dev/null 2>&1
        [ -e big.db.partial ] && "$SLUICE" status >answer && [ -e big.db.partial ] &&
            meanwhile=$((meanwhile + 1))
    done
    wait $backup || sed 's/^/# /' backup.out
    tries=$((tries + 1))
done
rule 'others are answered while a large store is copied' [ $meanwhile -gt 0 ]
rule 'which is whole when the command returns' grep -q 'big.db written' backup.out

# The daemon does not stay for it, and nothing of it stays.
rm -f big.db
"$SLUICE" backup big.db >backup.out 2>&1 &
backup=$!
until [ -e big.db.partial ] || gone $backup; do :; done
"$SLUICE" down --wait >/dev/null 2>&1
wait $backup
rule 'a backup that is interrupted by the end of the daemon leaves no half file' \
    [ "$(ls big.db* 2>/dev/null)" = "$([ -e big.db ] && echo big.db)" ]
rule 'and says so, or is whole' grep -Eq 'no copy was made|written' backup.out
finish
