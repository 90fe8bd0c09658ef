#!/bin/sh
# Drafts, slinging, groups: what is scheduled, the output of the command, and what is refused.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"
config 'agents:
  claude: {command: [cat]}
  codex: {command: [sh, -c, "echo codex; cat"]}
  deaf: {slots: 2}
limiters: {spare: {max_running: 4}}
projects: {web: , api: , hq: {coordination: true}}
groups: {notify: [sh, -c, "echo $SLUICE_GROUP $SLUICE_GROUP_TOTAL $SLUICE_GROUP_DONE $SLUICE_GROUP_FAILED >>notified"]}'
start
"$SLUICE" pause >/dev/null

# --- f098, f101, f127: one task ---------------------------------------------------------------------------

add --project web --draft -- true
one=$id
run sluice sling "$one" --dry-run
prints "$one would be slung" 'f098 a dry run says what would be done'
rule 'f098 and does nothing' [ "$(value "$one" state)" = draft ]
run sluice sling "$one" --agent nobody
exits 1 'f098 an unknown agent is refused'
complains "there is no agent 'nobody'" 'f098 with its name'
rule 'f098 and nothing is stored' [ "$(value "$one" state)" = draft ]
before=$(last_event)
run sluice sling "$one"
prints "$one slung: ready, in group-1" 'f103 a single task gets a group too'
rule 'f103 its group is on the task' [ "$(value "$one" group)" = group-1 ]
run sluice events --json --limit 10
rule 'f135 an event tells the feeds' grep -q "task.slung.*\"task\":\"$one\".*\"group\":\"group-1\"" out
before=$(last_event)
run sluice sling "$one"
exits 0 'f100 a second time is no mistake'
prints "$one is ready already" 'f100 and changes nothing'
rule 'f100 no group, no event, nothing is stored' [ "$(last_event)" = "$before" ]

# --- f010, f104, f127: many, a group, an epic, a project ---------------------------------------------------

add --project web --draft -- true && a=$id
add --project web --draft -- true && b=$id
run sluice sling "$a" "$b" web
exits 0 'f127 tasks and their project'
rule 'f010 one group for all of a batch' [ "$(value "$a" group) $(value "$b" group)" = 'group-2 group-2' ]
add --project web --draft --group night -- true && a=$id
add --project api --draft --group night -- true && b=$id
run sluice sling night
prints "$a slung: ready, in night
$b slung: ready, in night" 'f127 the drafts of a group, which keep it'
add --project web --draft -- true && epic=$id
add --project web --draft --parent "$epic" -- true && a=$id
add --project web --draft --parent "$a" -- true && b=$id
add --project web --hold --parent "$epic" -- true && held=$id
run sluice sling "$epic" --json
rule 'f010 an epic: the task and all drafts below it' [ "$(grep -o '"result":"slung"' out | wc -l)" = 3 ]
rule 'f010 two levels down too' [ "$(value "$b" state)" = waiting ]
rule 'f010 and nothing else' [ "$(value "$held" state)" = held ]
add --project web --draft --parent "$epic" -- true
run sluice sling "$epic"
prints "$epic is ready already
$id slung: waiting, in group-5" 'f010 an epic that is scheduled: the new drafts below it'
add --project api --draft -- true && other=$id
add --project web --draft -- true && own=$id
run sluice sling "$own" "$other" web
exits 4 'f099 one of another project refuses the batch'
rule 'f099 whole' [ "$(value "$own" state) $(value "$other" state)" = 'draft draft' ]
run sluice sling "$own" night nothing
exits 1 'f104 a word that is nothing known refuses the batch'
complains "there is no task and no group 'nothing'" 'f104 with that word'

# --- f011: projects that only coordinate -------------------------------------------------------------------

add --project hq --draft -- true && hq=$id
run sluice sling "$own" "$hq"
exits 0 'f011 a task of a coordinating project is skipped'
says "sluice: $hq skipped: its project only coordinates (projects.P.coordination)" 'f011 with a warning'
rule 'f011 the others are slung' [ "$(value "$own" state) $(value "$hq" state)" = 'ready draft' ]
run sluice sling "$hq"
exits 4 'f011 alone: nothing was slung, which is code 4'

