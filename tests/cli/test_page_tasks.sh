#!/bin/sh
# docs/guide/tasks.md: every task file on the page is accepted. docs/reference/members.md, which is generated, lists the members.
# shellcheck disable=SC2154 # lib.sh and daemon.sh set home, id, root and tmp
. "$(dirname "$0")/lib.sh"
. "$here/daemon.sh"

: >out
: >err
rule 'docs/guide/tasks.md links to the members of a task' grep -qF '](../reference/members.md)' "$root/docs/guide/tasks.md"

config 'agents: {claude: {command: [echo, "{prompt}"]}}'
start
run sluice project add web
awk '/^```yaml$/ { n++; on = 1; next } /^```/ { on = 0 } on { print > ("tasks-" n ".yaml") }' \
    "$root/docs/guide/tasks.md"
for file in tasks-*.yaml; do
    run sluice add --draft --file "$file"
    exits 0 "docs/guide/tasks.md: the file that begins with '$(head -n 1 "$file")'"
done
finish
