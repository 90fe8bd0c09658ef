#!/bin/sh
# Formulas: checked and expanded when they are submitted, never later.
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
prints "$task/review/work would be slung
$task/review/look would be slung
$task would be slung" 'f145 a dry run names the steps'
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

# Broken off between the two questions: the steps are drafts, and the same command goes on.
add --project web --draft --agent claude 'shut it' && task=$id
cat >half.yaml <<END
- {id: work, run: 'true', draft: true, project: web, external_id: $task/review/work}
END
"$SLUICE" add -f half.yaml >/dev/null
"$SLUICE" sling "$task" --on review >/dev/null
becomes "$task" 'done'
count=$("$SLUICE" list --ids --state all --project web --limit 100 | wc -l)
rule 'f145 a command that was broken off adds no step twice' [ "$count" = 7 ]

# --- f008: a fresh context per step -----------------------------------------------------------------------------

rule 'f008 each step is a run of its own' [ "$("$SLUICE" show --json "$work" | grep -o '"attempt":1' | head -n 1)" = '"attempt":1' ]
add --project web --draft --until external -- true
run sluice sling "$id" --on review
exits 2 'f145 a task that people finish cannot be done by steps'
finish
