#!/bin/sh
# Probes: commands that ask the outside world, before a run as a gate, after it as a check that answers later.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"
. "$here/repository.sh"
repository repo
cat >ask <<'END'
#!/bin/sh
# Answers as the file $1 says: its exit code, then what it prints. Counts its calls.
echo "$1" >>"$0.calls"
read -r code text <"$1" || exit 3
echo asked
echo "$text"
exit "$code"
END
chmod +x ask
cat >worker <<'END'
#!/bin/sh
# An agent: writes a file, and keeps its prompt.
cp "${SLUICE_FEEDBACK:-/dev/null}" "$1/feedback.$SLUICE_TASK.$SLUICE_ITERATION"
cat >"$1/prompt.$SLUICE_TASK.$SLUICE_ITERATION" # the last: the test waits for it
echo "iteration $SLUICE_ITERATION" >>work
echo "$SLUICE_TASK $SLUICE_ATTEMPT" >>"$1/worked"
echo '75 2 pending' >"$1/ci.run" # what it has changed is being tested
mv "$1/ci.run" "$1/ci"
END
chmod +x worker
answer() { # FILE CODE TEXT: atomically, a call may be reading it
    echo "$2 $3" >"$1.new"
    mv "$1.new" "$1"
}
calls() {
    grep -cx "$1" ask.calls 2>/dev/null || :
}
asked() { # FILE COUNT: was called at least COUNT times
    [ "$(calls "$1")" -ge "$2" ]
}
is_held() {
    [ "$(value "$1" hold)" = check ]
}
why_has() { # ID TEXT
    "$SLUICE" why "$1" | grep -qF -e "$2"
}
config "limits: {runs: 8}
probes: {max_every_s: 1, timeout_s: 20}
retry:
  failed: {max: 1, delay_s: 0, jitter: 0}
  unfinished: {max: 5, delay_s: 0, cap_s: 0}
agents:
  worker: {command: [$tmp/worker, $tmp], prompt: stdin}
projects:
  keys: {path: $tmp, env_file: $tmp/keys.env, env_command: [sh, $tmp/keys.sh]}
  broken: {path: $tmp, env_file: $tmp/missing.env}
  web: {path: $tmp/repo, workspace_mode: worktree, merge: direct}"
start

# --- gates -----------------------------------------------------------------------------------------------

answer merged 75 '1 review is missing'
add --gate "$tmp/ask merged" --gate-every 1s -- touch started
gated=$id
soon why_has "$gated" '1 review is missing'
run sluice why "$gated"
has 'its gate says not yet: 1 review is missing' 'why has the last line of the gate'
run sluice why --json "$gated"
has '"first":"probe"' 'the gate is what stops the task'
answer merged 1 'closed without a merge'
soon why_has "$gated" 'its gate says no: closed without a merge'
rule 'no keeps it waiting' in_state "$gated" waiting
rule 'and it has not started' [ ! -e started ]
answer merged 0 merged
rule 'yes starts it' becomes "$gated" 'done'
"$SLUICE" events --json --task "$gated" --limit 100 >out
rule 'each change is one event' [ "$(grep -o '"answer":"[a-z ]*"' out | tr '\n' ' ')" = \
    '"answer":"not yet" "answer":"no" "answer":"yes" ' ]

answer slow 75 'not ready'
add --gate "$tmp/ask slow" --gate-every 1s --gate-timeout 2s -- true
timed=$id
rule 'a gate that does not say yes in time fails its task' becomes "$timed" failed
rule 'with its own reason' [ "$(value "$timed" reason)" = gate-timeout ]
run sluice why "$timed"
has 'its gate did not say yes in time: not ready' 'why has the last answer'
answer slow 0 ready
"$SLUICE" retry "$timed" >out
rule 'a retry asks again' becomes "$timed" 'done'

answer many 75 'wait'
many=
for n in 1 2 3 4 5 6; do
    add --gate "$tmp/ask many" --gate-every 1h -- true
    many="$many $id"
done
soon asked many 1
for one in $many; do
    in_state "$one" waiting || echo "# $one is not waiting"
done
rule 'equal gates of several tasks are asked together' [ "$(calls many)" -le 2 ]
# shellcheck disable=SC2086 # a list
"$SLUICE" cancel $many >out

mkfifo go
add -- sh -c 'read -r _ <go'
first=$id
answer later 75 'too early'
add --after "$first" --gate "$tmp/ask later" --gate-every 1h -- true
second=$id
becomes "$first" running
rule 'a gate is not asked before the dependencies are done' [ "$(calls later)" = 0 ]
answer later 0 ok
unblock go
rule 'then it is, at once' becomes "$second" 'done'

answer crash 75 'before the crash'
add --gate "$tmp/ask crash" --gate-every 1s -- true
crash=$id
soon why_has "$crash" 'before the crash'
kill -9 "$(pid_of_daemon)"
answer crash 0 after
start
rule 'after kill -9 a closed gate is asked again' becomes "$crash" 'done'