# --- f101: the status guard ---------------------------------------------------------------------------------

"$SLUICE" resume >/dev/null
becomes "$one" 'done'
run sluice sling "$one"
exits 4 'f101 what is over is refused'
complains "task '$one' is done: only a draft can be slung" 'f101 and says so'
mkfifo go
add --project web -- sh -c 'read -r _ <go' && busy=$id
becomes "$busy" running
run sluice sling "$busy"
exits 4 'f101 what is at work is refused'
run sluice sling --force "$busy"
prints "$busy is running already" 'f101 forced it is left as it is: nothing runs twice'
unblock go
becomes "$busy" 'done'

# --- f005, f006, f116, f143, f146: the text is stored with the task --------------------------------------------

add --project web --draft --agent claude 'fix the door' && task=$id
spec=$("$SLUICE" show --json "$task" | sed 's/.*"spec":\({[^}]*}\).*/\1/')
run sluice sling "$task" --agent codex --account spare --merge none --base-branch main --args "$(printf 'be\nquick')" \
    --var depth=2 --meta mode=ralph
exits 0 'f006 agent, account, merge, branch, args, vars and mode'
becomes "$task" 'done'
run sluice show --json "$task"
rule 'f116 what was submitted is as it was' [ "$(sed 's/.*"spec":\({[^}]*}\).*/\1/' out)" = "$spec" ]
has '"context":{"agent":"codex","limiter":"spare","merge":"none","base_branch":"main","args":"be\nquick","meta":{"mode":"ralph","vars":{"depth":"2"}}}' \
    'f005 what was said stands beside it'
has '"agent":"codex"' 'f146 the agent of the sling is used'
run sluice show "$task"
has 'slung with  agent=codex limiter=spare merge=none base_branch=main args=be' 'f005 and is shown'
run sluice logs "$task"
printf 'codex\nfix the door\n\nbe\nquick' >want
compare want out 'f143 the run is built from both, without the submitter'
add --project web --draft --agent claude 'again' && task=$id
"$SLUICE" pause >/dev/null
"$SLUICE" sling "$task" --agent codex >/dev/null
"$SLUICE" clear "$task" >/dev/null
"$SLUICE" sling "$task" >/dev/null
"$SLUICE" resume >/dev/null
becomes "$task" 'done'
run sluice logs "$task"
printf again >want
compare want out 'f009 cleared and slung again: what the first sling said is over'
run sluice sling "$hq" --agent deaf
add --project web --draft --agent claude 'who hears it' && task=$id
run sluice sling "$task" --agent deaf
exits 2 'f146 an agent without a command cannot be told a prompt'
kill -9 "$(pid_of_daemon)"
"$SLUICE" up >/dev/null 2>&1
rule 'f116 nothing of that is lost or kept by a kill -9' [ "$(value "$task" state)" = draft ]

# --- f103, f147, f148: groups ---------------------------------------------------------------------------------

