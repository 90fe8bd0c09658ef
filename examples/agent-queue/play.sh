# play.sh: shares by weight, budgets, workspaces. README.md describes what to look at.
# shellcheck shell=sh disable=SC1091
. ../lib.sh

LEDGER=$PWD/ledger.txt

work() { # PROJECT COUNT
    for n in $(seq "$2"); do
        printf -- '- {project: %s, title: "%s %s", env: {LEDGER: "%s"}, argv: ["%s"]}\n' \
            "$1" "$1" "$n" "$LEDGER" "$PWD/agents/work.sh"
    done
}

completed() { # PROJECT: number of completed tasks
    sluice list --project "$1" --state 'done' --ids --all | wc -l
}

# True if every task that may start has ended: the remaining tasks are stopped by a gate.
stopped_at() {
    sluice status --json >status.json
    grep -o '"waiting_by_gate":\[[^]]*' status.json | grep -q "\"gate\":\"$1\"" &&
        [ "$(grep -oE '"counts":{[^}]*' status.json | member starting)" = 0 ] &&
        [ "$(grep -oE '"counts":{[^}]*' status.json | member running)" = 0 ]
}

say '1. Two projects, 3 : 1' 'Forty tasks of 1,000 tokens each; the budget of all together is 16,000.'
{ work api 20 && work web 20; } >tasks.yaml
sluice pause >/dev/null
sluice add --file tasks.yaml >/dev/null
show resume
until_true stopped_at budget
show project list
echo "  order of the first eight: $(head -n 8 ledger.txt | tr '\n' ' ')"
web=$(completed web)
api=$(completed api)
check "the budget is used and nothing more: $((web + api)) tasks" [ $((web + api)) -ge 16 -a $((web + api)) -le 17 ]
check "three of four tokens went to web: $web of $((web + api))" [ "$web" -ge 11 -a "$web" -le 14 ]
check 'both projects are among the first four (min_task_guarantee)' \
    [ "$(head -n 4 ledger.txt | cut -d - -f 1 | sort -u | tr '\n' ' ')" = 'api web ' ]

say '2. A budget for one project' 'The others go on without it.'
show config set budget=unlimited projects.api.budget=8000
until_true stopped_at project-budget
show status
check 'web has no more work' [ "$(completed web)" = 20 ]
check 'api has used its budget' [ "$(completed api)" -ge 8 -a "$(completed api)" -le 9 ]
first=$(sluice list --project api --order queue --ids --limit 1)
show why "$first"
show config set projects.api.budget=unlimited
idle
check 'all forty are done' [ "$(($(completed web) + $(completed api)))" = 40 ]

say '3. Workspaces' 'Two folders; a run has one to itself. Who wishes for one waits for that one.'
mkdir -p ws/one ws/two
show config set "projects.web.workspace_paths=[\"$PWD/ws/one\",\"$PWD/ws/two\"]"
for n in 1 2 3 4 5; do
    echo "- {project: web, title: build $n, cwd: , argv: [\"$PWD/agents/build.sh\"], retries: 0}"
done >builds.yaml
echo "- {project: web, title: build in one, cwd: , workspace: \"$PWD/ws/one\", argv: [\"$PWD/agents/build.sh\"], retries: 0}" >>builds.yaml
show add --file builds.yaml
idle
for id in $(sluice list --state all --project web --order new --limit 6 --ids); do
    sluice logs "$id"
done
check 'nobody met anybody in a workspace' [ "$(sluice list --state failed --ids | wc -l)" = 0 ]
last=$(sluice list --state all --ids --limit 1)
check 'the wish was granted' [ "$(sluice logs "$last")" = "$last in one" ]
over