add --gate 'echo $$ >gate.pid; exec sleep 1000' --gate-every 1s -- true
long=$id
soon test -s gate.pid
gate=$(cat gate.pid)
kill -9 "$(pid_of_daemon)"
rule 'a call dies with its daemon' is_gone "$gate"
rm gate.pid
start
soon test -s gate.pid
gate=$(cat gate.pid)
"$SLUICE" cancel "$long" >out
rule 'and with its task' is_gone "$gate"

echo 'API_KEY=from-the-file-1234' >keys.env
chmod 600 keys.env
echo 'echo API_TOKEN=from-the-command-1234' >keys.sh
add -p keys --gate 'echo "$SLUICE_PROJECT $API_KEY $API_TOKEN"; exit 75' --gate-every 1s -- true
keys=$id
soon why_has "$keys" 'its gate says not yet: keys '
run sluice why "$keys"
rule 'a gate has the secrets of its project, and nothing shows them' not grep -q 'from-the' out
rule 'they are redacted' grep -q 'redacted' out
add -p keys --gate '[ "$API_KEY$API_TOKEN" = from-the-file-1234from-the-command-1234 ]' --gate-every 1s -- true
rule 'the values are those of the sources' becomes "$id" 'done'
"$SLUICE" cancel "$keys" >out
add -p broken --gate true --gate-every 1s -- true
soon why_has "$id" 'its gate says no: projects.broken.env_file'
rule 'a source that cannot be read is no' in_state "$id" waiting
"$SLUICE" cancel "$id" >out

# --- checks that answer later ------------------------------------------------------------------------------

add -p web --agent worker --until validate --prompt 'Do it.' --check "$tmp/ask $tmp/ci"
fix=$id
soon is_held "$fix"
rule 'a check that exits with 75 holds the task' in_state "$fix" held
rule 'nothing is counted' [ "$(value "$fix" restarts)" = 0 ]
"$SLUICE" status --json >out
rule 'and no run is live' grep -q '"running":0' out
run sluice show --json "$fix"
has '"outcome":"pending"' 'its run has ended as pending'
run sluice why "$fix"
has 'check 1 has no result yet' 'why says what it waits for'
kill -9 "$(pid_of_daemon)"
start
rule 'after kill -9 it is still held' in_state "$fix" held
answer ci 1 'lint failed: https://ci/1'
"$SLUICE" release "$fix" >out
has_prompt() {
    [ -e "prompt.$fix.2" ]
}
rule 'a no begins the next iteration' soon has_prompt
rule 'whose feedback is the output of the check' grep -q 'lint failed: https://ci/1' "feedback.$fix.2"
soon is_held "$fix"
answer ci 0 '2 passed'
"$SLUICE" release "$fix" >out
rule 'a yes ends it' becomes "$fix" 'done'
rule 'the command ran once for each iteration' [ "$(grep -c "^$fix " worked)" = 2 ]
rule 'and its work is merged' [ "$(in_main repo work)" = 'iteration 1
iteration 2' ]

# The daemon asks by itself.
answer self 75 'pending'
printf '%s\n' 'tasks:' '  - id: self' '    run: echo ran >>'"$tmp/ran" '    until: validate' \
    '    checks: [{run: '"$tmp/ask $tmp/self"', every: 1s}]' >self.yaml
run sluice add -f self.yaml --json
self=$(field id)
soon is_held "$self"
soon asked "$tmp/self" 3
rule 'a pending check is asked again without a run' [ "$(value "$self" attempt)" = 1 ]
answer self 0 passed
rule 'its result ends the wait' becomes "$self" 'done'
rule 'and the command is not repeated' [ "$(wc -l <ran)" = 1 ]

answer never 75 'no runner'
printf '%s\n' 'tasks:' '  - id: never' '    run: echo again >>'"$tmp/again" '    until: validate' \
    '    checks: [{run: '"$tmp/ask $tmp/never"', every: 1s, pending_timeout: 2s}]' >never.yaml
run sluice add -f never.yaml --json
never=$(field id)
twice() {
    [ "$(wc -l <again)" -ge 2 ]
}
rule 'a check that stays pending for too long has failed' soon twice
"$SLUICE" cancel --now "$never" >out
rule 'its run can be canceled' becomes "$never" canceled

# --- bad input ----------------------------------------------------------------------------------------------

before=$(last_event)
run sluice add --gate '' -- true
complains "option '--gate': expected a command for the shell, got ''" 'an empty gate is refused'
run sluice add --gate-every 5s -- true
complains "option '--gate-every' needs '--gate'" 'a period without a gate is refused'
run sluice add --gate true --gate-every 10ms -- true
complains "'every_s'" 'a period that is too short is refused'
run sluice add --gate true --gate-timeout soon -- true
complains "'timeout_s': expected a time span" 'a time-out that is not a span is refused'
printf '%s\n' 'tasks: [{run: "true", gate: {run: "true", often: 1s}}]' >bad.yaml
run sluice add -f bad.yaml
complains "expected 'argv' or 'run', 'every_s' and 'timeout_s' in a gate, got 'often'" 'an unknown member is refused'
printf '%s\n' 'tasks: [{run: "true", checks: [{run: "true", every: 0}]}]' >bad.yaml
run sluice add -f bad.yaml
complains "'every_s'" 'a check with a bad period is refused'
rule 'nothing of this is stored' [ "$(last_event)" = "$before" ]
finish
