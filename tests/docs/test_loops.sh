#!/bin/sh
# docs/guide/loops.md: its task files; a plan whose agent writes the spawn file.
# shellcheck disable=SC1091,SC2016,SC2154 # kit.sh sets log; $SLUICE_SPAWN is a word of the document
. "$(dirname "$0")/kit.sh"
document docs/guide/loops.md
agents_can_log
writes_this() { # FILE
    cp "$1" "$log/spawn.yaml"
}
instead '- id: api' writes_this
play
"$SLUICE" sling t-2 >/dev/null
drained
are 'done' t-2 t-3 t-4
rule 'they are children of the plan' [ "$(value t-3 parent)-$(value t-4 parent)-$(value t-3 kind)" = t-2-t-2-spec ]
prompted 'Write one task for each part of it into $SLUICE_SPAWN.' 'the plan'
prompted 'Specify the API of the feature.' 'the first child'
prompted 'Specify the page.' 'the second child'
grep -o '^[^ ]*' "$log/argv" | paste -sd ' ' >"$tmp/out"
prints 't-2.1 t-3.1 t-4.1' 'the second needs the first'
played