"$SLUICE" pause >/dev/null
add --project web --draft -- true && a=$id
run sluice sling "$a" --no-group
prints "$a slung: ready" 'f103 --no-group makes none'
add --project web --draft --group night -- true && a=$id
run sluice sling "$a" --group day
exits 4 'f103 a task that another group follows is refused'
run sluice sling "$a" --group day --force
prints "$a slung: ready, in day" 'f103 --force moves it'
add --project web --draft -- true && a=$id
add --project web --draft -- false && b=$id
run sluice sling "$a" --group release --owned
prints "$a slung: ready, in release" 'f147 an owned group'
"$SLUICE" resume >/dev/null
becomes "$a" 'done'
run sluice group show release
has '(open, owned): 1 of 1 over' 'f147 stays open when all are over'
"$SLUICE" group close release >/dev/null
appears 'release 1 1 0' "$home/notified"
rule 'f148 who asked is told when it closes, with the counts' grep -q '^release 1 1 0$' "$home/notified"
run sluice sling "$b" --group release
exits 4 'f147 what its owner has closed stays closed'
add --project web --draft --retries 0 -- sh -c 'exit 3' && b=$id
"$SLUICE" sling "$b" --group mixed >/dev/null
becomes "$b" failed
appears 'mixed 1 0 1' "$home/notified"
rule 'f148 a group closes when all are final, failed ones too' grep -q '^mixed 1 0 1$' "$home/notified"
run sluice group show mixed
has '(closed): 1 of 1 over, 1 not done' 'f148 and says how many'
add --project web --draft -- true && a=$id
"$SLUICE" sling "$a" --group mixed >/dev/null
becomes "$a" 'done'
appears 'mixed 2 1 1' "$home/notified"
rule 'f148 an addition opens it again, and it closes again' grep -q '^mixed 2 1 1$' "$home/notified"

# --- f019, f020: dependencies ------------------------------------------------------------------------------------

add --project web --draft -- true && a=$id
run sluice add --project web --draft --json --after " $a , $a,," -- true
rule 'f019 trimmed, split at commas, each once' [ "$("$SLUICE" show --json "$(field id)" | grep -o '"depends_on":\["[^]]*\]' | tail -n 1)" = "\"depends_on\":[\"$a\"]" ]
cat >ring.yaml <<'END'
- {id: x, run: 'true', needs: y}
- {id: y, run: 'true', needs: x}
END
run sluice add -f ring.yaml
exits 2 'f020 a cycle is refused'
complains 'dependency cycle detected: x -> y -> x' 'f020 and printed'
"$SLUICE" down >/dev/null 2>&1

# --- f024, f055, f056, f057, f107, f123: direct and deferred ---------------------------------------------------------

home=$tmp/town
SLUICE_HOME=$home
run sluice init --preset gastown
start
direct=
for _ in 1 2 3; do
    add --draft --group direct -- true
    direct="$direct $id"
done
run sluice sling direct
exits 0 'f055 unlimited runs: the same command dispatches at once'
for id in $direct; do
    becomes "$id" 'done'
done
run sluice list --state all --group direct --json
rule 'f024 all of the group, without a tick' [ "$(grep -o '"state":"done"' out | wc -l)" = 3 ]
"$SLUICE" config set limits.runs=2 pace.tick_s=3600 >/dev/null
for _ in 1 2 3 4 5; do
    add --draft --group later -- sh -c 'exit 0'
