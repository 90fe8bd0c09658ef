#!/bin/sh
# docs/migrate/gastown.md, with a small town.
# shellcheck disable=SC1091,SC2154 # kit.sh sets tmp and bin
. "$(dirname "$0")/kit.sh"
document docs/migrate/gastown.md
state_of gastown "$HOME/gt"
mkdir -p "$HOME/gt/gastown" "$HOME/gt/kite/mayor/rig"
cat >"$bin/bd" <<'BD'
#!/bin/sh
[ "$*" = 'ready --json' ] || exit 1
cat <<'JSON'
[{"id":"gt-abc","title":"Mend the gate","description":"The gate sticks.","status":"open","priority":1,"issue_type":"bug"},
 {"id":"gt-def","title":"Paint the gate","description":"Green.","status":"open","priority":2,"issue_type":"task"},
 {"id":"gt-own","title":"Ines paints","description":"Red.","status":"in_progress","priority":2,"issue_type":"task"}]
JSON
BD
chmod +x "$bin/bd"

after 'sluice init' agents_can_log
arrived() {
    becomes ki-e1a.2 'done'
    are 'done' ki-e1a.1 ki-e1a.2
    are draft ki-e1a.3 ki-7pw
    rule 'only what a polecat worked on has run' [ "$(started claude)" = 1 ]
    prompted 'Draw the forecast' 'with its prompt'
    "$SLUICE" sling ki-e1a.3 ki-7pw >/dev/null
    drained
    are 'done' ki-e1a ki-e1a.3 ki-7pw
}
after 'sluice import gastown --settings' arrived
play
drained
says_that 'sluice import gastown --dry-run' '5 would be added, 0 already, 0 skipped, 0 refused'
says_that 'sluice import gastown --settings' '5 added, 0 already, 0 skipped, 0 refused'
says_that 'bd ready' '2 added, 0 already, 1 skipped, 0 refused'
are 'done' gt-abc gt-def
[ "$(value gt-abc project)-$(value gt-abc priority)-$(value gt-def priority)" = gastown-90-100 ]
report $? 'they belong to the project with their prefix, and have its priorities'
rule 'each runs in the repository of its rig' [ "$(sort -u "$log"/ki-*.cwd) $(sort -u "$log"/gt-*.cwd)" = "$HOME/gt/kite/mayor/rig $HOME/gt/gastown" ]
rule 'the settings of the town are applied' [ "$("$SLUICE" config get limits.runs)" = unlimited ]
prompted 'The gate sticks.' 'a bead is a prompt'
played
