#!/bin/sh
# sluice backup: copies the store while tasks run.
# shellcheck disable=SC2154 # lib.sh and daemon.sh set home, id, root and tmp
. "$(dirname "$0")/lib.sh"
. "$here/daemon.sh"

start
run sluice project add web
add --project web -- true
becomes web-1 'done'
run sluice backup night.db
exits 0 'backup: exit code'
has "$tmp/night.db written: " 'backup'
rule 'the file is there' [ -s night.db ]
run sluice backup --json night.db
exits 0 'over an older one: exit code'
has '"path":' 'as JSON'
run sluice backup "$tmp/no/such/folder/x.db"
exits 1 'no such folder: exit code'
rule 'no such folder: one sentence' [ "$(wc -l <err)" -eq 1 ]
run sluice backup
exits 2 'no file: exit code'
says "sluice: 'backup' needs 1 argument
usage: sluice backup FILE" 'no file'
run sluice backup ''
exits 2 'an empty name: exit code'
says 'sluice: a path is empty' 'an empty name'
finish
