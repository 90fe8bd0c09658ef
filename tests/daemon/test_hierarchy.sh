#!/bin/sh
# Parents and children: gates, artifacts, spawn files, iterations that invalidate older children.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"
config 'limits: {runs: 8}
kinds: {plan: {base: 40}, spec: {base: 60}, phase: {base: 80}, ralph: {base: 100}}
retry:
  failed: {max: 0}
  unfinished: {max: 5, delay_s: 0.1}
drain_s: 0.3
spawn: {tasks: 5, depth: 3}'
mkfifo go hold
start

# ID COUNT: waits until the task has COUNT children, and prints their ids
children() {
    soon has_children "$1" "$2" && cat "$tmp/children"
}

has_children() {
    "$SLUICE" list --ids --state all --limit 1000 --parent "$1" --order old >"$tmp/children"
    [ "$(wc -l <"$tmp/children")" -ge "$2" ]
}

# --- gates -------------------------------------------------------------------------------------------------

add --kind plan -- sh -c 'read -r _ <go'
parent=$id
add --kind spec --parent "$parent" -- true
child=$id
run sluice why "$child"
has "$parent" 'f016 a child waits for its parent, and says so'
run sluice add --parent t-999 -- true
exits 2 'f016 a parent that does not exist is refused'
unblock go
rule 'f016 it runs when its parent is done' becomes "$child" 'done'
"$SLUICE" show --json "$child" >out
for member in id kind parent state iteration created_at changed_at; do
    grep -q "\"$member\":[^n]" out || echo "# no $member"
done >missing
rule 'f002 a record has id, kind, parent, state, iteration and times' [ ! -s missing ]

add --artifact "$tmp/deep/er/plan.md" -- sh -c 'cat deep/er/plan.md >got'
run sluice why "$id"
has "waits for '$tmp/deep/er/plan.md'" 'f017 a task waits for its artifact, and names it'
mkdir -p deep/er
: >deep/er/other.md
rule 'f017 another file is not it' [ "$(value "$id" state)" = waiting ]
(echo whole >deep/er/plan.md)
rule 'f017 its creation opens the gate' becomes "$id" 'done'
rule 'f017 when it is whole' [ "$(cat got)" = whole ]
add --artifact "$tmp/later.md" -- true
later=$id
"$SLUICE" down >out 2>&1
: >later.md
start
rule 'f017 one that came while no daemon was there is found' becomes "$later" 'done'
"$SLUICE" pause >/dev/null
add --artifact "$tmp/brief.md" -- true
: >brief.md
becomes "$id" ready
rm brief.md
"$SLUICE" resume >/dev/null
rule 'f017 one that was seen counts, also when it is deleted before the start' becomes "$id" 'done'
add --draft --artifact plan.md -- true
run sluice show --json "$id"
has "\"artifact\":\"$tmp/plan.md\"" 'a relative path counts from the current folder'
run sluice add --artifact 'iterations/{iteration}/artifacts/../x' --parent "$parent" -- true
exits 2 'so is one that leads out'

# --- artifacts of the parent -----------------------------------------------------------------------------------

add -- sh -c 'echo "plan $SLUICE_ITERATION" >"$SLUICE_ARTIFACTS/plan.md"'
plan=$id
add --parent "$plan" --artifact 'iterations/{iteration}/artifacts/plan.md' -- sh -c \
    'cat "$0/tasks/$1/iterations/001/artifacts/plan.md" >copied' "$home" "$plan"
