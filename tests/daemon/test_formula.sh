#!/bin/sh
# Formulas are checked and expanded at submission, never later.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"
mkdir -p "$home/formulas" "$tmp/web/.sluice/formulas"
config "agents: {claude: {command: [cat]}}
projects: {web: {path: $tmp/web}}"
cat >"$home/formulas/release.yaml" <<'END'
description: build, then publish
vars:
  version: {required: true, description: what is released}
  channel: stable
steps:
  - id: build
    run: echo building {{version}}
  - id: publish
    needs: build
    title: publish {{ version }}
    agent: claude
    prompt: Publish {{version}} to {{channel}}, not {{{{channel}}.
END
start
"$SLUICE" pause >/dev/null

# --- f102: checked when it is submitted --------------------------------------------------------------------

before=$(last_event)
run sluice add --formula release
exits 2 'f102 a required variable without a value is refused'
complains "release.yaml:3: variable 'version' has no value: it is required (--var version=VALUE)" 'f102 with its line'
run sluice add --formula release --var version=1 --var chanel=beta
exits 2 'f102 an unknown variable is refused'
complains "formula 'release' has no variable 'chanel'; did you mean 'channel'?" 'f102 with the nearest'
run sluice add --formula releas
exits 2 'f102 a formula that is not there is refused'
complains "there is no formula 'releas': not $home/formulas/releas.yaml" 'f102 with the places'
run sluice add --formula release --var version=1 --project web --kind nope
exits 2 'f102 options of one task do not go with it'
cat >"$home/formulas/ring.yaml" <<'END'
steps:
  - {id: a, run: 'true', needs: b}
  - {id: b, run: 'true', needs: a}
END
run sluice add --formula ring
exits 2 'f102 a cycle is refused'
complains 'ring.yaml:2:5: dependency cycle detected: a -> b -> a' 'f102 and printed'
cat >"$home/formulas/agent.yaml" <<'END'
steps:
  - id: a
    run: 'true'
  - id: b
    agent: nobody
    prompt: hear me
END
run sluice add --formula agent
exits 2 'f102 what only the daemon knows is refused too'
complains "agent.yaml:4: task 'b': there is no agent 'nobody'" 'f102 with its line'
rule 'f102 nothing of all that was stored' [ "$(last_event)" = "$before" ]

run sluice add --formula release --var version=1.2 --var 'channel=a: "b" {{version}}' --group r1
prints 't-1 queued, position 1 (build)
t-2 queued, position 2 (publish)' 'f102 its steps are tasks'
run sluice show --json t-2
has '"prompt":"Publish 1.2 to a: \"b\" {{version}}, not {{channel}}."' 'f102 a value is only text, whatever is in it'
has '"depends_on":["t-1"]' 'f102 needs are dependencies'
has '"formula":"release","vars":{"version":"1.2"' 'f006 formula and vars are kept'
sed -i 's/building/destroying/' "$home/formulas/release.yaml"
"$SLUICE" resume >/dev/null
becomes t-2 'done'
run sluice logs t-1
prints 'building 1.2' 'f102 what waits does not change with the file'

# --- f145: a formula on a task --------------------------------------------------------------------------------

cat >"$tmp/web/.sluice/formulas/review.yaml" <<'END'
vars: {depth: 1}
defaults: {agent: claude}
steps:
  - id: work
    prompt: "{{task}} of {{project}} ({{title}}): {{prompt}}"
  - id: look
    needs: work
    prompt: look {{depth}} times
END
add --project web --draft --title door --agent claude 'open it' && task=$id
add --project web --after "$task" -- true && next=$id
spec=$("$SLUICE" show --json "$task" | sed 's/.*"spec":\({[^}]*}\).*/\1/')
before=$(last_event)
run sluice sling "$task" --on nope
exits 2 'f145 a formula that is not there'
run sluice sling "$task" --on review --dry-run
prints "$task would be slung
$task/review/work would be slung
$task/review/look would be slung" 'f145 a dry run names the steps'
rule 'f145 and stores nothing' [ "$(last_event)" = "$before" ]
run sluice sling "$task" --on review --var depth=2
exits 0 'f145 the formula of the project is slung'
becomes "$next" 'done'
work=$("$SLUICE" list --ids --state all --order old --project web | sed -n 3p)
run sluice logs "$work"
printf '%s of web (door): open it' "$task" >want
compare want out 'f145 a step knows the task it works for'
run sluice show --json "$task"
rule 'f145 the task is done when its steps are, and those who wait for it start' [ "$(field state)" = 'done' ]
rule 'f116 what was submitted is as it was' [ "$(sed 's/.*"spec":\({[^}]*}\).*/\1/' out)" = "$spec" ]
run sluice logs "$task"
rule 'f145 it has run nothing of its own' [ ! -s out ]
run sluice sling "$task" --on review
exits 4 'f145 what is over is refused before anything is added'
count=$("$SLUICE" list --ids --state all --project web --limit 100 | wc -l)
rule 'f145 and no step is added' [ "$count" = 4 ]

# --- generations: each sling of a formula creates its own steps --------------------------------------------------

formula() { # VAR: the steps write into a file
    cat >"$tmp/web/.sluice/formulas/rel.yaml" <<END
vars: {version: {required: true}}
steps:
  - {id: build, run: 'echo build {{version}} >>$tmp/did'}
  - {id: publish, needs: build, run: 'echo publish {{version}} >>$tmp/did'$1}
END
}
steps() { "$SLUICE" list --ids --state all --project web --limit 100 | wc -l; }
formula ''
"$SLUICE" pause >/dev/null
add --project web --draft -- sh -c "echo own >>$tmp/did" && task=$id
count=$(steps)
"$SLUICE" sling "$task" --on rel --var version=1.2 >/dev/null
rule 'steps come with the sling' [ "$(steps)" = $((count + 2)) ]
run sluice clear "$task"
rule 'clear removes steps that have not started' [ "$(steps)" = "$count" ]
"$SLUICE" sling "$task" --on rel --var version=2.0 >/dev/null
"$SLUICE" resume >/dev/null
becomes "$task" 'done'
printf 'build 2.0\npublish 2.0\n' >want
compare want did 'the second sling runs its own steps, and nothing of the first'
run sluice again "$task"
exits 0 'a task that steps have done can be done again'
becomes "$task" 'done'
printf 'build 2.0\npublish 2.0\nbuild 2.0\npublish 2.0\n' >want
compare want did 'again repeats its steps'

rm -f did
"$SLUICE" pause >/dev/null
add --project web --draft -- sh -c "echo own >>$tmp/did" && task=$id
"$SLUICE" sling "$task" --on rel --var version=3 >/dev/null
"$SLUICE" clear "$task" >/dev/null
"$SLUICE" sling "$task" >/dev/null
"$SLUICE" resume >/dev/null
becomes "$task" 'done'
echo own >want
compare want did 'after clear a sling without a formula runs the command of the task, and no step'

# All or nothing: if a step is refused, no draft is left and no other target is slung.
formula ', agent: nobody'
add --project web --draft -- true && one=$id
add --project web --draft -- true && two=$id
count=$(steps)
run sluice sling "$one" "$two" --on rel --var version=4
complains "step 'publish' of task '$one'" 'a refused step is named'
rule 'nothing was added' [ "$(steps)" = "$count" ]
formula ''
add --project web --draft --until external -- true && bad=$id
count=$(steps)
run sluice sling "$one" "$bad" --on rel --var version=4
exits 2 'one of two targets is refused'
rule 'and neither is slung' [ "$(value "$one" state) $(value "$bad" state)" = 'draft draft' ]
rule 'and no step is left' [ "$(steps)" = "$count" ]
run sluice sling "$one" "$two" --on rel --var version=5
exits 0 'two targets in one request'
becomes "$one" 'done'
becomes "$two" 'done'
rule 'in one group' [ "$(value "$one" group)" = "$(value "$two" group)" ]

# --- f008: a fresh context per step -----------------------------------------------------------------------------

rule 'f008 each step is a run of its own' [ "$("$SLUICE" show --json "$work" | grep -o '"attempt":1' | head -n 1)" = '"attempt":1' ]
add --project web --draft --until external -- true
run sluice sling "$id" --on review
exits 2 'f145 a task that people finish cannot be done by steps'
finish
