#!/bin/sh
# Document 004: the decision is a pure function of a snapshot, and the daemon makes the same decision.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"

# Prints the starts for the snapshot on stdin: "task/project/agent ..."; the complete output is in plan.
plan() {
    cat >snapshot.json
    "$SLUICE" plan --json snapshot.json >plan 2>plan.err
    code=$?
    grep -o '{"task":"[^"]*","project":"[^"]*","agent":[^,]*' plan |
        sed 's/{"task":"\([^"]*\)","project":"\([^"]*\)","agent":"*\([^"]*\)"*/\1\/\2\/\3/' | paste -sd ' '
}

# TASK: prints the gate that stops it in the plan
stops() {
    grep -o "{\"task\":\"$1\",\"gate\":\"[^\"]*\"" plan | sed 's/.*"gate":"//; s/"//'
}

# --- the snapshot ---------------------------------------------------------------------------------------

cat >whole.json <<'END'
{"now": 1737803100000, "config": {"preset": "agent-queue"}, "budget": 10000, "tokens_used": 1500,
 "projects": [
  {"id": "full", "weight": 1, "max_running": 1, "running": 1, "free_workspaces": 9},
  {"id": "spent", "weight": 1, "budget": 500, "tokens_used": 500, "completed": 1, "free_workspaces": 9},
  {"id": "off", "weight": 1, "active": false, "free_workspaces": 9},
  {"id": "crowded", "weight": 1, "free_workspaces": 0},
  {"id": "open", "weight": 1, "tokens_used": 1000, "completed": 3, "free_workspaces": 9}],
 "agents": [{"id": "busy", "idle": false}, {"id": "a1", "idle": true}, {"id": "a2", "idle": true}, {"id": "a3", "idle": true}],
 "tasks": [
  {"id": "full-1", "project": "full", "state": "ready"},
  {"id": "spent-1", "project": "spent", "state": "ready"},
  {"id": "off-1", "project": "off", "state": "ready"},
  {"id": "crowded-1", "project": "crowded", "state": "ready"},
  {"id": "open-1", "project": "open", "state": "ready", "workspace": "locked"},
  {"id": "open-2", "project": "open", "state": "ready", "workspace": "free", "priority": 5},
  {"id": "open-3", "project": "open", "state": "ready"},
  {"id": "open-4", "project": "open", "state": "draft"},
  {"id": "open-5", "project": "open", "state": "waiting", "depends_on": ["open-3"]}],
 "workspaces": {"locked": "somebody", "free": null}}
END
rule 'f045 f160 each worker takes the first free task of the first project that may' \
    [ "$(plan <whole.json)" = 'open-2/open/a1 open-3/open/a2' ]
rule 'f045 f063 the count of running workers matters' [ "$(stops full-1)" = lease:project:full ]
rule 'f045 f064 the usage of a project matters' [ "$(stops spent-1)" = project-budget ]
rule 'f045 f012 the status of a project matters' [ "$(stops off-1)" = project ]
rule 'f045 f065 the number of free workspaces matters' [ "$(stops crowded-1)" = lease:workspaces:crowded ]
rule 'f045 f161 a lock names the task that has it' [ "$(stops open-1)" = lease:workspace:locked ]
rule 'f161 null is free' [ "$(stops open-2)" = '' ]
rule 'f045 the state of a task matters' [ "$(stops open-5)" = dependency ]
sed 's/"tokens_used": 1500/"tokens_used": 10000/' whole.json >spent.json
rule 'f045 f159 the budget of all ends the round first' [ "$(plan <spent.json)" = '' ]
rule 'f159 and is the reason of those that could have gone' [ "$(stops open-3)" = budget ]
sed 's/"idle": true/"idle": false/g' whole.json >busy.json
rule 'f159 then: no idle worker' [ "$(plan <busy.json) $(stops open-3)" = ' lease:agents' ]
sed 's/"state": "ready"/"state": "draft"/; s/"state": "waiting"/"state": "draft"/' whole.json >idle.json
rule 'f159 then: no ready work' [ "$(plan <idle.json)" = '' ]
sed 's/"weight": 1,/"weight": 1, "active": false,/; s/"active": false, "active": false/"active": false/' whole.json >inactive.json
rule 'f159 then: no active project' [ "$(plan <inactive.json) $(stops open-3)" = ' project' ]
sed 's/"tokens_used": 1500/"tokens_usd": 1500/' whole.json >wrong.json
plan <wrong.json >/dev/null
rule 'f045 a field that is not known is refused' [ "$code" = 2 ]

# --- pure ----------------------------------------------------------------------------------------------

plan <whole.json >/dev/null && cp plan once
plan <whole.json >/dev/null
rule 'f044 the same snapshot, the same answer, byte for byte' cmp once plan
rule 'f044 f158 no daemon, no file: a plan is only told' [ "$(ls -A "$home")" = "$(store_is_file || echo sluice.yaml)" ]
rule 'f046 the second of two workers sees what the first has taken' [ "$(plan <<'END'
{"config": {"preset": "agent-queue"}, "projects": [{"id": "p", "max_running": 1}, {"id": "q"}],
 "agents": [{"id": "a1", "idle": true}, {"id": "a2", "idle": true}, {"id": "a3", "idle": true}],
 "tasks": [{"id": "p-1", "project": "p", "state": "ready"}, {"id": "p-2", "project": "p", "state": "ready"},
           {"id": "q-1", "project": "q", "state": "ready"}]}
END
)" = 'p-1/p/a1 q-1/q/a2' ]

# --- where the document contradicts itself ---------------------------------------------------------------