rule 'f017 the artifact of the parent opens the gate when that is done' becomes "$id" 'done'
rule 'f017 it is that of its iteration' [ "$(cat copied)" = 'plan 1' ]
add --parent "$plan" --artifact 'iterations/001/artifacts/review.md' -- true
waiting=$id
run sluice why "$waiting"
has "waits for '$home/tasks/$plan/iterations/001/artifacts/review.md'" 'f017 one that is still missing is named'
: >"$home/tasks/$plan/iterations/001/artifacts/review.md"
rule 'f017 and may come later' becomes "$waiting" 'done'
add --parent "$plan" --grace 600s -- sh -c 'trap "echo stopped >gently; exit 0" TERM; echo up >up; while :; do read -r _ <hold; done'
running=$id
appears up up
"$SLUICE" again "$plan" >out
rule 'f026 when the parent begins again its children are invalidated' becomes "$running" invalidated
rule 'f026 those that run are stopped gently' [ -e gently ]
rule 'f026 those that were done too' [ "$(value "$waiting" state)" = invalidated ]
becomes "$plan" 'done'
rule 'f026 nothing is deleted' [ -e "$home/tasks/$plan/iterations/001/artifacts/review.md" ]
run sluice add --parent "$plan" --artifact 'iterations/001/artifacts/plan.md' -- true
has ' invalidated' 'f026 add says that a task is born invalidated'
add --parent "$plan" --artifact 'iterations/001/artifacts/plan.md' -- true
rule 'f026 an artifact of an older iteration is stale' [ "$(value "$id" state)" = invalidated ]
add --parent "$plan" --artifact 'iterations/002/artifacts/plan.md' -- true
rule 'f026 that of the present one is good' becomes "$id" 'done'

add -- true
sound=$id
add --parent "$sound" -- false
becomes "$id" failed
rule 't02 done is the own work of a parent, whatever becomes of its children' [ "$(value "$sound" state)" = 'done' ]
rule 'what leaves nothing keeps no folders' [ ! -e "$home/tasks/$sound" ]

add -- true
root=$id
add --parent "$root" --in 1h -- true
branch=$id
add --parent "$branch" -- true
leaf=$id
becomes "$root" 'done'
before=$(last_event)
"$SLUICE" delete "$root" >out
rule 'f025 what hangs below a deleted task fails, down to the leaves' becomes "$leaf" failed
deleted=$("$SLUICE" events --json --after "$before" --limit 100 | grep '"reason":"orphaned"' | sed 's/.*"at":\([0-9]*\).*/\1/' | sort -u)
rule 'f025 with the time of the deletion' \
    [ "$(value "$branch" changed_at) $(value "$leaf" changed_at)" = "$deleted $deleted" ]
rule 'f025 as orphans' [ "$(value "$branch" reason) $(value "$leaf" reason)" = 'orphaned orphaned' ]

# --- spawn files --------------------------------------------------------------------------------------------

cat >agent.sh <<'END'
# One level of the hierarchy: writes the tasks of the next level.
case $1 in
plan) next=spec ;; spec) next=phase ;; phase) next=ralph ;; *) echo "$SLUICE_TASK" >>work && exit ;;
esac
cat >"$SLUICE_SPAWN" <<TASKS
- {id: one, kind: $next, run: sh agent.sh $next$([ $next = ralph ] || echo ', spawn: next.yaml')}
TASKS
END
add --kind plan --spawn next.yaml -- sh agent.sh plan
top=$id
becomes "$top" 'done'
spec=$(children "$top" 1)
becomes "$spec" 'done'
phase=$(children "$spec" 1)
becomes "$phase" 'done'
ralph=$(children "$phase" 1)
rule 'f001 plan, spec, phase and ralph follow each other' becomes "$ralph" 'done'
rule 'f001 each has its kind' [ "$(value "$spec" kind) $(value "$phase" kind) $(value "$ralph" kind)" = 'spec phase ralph' ]
rule 'f001 and only the leaf works' [ "$(cat work)" = "$ralph" ]
rule 'children run where their parent was submitted' [ "$(value "$ralph" cwd)" = "$tmp" ]
"$SLUICE" events --json --task "$top" --limit 100 >out
rule 'f027 started, ended, then its children, then done' [ \
    "$(grep -o -e '"kind":"run.started"' -e '"kind":"task.spawned"' -e '"kind":"run.ended"' out | tr -d '\n')" = \
    '"kind":"run.started""kind":"task.spawned""kind":"run.ended"' ]

# A kill of the daemon does not add them twice.
add --spawn list.json -- sh -c 'echo "[{\"run\":\"true\"},{\"run\":\"true\"}]" >"$SLUICE_SPAWN"; read -r _ <go'
twice=$id
becomes "$twice" running
kill -9 "$(pid_of_daemon)"
unblock go
start
becomes "$twice" 'done'
rule 'children are added once, whatever happens to the daemon' [ "$(children "$twice" 2 | wc -l)" = 2 ]
kill -9 "$(pid_of_daemon)"
start
rule 'also when it is killed after that' [ "$(children "$twice" 2 | wc -l)" = 2 ]

