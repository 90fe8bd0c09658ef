#!/bin/sh
# A draft that is slung into another project with --force runs there, and keeps its data.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"
mkdir web gastown
config "projects: {web: {path: $tmp/web}, gastown: {path: $tmp/gastown}}"
start
"$SLUICE" pause >/dev/null

needs() { # ID
    "$SLUICE" show --json "$1" | jq -r '[.depends_on[] | .id? // .] | join(" ")'
}

add --project web --draft --external-id base -- true && base=$id
add --project web --draft --external-id bd-9 --priority 7 --title 'Tune it' --after "$base" --group night \
    --cwd "$tmp/web" -- sh -c 'pwd >place; echo "$SLUICE_PROJECT"' && one=$id
add --project web --draft --after "$one" -- true && later=$id
created=$(value "$one" created_at)

run sluice sling bd-9 gastown
exits 4 'f099 a task of another project is refused'
complains "task '$one' is of project 'web', not of 'gastown'; force moves a draft there" 'f099 and the way is named'
run sluice sling --force --dry-run bd-9 gastown
exits 0 'f099 a dry run of the move'
rule 'f099 moves nothing' [ "$(value bd-9 project)" = web ]

run sluice sling --json --force bd-9 gastown
exits 0 'f099 by force it moves'
new=$(jq -r '.tasks[0].id' out)
rule 'f099 the answer has both ids' [ "$(jq -r '.tasks[0].moved_from' out) ${new%-*}" = "$one gastown" ]
rule 'f099 the old one is gone' [ -z "$(value "$one" id)" ]
rule 'f099 its external id names the new one' [ "$(value bd-9 id)" = "$new" ]
for pair in project:gastown priority:7 title:'Tune it' group:night created_at:"$created" state:waiting; do
    rule "f099 it has ${pair%%:*} as before, or as wanted" [ "$(value "$new" "${pair%%:*}")" = "${pair#*:}" ]
done
rule 'f099 it waits for what it waited for' [ "$(needs "$new")" = "$base" ]
rule 'f099 what waited for it waits for the new one' [ "$(needs "$later")" = "$new" ]
rule 'f099 what was submitted says the same' [ "$("$SLUICE" show --json "$new" | jq -r .spec.project)" = gastown ]

run sluice sling "$base" "$later"
exits 0 'f099 the others follow in their own project'
run sluice resume
exits 0 'f099 the queue goes on'
becomes "$later" 'done'
rule 'f099 it ran in the folder of the other project' [ "$(cat gastown/place)" = "$tmp/gastown" ]
run sluice logs "$new"
rule 'f099 as a task of it' grep -qx gastown out

# --- with others -------------------------------------------------------------------------------------------

"$SLUICE" pause >/dev/null
add --project web --draft --external-id twice -- true && a=$id
add --project gastown --draft --external-id twice -- true && b=$id
run sluice sling --force "$a" gastown
exits 1 'f099 a second one with the same external id is refused'
complains "project 'gastown' has 'twice' already: '$b'" 'f099 and the other one named'
rule 'f099 nothing has changed' [ "$(value "$a" state) $(value "$b" state)" = 'draft draft' ]

add --project web --draft -- true && top=$id
add --project web --draft --parent "$top" -- true && below=$id
add --project web --hold --parent "$top" -- true && stays=$id
run sluice sling --force "$top" gastown
exits 4 'f099 a task does not move away from what is below it'
complains "task '$top' cannot move to project 'gastown': '$stays' is below it and stays" 'f099 which is named'
run sluice cancel "$stays"
run sluice delete "$stays"
exits 0 'f099 without it'
run sluice sling --json --force "$top" gastown
exits 0 'f099 a family moves whole'
rule 'f099 and stays one' [ "$(value "$(jq -r '.tasks[1].id' out)" parent)" = "$(jq -r '.tasks[0].id' out)" ]

mkdir -p "$home/formulas"
cat >"$home/formulas/two.yaml" <<'END'
steps:
  - {id: only, run: 'echo step of {{project}}'}
END
add --project web --draft --external-id on -- false
run sluice sling --json --force --on two on gastown
exits 0 'f099 a task moves with its formula'
new=$(jq -r '.tasks[0].id' out)
rule 'f099 whose steps are of the other project' [ "$(value "$new/two/only" project)" = gastown ]
run sluice resume
becomes "$new" 'done'
run sluice logs "$new/two/only"
rule 'f099 and know its name' grep -qx 'step of gastown' out
finish
