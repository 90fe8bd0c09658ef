#!/bin/sh
# Loops: DONE markers, checks, feedback, the folders of iterations.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"
config 'limits: {runs: 4}
retry:
  failed: {max: 1, delay_s: 0, jitter: 0}
  unfinished: {max: 12, delay_s: 0, cap_s: 0}
agents:
  pen: {command: [sh, -c, "cat >told.$SLUICE_TASK.$SLUICE_ATTEMPT"], prompt: stdin}
  api: {limiter: account}
loop: {prefix: "Go on with this:"}
limiters:
  account: {max_running: 4, initial_s: 3600, max_s: 3600}'
mkfifo go hold
start

# ID TEXT: waits until `show` of the task has the text
shows() {
    soon does_show "$1" "$2"
}
does_show() {
    "$SLUICE" show --json "$1" | grep -qF -e "$2"
}

# --- the marker ------------------------------------------------------------------------------------------

add --until 'done' -- sh -c 'echo $SLUICE_ITERATION >>turns; test -e enough && : >"$SLUICE_DONE"; test $(wc -l <turns) -lt 3 || : >enough'
loop=$id
rule 'f076 a loop goes on until its marker is there' becomes "$loop" 'done'
rule 'f076 every restart is an iteration' [ "$(tr '\n' ' ' <turns)" = '1 2 3 4 ' ]
"$SLUICE" events --json --task "$loop" --limit 100 >out
rule 'f076 launches are numbered from 0' [ "$(grep -o '"restart":[0-9]*' out | tr '\n' ' ')" = \
    '"restart":0 "restart":1 "restart":2 "restart":3 ' ]
add --until 'done' -- true
spent=$id
becomes "$spent" failed
rule 'f076 f086 it fails when its restarts are spent' [ "$(value "$spent" reason)" = restarts ]
rule 'f076 after 12 restarts' [ "$(value "$spent" attempt)" = 13 ]

add --until 'done' -- sh -c ': >"$SLUICE_DONE"; exit 7'
rule 'f077 the marker counts, whatever the exit code' becomes "$id" 'done'
rule 'f077 no new attempt once it is there' [ "$(value "$id" attempt)" = 1 ]
add --until 'done' -- sh -c 'read -r _ <go'
becomes "$id" running
mkdir "$home/done/$id"
unblock go
shows "$id" '"hold":"marker"'
"$SLUICE" show --json "$id" >out
rule 'f077 a folder in its place is an error that names the path' grep -qF "the DONE marker '$home/done/$id' is not a file; remove it" out
run sluice why "$id"
has 'its DONE marker is not a file; remove it' 'f077 why names the cause'
"$SLUICE" status --json >out
rule 'f077 and there is an alert' grep -qF "\"key\":\"marker:$id\"" out
attempts=$(value "$id" attempt)
run sluice release "$id"
run sluice retry "$id"
rule 'f077 while it is there, neither release nor retry starts it' in_state "$id" held
rule 'f077 and nothing is counted' [ "$(value "$id" attempt)" = "$attempts" ]
"$SLUICE" events --json --task "$id" --limit 100 >out
rule 'f077 and nothing is launched meanwhile' [ "$(grep -c '"kind":"run.started"' out)" = 1 ]
"$SLUICE" down --wait >out 2>&1
start
rule 'f077 nor by the next daemon' in_state "$id" held
rmdir "$home/done/$id"
rule 'f077 when the folder is removed it goes on by itself' becomes "$id" running
: >"$home/done/$id"
unblock go
rule 'f077 to its end' becomes "$id" 'done'
add --until 'done' -- sh -c 'read -r _ <go'
becomes "$id" running
mkdir "$home/done/$id"
unblock go
shows "$id" '"hold":"marker"'
"$SLUICE" down --wait >out 2>&1
rmdir "$home/done/$id"
start
rule 'f077 or when the next daemon finds it removed' becomes "$id" running
"$SLUICE" cancel "$id" >out
run sluice report --done
exits 2 'report is for runs'

# --- retention of iterations -----------------------------------------------------------------------------------