# Invalid files.
bad() { # FILE-TEXT MESSAGE 'what'
    printf '%s\n' "$1" >bad.yaml
    add --spawn tasks.yaml -- sh -c 'cp bad.yaml "$SLUICE_SPAWN"'
    becomes "$id" failed
    "$SLUICE" show "$id" >"$tmp/out"
    has "$2" "$3"
}
bad '- {run: make, need: x}' "tasks.yaml:1:15: a task has no 'need'; did you mean 'needs'?" 'a spawn file is checked, with the line'
bad '- run: a
- run: b
  agent: nobody' "tasks.yaml:2: there is no agent 'nobody'" 'like a submission: only agents that there are'
bad '- {run: a, external_id: x}' "'external_id' is for submissions" 'it has no external ids'
bad '- {run: a, parent: t-1}' "'parent' must be a task of this file" 'and nobody else as parent'
bad '[{run: a}, {run: a}, {run: a}, {run: a}, {run: a}, {run: a}]' 'maximum is 5 (spawn.tasks)' 'it has a most'
add --spawn never.yaml -- true
becomes "$id" failed
run sluice show "$id"
has "the spawn file 'never.yaml' was not written" 'one that is missing is an error'
add --spawn pipe -- sh -c 'mkfifo "$SLUICE_SPAWN"'
becomes "$id" failed
run sluice show "$id"
has "the spawn file: 'pipe' is a FIFO, not a regular file" 'one that is no file is not read'
add --spawn none.yaml -- sh -c 'echo "[]" >"$SLUICE_SPAWN"'
rule '[] is for none' becomes "$id" 'done'
cat >deep.sh <<'END'
echo '- {run: sh deep.sh, spawn: x.yaml}' >"$SLUICE_SPAWN"
END
add --spawn x.yaml -- sh deep.sh
one=$(children "$id" 1)
two=$(children "$one" 1)
three=$(children "$two" 1)
rule 'nobody spawns without end' becomes "$three" failed

add --until validate --check true --spawn t.yaml -- sh -c 'test $SLUICE_ITERATION -lt 2 || { cp "$SLUICE_FEEDBACK" why; echo "- run: true" >"$SLUICE_SPAWN"; }'
rule 'with until: validate a bad file is another iteration' becomes "$id" 'done'
rule 'which is told what was wrong' grep -q "the spawn file 't.yaml' was not written" why
rule 'its children are of the iteration that succeeded' [ "$(children "$id" 1 | wc -l)" = 1 ]
mother=$id
old=$(children "$mother" 1)
becomes "$old" 'done'
"$SLUICE" again "$mother" >out
children "$mother" 2 >both
becomes "$mother" 'done'
new=$(grep -v "^$old\$" both)
rule 'f026 a new iteration has new children' becomes "$new" 'done'
rule 'f026 and the old ones are invalidated' [ "$(value "$old" state)" = invalidated ]

run sluice config set queue.soft=0 queue.hard=1
add --spawn full.yaml -- sh -c 'printf "%s\n" "- run: \"true\"" "- run: \"true\"" "- run: \"true\"" >"$SLUICE_SPAWN"'
becomes "$id" 'done'
rule 'f069 a queue that is full refuses those who can come again later, and no child of a run that has ended' \
    [ "$(children "$id" 3 | wc -l)" = 3 ]
run sluice config set queue.soft=100000 queue.hard=2000000

# --- draining --------------------------------------------------------------------------------------------------

add -- sh -c 'read -r _ <go'
becomes "$id" running
parent=$id
add --parent "$parent" --parent-gate none -- sh -c 'read -r _ <hold'
becomes "$id" running
unblock go
id=$parent
rule 'f078 a task is done although a child is not, after drain_s' becomes "$id" 'done'
"$SLUICE" events --json --task "$id" --limit 100 >out
has '"reason":"drain-timeout"' 'f078 the event says so'
cp "$home/sluice.log" out 2>/dev/null
has "task '$id' is done although its children are not" 'f078 and the log warns'
unblock hold
finish