rule 't09 weights that sum to 0 are equal shares: who used less goes first' [ "$(plan <<'END'
{"config": {"preset": "agent-queue"}, "agents": [{"id": "a1", "idle": true}],
 "projects": [{"id": "p", "weight": 0, "tokens_used": 900, "completed": 1},
              {"id": "q", "weight": 0, "tokens_used": 100, "completed": 1}],
 "tasks": [{"id": "p-1", "project": "p", "state": "ready"}, {"id": "q-1", "project": "q", "state": "ready"}]}
END
)" = 'q-1/q/a1' ]

# PRESET: prints how many of the four slots of a round go to a project of weight 3, and to one of weight 1
round() {
    plan <<END | tr ' ' '\n' | sed 's|.*/\(.\)/.*|\1|' | sort | uniq -c | awk '{ printf "%s%d ", $2, $1 }'
{"config": {"preset": "$1", "limits": {"runs": 4}},
 "projects": [{"id": "p", "weight": 3, "tokens_used": 300, "completed": 3},
              {"id": "q", "weight": 1, "tokens_used": 100, "completed": 1}],
 "tasks": [$(for i in 1 2 3 4; do printf '{"id": "p-%d", "project": "p", "state": "ready"}, ' $i; done)
           $(for i in 1 2 3; do printf '{"id": "q-%d", "project": "q", "state": "ready"}, ' $i; done)
           {"id": "q-4", "project": "q", "state": "ready"}]}
END
}
rule 't10 as the document has it one round gives everything to one project' [ "$(round agent-queue)" = 'p4 ' ]
rule 't10 default: a round is charged, 3 to 1' [ "$(round sluice)" = 'p3 q1 ' ]
rule 't11 ids are no order, arrival is' [ "$(plan <<'END'
{"config": {"preset": "agent-queue"}, "agents": [{"id": "a1", "idle": true}], "projects": [{"id": "p"}],
 "tasks": [{"id": "zebra", "project": "p", "state": "ready"}, {"id": "ant", "project": "p", "state": "ready"}]}
END
)" = 'zebra/p/a1' ]

# --- the daemon ----------------------------------------------------------------------------------------

config 'preset: agent-queue
agents: {w1: {roster: true}, w2: {roster: true}}
projects:
  full: {max_running: 0}
  web: {weight: 3}
  api: {weight: 1}'
start
"$SLUICE" pause >/dev/null
mkfifo go
for place in 'full 100' 'web 100' 'web 1' 'api 100'; do
    add --project "${place% *}" --priority "${place#* }" -- sh -c 'read -r _ <go'
done
"$SLUICE" resume >/dev/null
rule 'f158 the daemon launches in the background what the decision names' becomes web-3 running
"$SLUICE" events --json --limit 100 | grep '"to":"starting"' | grep -o '"task":"[^"]*"' | paste -sd ' ' >began
rule 'f041 f046 f160 two workers, two tasks of the first project, the lower number first' \
    [ "$(cat began)" = '"task":"web-3" "task":"web-2"' ]
rule 'f046 each worker once' [ "$(for each in web-2 web-3; do value $each agent; done | sort -u | wc -l)" = 2 ]
rule 'f160 the project at its cap is passed over' [ "$(value full-1 gate)" = lease:project:full ]
rule 'f160 and what is left waits for a worker' [ "$(value api-4 gate)" = lease:agents ]

# --- prompts -------------------------------------------------------------------------------------------

"$SLUICE" cancel --all >/dev/null
for each in web-2 web-3; do becomes $each canceled; done
run sluice show web-3
has 'canceled, signal 15, by w1' 'f013 show names the worker of an ended run'
run sluice add --project web --prompt 'who takes me?'
exits 2 'f013 a prompt that a worker cannot be told is refused: exit code'
complains "agent 'w1' has no command to be told a prompt" 'f013 a prompt that a worker cannot be told is refused'
cat >worker.sh <<'END'
#!/bin/sh
echo "$SLUICE_AGENT $1: $2" >>"$3"
read -r _ <"$3.go"
END
chmod +x worker.sh
mkfifo said.go
for worker in w1 w2; do
    "$SLUICE" config set "agents.$worker.command=$tmp/worker.sh $worker {prompt} $tmp/said" "agents.$worker.prompt=argument" >/dev/null
done
cat >tasks.yaml <<'END'
tasks:
  - {project: web, prompt: second}
END
add --project web --prompt first
one=$id
"$SLUICE" add --file tasks.yaml --json >added
two=$(first id <added)
becomes "$one" running && becomes "$two" running
report $? 'f013 workers take prompts that name no agent'
soon grep -qs second said
soon grep -qs first said
rule 'f013 each prompt has one worker, which SLUICE_AGENT names' \
    [ "$(sort said)" = "$(printf 'w1 w1: first\nw2 w2: second')" ]
rule 'f013 list, show and status name the worker' \
    sh -c "'$SLUICE' list | grep -q '^ *$one .* w1 ' && '$SLUICE' show $two | grep -q 'agent  *w2' && '$SLUICE' status | grep '$two' | grep -q w2"
add --project api --prompt third
rule 'f013 a third prompt waits for a worker' [ "$(value "$id" gate)" = lease:agents ]
unblock said.go
rule 'f013 and is taken by the first that is idle' becomes "$id" running
rule 'f013 a task that has ended names its worker' \
    sh -c "'$SLUICE' show $one --json | grep -q '\"agent\":\"w1\"' && '$SLUICE' show $two --json | grep -q '\"agent\":\"w2\"'"
"$SLUICE" pause >/dev/null
"$SLUICE" cancel --all >/dev/null
finish