done
run sluice sling later
exits 0 'f055 with a number of runs the same command defers'
run sluice status --json
rule 'f055 nothing starts before the tick' [ "$("$SLUICE" list --ids --group later --state ready | wc -l)" = 5 ]
run sluice tick --dry-run --json
preview=$(grep -o '"id":"[^"]*"' out)
rule 'f056 the smallest of capacity, batch and ready: one' [ "$(echo "$preview" | wc -l)" = 1 ]
run sluice tick --dry-run --json
rule 'f123 a preview changes nothing' [ "$(grep -o '"id":"[^"]*"' out)" = "$preview" ]
run sluice tick --json
rule 'f123 and the tick does what it said' [ "$(grep -o '"id":"[^"]*"' out | head -n 1)" = "$preview" ]
becomes 4 'done'
rule 'f057 one per tick: the others wait' [ "$("$SLUICE" list --ids --group later --state ready | wc -l)" = 4 ]
"$SLUICE" config set pace.batch=2 >/dev/null # this tick has room for one more
becomes 5 'done'
run sluice tick --dry-run --json
preview=$(grep -o '"id":"[^"]*"' out)
rule 'f057 with a larger batch two' [ "$(echo "$preview" | wc -l)" = 2 ]
run sluice tick --json
rule 'f123 the tick does what it said, with two as well' [ "$(grep -o '"id":"[^"]*"' out)" = "$preview" ]
becomes 6 'done'
becomes 7 'done'
rule 'f057 the last one waits for the next' [ "$("$SLUICE" list --ids --group later --state ready)" = t-8 ]
run sluice add -- true
prints 't-9 queued, position 2' 'f105 whatever way work comes, the same cap and pace hold'
"$SLUICE" config set limits.runs=unlimited >/dev/null
becomes 9 'done'
becomes 8 'done'

# --- f009, f144: what becomes of a sling that cannot be launched ---------------------------------------------------

add --draft -- "$tmp/nowhere" && task=$id
"$SLUICE" sling "$task" >/dev/null
becomes "$task" failed
run sluice show --json "$task"
has '"reason":"breaker"' 'f009 the third failed launch in a row breaks the circuit'
has '"launch_failures":3' 'f144 the failures are counted'
has "\"message\":\"cannot run '$tmp/nowhere': No such file or directory" 'f144 and the last one is told'
has "\"spec\":{\"argv\":[\"$tmp/nowhere\"]" 'f144 the work is untouched'
"$SLUICE" down >/dev/null 2>&1

# --- f137: deferred, warned ------------------------------------------------------------------------------------------

home=$tmp/full
SLUICE_HOME=$home
mkdir -p "$home"
config 'queue: {soft: 1, hard: 3}'
start
"$SLUICE" pause >/dev/null
for _ in 1 2 3 4; do
    add --draft --group many -- true
done
before=$(last_event)
run sluice sling many
exits 4 'f137 a sling that the queue cannot take is deferred'
complains 'deferred: 0 tasks wait already, and the queue takes 3 (queue.hard); nothing was stored' 'f137 and says so'
rule 'f137 nothing is stored' [ "$(last_event)" = "$before" ]
run sluice sling --json many
has '{"error":{"code":"deferred","message":"deferred: 0 tasks wait' 'f137 also as JSON'
run sluice sling t-1 t-2
exits 0 'f137 what it can take is taken'
rule 'f137 with a warning' grep -q '^sluice: The queue is long (2 wait, queue.soft is 1' err
add --draft -- true
five=$id
add --draft --after "$five" -- true
six=$id
run sluice sling --dry-run "$six" "$five" t-3 t-4
prints "$six would be deferred
$five would be slung
t-3 would be deferred
t-4 would be deferred" 'f069 a dry run tells which are deferred'
run sluice sling "$six" t-3 t-4
exits 4 'f069 f137 of independent tasks the queue takes what it has room for'
prints "$six slung: waiting, in group-2
t-3 deferred
t-4 deferred" 'f069 f137 and tells what is deferred'
says 'sluice: 2 deferred: the queue takes 3 (queue.hard), and 2 waited already; repeat it later to continue' \
    'f069 f137 and what to do'
rule 'f069 what is deferred is a draft as before' [ "$(value t-3 state) $(value t-4 state)" = 'draft draft' ]
"$SLUICE" cancel t-1 >/dev/null
run sluice sling --all
exits 4 'f069 --all fills the room, too'
rule 'f069 with one' [ "$(grep -c ' slung: ' out) $(grep -c ' deferred$' out)" = '1 2' ]

# --- what has no effect ---------------------------------------------------------------------------------------------

"$SLUICE" config set queue.hard=100 queue.soft=100 >/dev/null
add --draft -- true
run sluice sling --args 'and quickly' "$id"
exits 2 'a text behind the prompt of a command: exit code'
complains "task '$id' is a command: 'args' is a text that follows a prompt" 'a text behind the prompt of a command'
run sluice sling --base-branch other "$id"
exits 0 'a branch without worktrees: exit code'
says "sluice: 'base_branch' has no effect: project 'default' has no worktrees (projects.default.workspace_mode)" \
    'a branch without worktrees'
run sluice add --base-branch other -- true
says "sluice: 'base_branch' has no effect: project 'default' has no worktrees (projects.default.workspace_mode)" \
    'a branch without worktrees, of a new task'
finish