"$SLUICE" config set retention.iterations=2 >out
add --until 'done' -- sh -c 'echo $SLUICE_ITERATION; test $SLUICE_ITERATION -lt 6 || : >"$SLUICE_DONE"'
becomes "$id" 'done'
rule 'the first run and the newest ones keep their folders' [ "$(cd "$home/runs/$id" && echo [0-9]*)" = '1 4 5 6' ]
rule 'so do the iterations' [ "$(cd "$home/tasks/$id/iterations" && echo 00[1-5])" = '001 004 005' ]
run sluice logs "$id" --attempt 1
prints 1 'the log of the first run is there'
run sluice logs "$id" --attempt 2
complains "was removed by retention.iterations" 'logs says what was removed, and why'
run sluice show "$id"
has 'iterations  2 to 3 removed by retention.iterations' 'show says so, too'
"$SLUICE" config unset retention.iterations >out

# --- while it waits -----------------------------------------------------------------------------------------

add -- sh -c 'read -r _ <go'
blocker=$id
add --until 'done' --after "$blocker" -- sh -c 'echo never >>ran'
: >"$home/done/$id"
rule 'f022 its own marker ends the wait for a dependency at once' becomes "$id" 'done'
rule 'f022 without an attempt' [ "$(value "$id" attempt)" = 0 ]
marked=$id
add --after "$marked" -- true
rule 'f021 a dependency is met by its marker' becomes "$id" 'done'
add --until 'done' --in 1h -- sh -c 'echo never >>ran'
mv "$(mktemp)" "$home/done/$id"
rule 'f022 so it does the wait for a time' becomes "$id" 'done'
"$SLUICE" pause >out
add --until 'done' -- sh -c 'echo never >>ran'
paused=$id
"$SLUICE" down >out 2>&1
: >"$home/done/$paused"
start
rule 'f022 a marker that came while no daemon was there is found' becomes "$paused" 'done'
"$SLUICE" resume >out
rule 'f077 none of them ran' [ ! -e ran ]
add --in 1h -- true
: >"$home/done/$id"
add --until 'done' --in 1h -- true # the next event: the one before is handled
: >"$home/done/$id"
becomes "$id" 'done'
rule 'f077 a marker means nothing to other tasks' [ "$(value "t-$((${id#*-} - 1))" state)" = held ]
unblock go
becomes "$blocker" 'done'

# --- checks and feedback ------------------------------------------------------------------------------------

add --until validate --check 'echo the first is good' --check 'echo $((40 + SLUICE_ITERATION)) is wrong; test -e right || exit 3' \
    --check 'echo never after a failure' -- sh -c 'echo "${SLUICE_FEEDBACK-none}" >>fed; echo mine >"$SLUICE_ARTIFACTS/note"
        test $SLUICE_ITERATION -lt 3 || : >right'
check=$id
folder=$home/tasks/$check/iterations
rule 'a task with checks goes on until they pass' becomes "$check" 'done'
rule 'the first iteration has no feedback, the others theirs' [ "$(tr '\n' ' ' <fed)" = \
    "none $folder/002/feedback.md $folder/003/feedback.md " ]
rule 'each has artifacts of its own' [ "$(cat "$folder"/*/artifacts/note | tr '\n' ' ')" = 'mine mine mine ' ]
cp "$folder/002/feedback.md" out
has "test -e right || exit 3' failed with exit code 3" 'feedback names the check and its exit code'
has '41 is wrong' 'and has the end of its output'
grep -q 'never after' "$folder/002/feedback.md"
rule 'checks run in order, and end with the first that fails' [ $? = 1 ]
cp "$folder/003/feedback.md" out
has '### About iteration 1' 'what was wrong before is appended'
run sluice show "$check"
has "$folder/002" 'show names the folders of the iterations'
cat >slow.yaml <<'END'
- until: validate
  run: test $SLUICE_ITERATION -lt 2 || touch quick
  checks: [{run: test -e quick || tail -f /dev/null, timeout: 0.2s}]
END
"$SLUICE" add --json -f slow.yaml >out
id=$(first id <out)
becomes "$id" 'done'
cp "$home/tasks/$id/iterations/002/feedback.md" out
has 'longer than its time-out' 'a check that takes too long is feedback too'

add --until validate --check 'test $SLUICE_ITERATION -gt 8 || { head -c 3000 /dev/zero | tr "\0" x; echo end-$SLUICE_ITERATION; exit 1; }' -- true
becomes "$id" 'done'
cp "$home/tasks/$id/iterations/009/feedback.md" out
rule 'history has five entries' [ "$(grep -c '^### About' out)" = 5 ]
rule 'the newest first' [ "$(grep '^### About' out | head -n 1)" = '### About iteration 7' ]
rule 'of 500 characters each' [ "$(wc -c <out)" -lt 6600 ]

# --- prompts ---------------------------------------------------------------------------------------------

add --agent pen --until validate --check 'test $SLUICE_ITERATION -gt 2 || { echo broken door; exit 1; }' -- 'mend the house'
becomes "$id" 'done'
rule 'the first prompt is what was submitted' [ "$(cat "told.$id.1")" = 'mend the house' ]
rule 'a later one begins with the prefix' [ "$(head -n 3 "told.$id.2" | tr '\n' '|')" = \
    'Go on with this:||mend the house|' ]
rule 'and has the feedback behind it' grep -q '^broken door' "told.$id.2"
rule 'prompt.md has what the iteration was told' cmp -s "told.$id.3" "$home/tasks/$id/iterations/003/prompt.md"
add --agent pen --until 'done' -- 'paint the door'
soon [ -s "told.$id.1" ]
rule 'under until: done the prompt says how to end the loop' [ "$(tail -n 1 "told.$id.1")" = \
    'When everything is finished, run: sluice report --done' ]
"$SLUICE" cancel "$id" >out
becomes "$id" canceled
"$SLUICE" config set loop.done_line= >out
add --agent pen --until 'done' -- 'paint the door'
soon [ -s "told.$id.1" ]
rule 'unless loop.done_line is empty' [ "$(cat "told.$id.1")" = 'paint the door' ]
"$SLUICE" cancel "$id" >out
becomes "$id" canceled
run sluice config show --set preset=conductor
has 'Continue working on the following:' 'under conductor the prefix is that of its document'
"$SLUICE" delete "$id" >out
rule 'the folders go with the task' disappears "$home/tasks/$id"

add --review -- sh -c 'cp "${SLUICE_FEEDBACK:-/dev/null}" seen'
becomes "$id" held
run sluice reject --reason 'the door still squeaks' "$id"
exits 0 'reject with a reason'
rule 'the next iteration is told why it was rejected' appears squeaks seen
becomes "$id" held
run sluice reject "$id"
becomes "$id" held
rule 'without a reason there is no feedback' [ ! -s seen ]
"$SLUICE" approve "$id" >out

# --- folders that are used again --------------------------------------------------------------------------

"$SLUICE" run -- sh -c 'ls -id "$SLUICE_ARTIFACTS"' >first 2>err
"$SLUICE" run -- sh -c 'ls -id "$SLUICE_ARTIFACTS"; ls -A "$SLUICE_ARTIFACTS"; echo mine >"$SLUICE_ARTIFACTS/note"' >second 2>err
rule 'a command that leaves nothing hands its folders on, empty' [ "$(cut -d ' ' -f 1 first)" = "$(cut -d ' ' -f 1 second)" ]
"$SLUICE" run -- sh -c 'ls -A "$SLUICE_ARTIFACTS"; chmod 500 "$SLUICE_ARTIFACTS"' >third 2>err
rule 'what somebody has left stays with its task' [ ! -s third ]
"$SLUICE" run -- sh -c 'stat -c %a "$SLUICE_ARTIFACTS"' >fourth 2>err
rule 'folders with other rights are not handed on' [ "$(cat fourth)" = 700 ]

# --- without the provider --------------------------------------------------------------------------------

add --limiter account --until validate --check 'read -r _ <go' -- true
checking=$id
shows "$checking" '"phase":"validating"'
add --limiter account -- sh -c '"$0" report --rate-limited 3600; echo said >said; read -r _ <hold' "$SLUICE"
appears said said
add --limiter account -- true
run sluice why "$id"
has "account 'account' is rate limited" 'f075 no run starts on an account that is limited'
unblock go
rule 'f075 checks go on while the limiter is closed' becomes "$checking" 'done'
finish
