#!/bin/sh
# docs/tasks.md: it has every member of a task, and every file that it shows is accepted.
# shellcheck disable=SC2154 # lib.sh and daemon.sh set home, id, root and tmp
. "$(dirname "$0")/lib.sh"
. "$here/daemon.sh"

: >out
: >err
members=$(sed -n '/^## A task to be added/,/^## /s/^| `\([a-z_]*\)` .*/\1/p' "$root/docs/api.md")
[ -n "$members" ]
report $? 'docs/api.md lists the members of a task'
for member in $members; do
    grep -q "^| \`$member\` " "$root/docs/tasks.md"
    report $? "docs/tasks.md has '$member'"
done

config 'agents: {claude: {command: [echo, "{prompt}"]}}'
start
run sluice project add web
awk '/^```yaml$/ { n++; on = 1; next } /^```/ { on = 0 } on { print > ("tasks-" n ".yaml") }' \
    "$root/docs/tasks.md"
for file in tasks-*.yaml; do
    run sluice add --draft --file "$file"
    exits 0 "docs/tasks.md: the file that begins with '$(head -n 1 "$file")'"
done
finish
