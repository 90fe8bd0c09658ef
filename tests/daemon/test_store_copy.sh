#!/bin/sh
# A history that was copied into another store continues there as if nothing had happened.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home, id, root and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"
here() { # also where the others are in PostgreSQL
    config "store: { url: '$home/sluice.db' }
projects: { web: { weight: 3 } }"
}
if store_is_file; then
    moved=$tmp/moved.db
else
    moved="$SLUICE_TEST_STORE?schema=$(schema_of "$tmp/moved")"
fi
here
start
mkfifo go
add --project web --title kept --priority 7 --hold -- echo kept
kept=$id
add -- sh -c 'exit 3' # waits before its next attempt
add --project web -- true
over=$id
becomes "$over" 'done'
add -- sh -c 'echo begun >>begun; read -r _ <go; echo went on'
living=$id
becomes "$living" running
add --project web --title gone -- true
becomes "$id" 'done'
last=$id
"$SLUICE" delete "$id" >/dev/null

post() {
    curl -s --unix-socket "$home/sluice.sock" -H "Idempotency-Key: $1" -H 'Content-Type: application/json' \
        -d "{\"tasks\":[{\"argv\":[\"sh\",\"-c\",\"echo once >>'$tmp/once'\"]}]}" http://localhost/v1/tasks >out
}
post key-of-a-client
once=$(field id)
becomes "$once" 'done'

# Enough that it is written in several commits: a limit on the size of files ends the copy in the middle.
awk 'BEGIN { for (i = 0; i < 500; i++) p = p "x"; print "tasks:"
             for (i = 0; i < 1500; i++) printf "  - { project: web, title: many, hold: true, argv: [\"true\", %s] }\n", p }' >many.yaml
for _ in 1 2 3 4 5 6; do
    "$SLUICE" add -f many.yaml >/dev/null 2>err || sed 's/^/# /' err
done
"$SLUICE" list --project web --all --limit 1000 --json | sed 's/"run":.*//' >before
run sluice down
exits 0 'the daemon stops, its run goes on'
last_event=$("$SLUICE" store show --json | first last_event)

cp "$home/sluice.db" original.db
if store_is_file; then
    run prlimit --core=0 --fsize=2000000 "$SLUICED" --store-copy current "$moved"
    rule 'a copy is killed in the middle' [ "$code" -gt 128 ]
    run sluice store show --json "$moved"
    rule 'what it leaves says that it is not finished' [ "$(field unfinished_copy)" = true ]
    config "store: { url: '$moved' }"
    run sluice doctor
    exits 1 'the doctor calls it no sound store'
    rule 'and says what it is' grep -q 'a copy into it is not finished' out
    run sluice up
    exits 1 'no daemon starts on it'
    rule 'and says what to do' grep -q "a copy into this store is not finished: 'sluice store copy'" err
    here
    run sluice store copy --json current "$moved"
    exits 0 'the same command goes on with it'
    rule 'it was begun before' [ "$(field resumed)" = true ]
    rule 'and did not begin again' [ "$(field written)" -lt 26000 ]
else
    run sluice store copy --json current "$moved"
    exits 0 'a copy into PostgreSQL'
    rule 'no password is shown' [ "$(grep -c "$(echo "$moved" | sed 's/.*sluice:\(.*\)@.*/\1/')" out)" = 0 ]
fi
rule 'the original is as it was' cmp -s "$home/sluice.db" original.db

run sluice config set "store.url=$moved"
exits 0 'the configuration names the copy'
run sluice up
exits 0 'a daemon starts on the copy'
"$SLUICE" list --project web --all --limit 1000 --json | sed 's/"run":.*//' >after
compare before after 'every task is as it was'
rule 'a run that lived meanwhile lives' [ "$(value "$living" state)" = running ]
unblock go
rule 'and its end is known' becomes "$living" 'done'
run sluice logs "$living"
prints 'went on' 'its log is there'
rule 'it was begun once' [ "$(wc -l <begun)" = 1 ]
post key-of-a-client
rule 'a client that asks again gets the answer it got' [ "$(field id)" = "$once" ]
rule 'and nothing was done again' [ "$(wc -l <once)" = 1 ]
add --project web -- true
becomes "$id" 'done'
rule 'numbers that were given are not given again' [ "${id#web-}" -gt "${last#web-}" ]
rule 'events are numbered on' [ "$(last_event)" -gt "$last_event" ]
"$SLUICE" release "$kept" >/dev/null
rule 'what was held goes on when it is let' becomes "$kept" 'done'
run sluice project show web --json
rule 'projects are there' [ "$(field name) $(field prefix)" = 'web web' ]

# And back.
run sluice down
run sluice store copy "$moved" "$home/back.db"
exits 0 'and back into another file'
run sluice config set "store.url=$home/back.db"
run sluice up
rule 'where it goes on' [ "$(value "$kept" state)" = 'done' ]
finish
