#!/bin/sh
# sluice run: prints the output of the command and returns its exit code, also across restarts of the daemon.
# shellcheck disable=SC1091,SC2034,SC2154 # lib.sh and daemon.sh set home, id, root and tmp
. "$(dirname "$0")/lib.sh"
. "$here/daemon.sh"

# Only --until makes a loop; the default of the preset is ignored.
for preset in conductor loopr; do
    config "preset: $preset"
    start
    run sluice run -- sh -c 'echo once; exit 3'
    exits 3 "preset $preset: the code of the command"
    prints once "preset $preset: one run"
    [ "$preset" = loopr ] || "$SLUICE" down --wait >/dev/null
done
# shellcheck disable=SC2016 # for the inner shell
run sluice run --until 'done' --cwd "$tmp" -- sh -c 'echo >>loop; [ "$(wc -l <loop)" -lt 2 ] || touch "$SLUICE_DONE"'
exits 0 '--until done: exit code'
rule '--until done: until it is marked' [ "$(wc -l <loop)" = 2 ]
"$SLUICE" down --wait >/dev/null

config 'limits: {runs: 4}
breaker: {max: 1}'
start
run sluice run -- sh -c 'echo out; echo err >&2; exit 3'
exits 3 'the code of the command'
prints out 'stdout to stdout'
says err 'stderr to stderr'
run sluice run -- true
exits 0 'success'
[ ! -s out ] && [ ! -s err ]
report $? 'nothing of our own'
# shellcheck disable=SC2016 # for the inner shell
run sluice run -- sh -c 'kill -KILL $$'
exits 137 '128 + signal'
run sluice run -- "$tmp/not-there"
exits 125 'a command that is not there: exit code'
rule 'a command that is not there' grep -q '^sluice: .*not-there' err
run sluice run --timeout 200ms -- true
exits 2 'a wrong option: exit code'
run sluice run --timeout 0.3s --grace 600s -- cat /dev/zero
exits 143 'a time-out: exit code'
rule 'a time-out is said' grep -q '^sluice: ' err
run sluice run --project nowhere -- true
exits 125 'a task that is refused: exit code'
rule 'a task that is refused: one sentence' [ "$(wc -l <err)" = 1 ]
run sluice run
exits 2 'no command'
run sluice run --draft -- true
exits 2 'a draft would never start'

# A pipe gets every byte; a terminal gets no control sequences.
printf '\033[31mred\033[0m\377\000\r\n' >bytes
run sluice run --cwd "$tmp" -- cat bytes
compare bytes out 'byte by byte into a pipe'
needs script
run env TERM=xterm script -qec "'$SLUICE' run --cwd '$tmp' -- cat bytes" /dev/null
rule 'no escapes on a terminal' not grep -q "$(printf '\033')" out
run env TERM=xterm script -qec "'$SLUICE' run --raw --cwd '$tmp' -- cat bytes" /dev/null
rule '--raw' grep -q "$(printf '\033')" out

run sluice run --json -- sh -c 'echo hidden; exit 4'
exits 4 '--json: exit code'
has '"exit_code":4' '--json: the task at its end'
! grep -q hidden err && [ "$(wc -l <out)" = 1 ]
report $? '--json: one value, no output'

# Retries only when asked for; then the output of every attempt.
run sluice run --cwd "$tmp" -- sh -c 'echo once; false'
prints once 'no retry unless asked for'
cat >flaky.sh <<'END'
echo "attempt $SLUICE_RUN" >>tries
wc -l <tries
[ "$(wc -l <tries)" = 2 ]
END
"$SLUICE" down >/dev/null 2>&1
config 'retry: {failed: {delay_s: 0}}'
start
run sluice run --retries 3 --cwd "$tmp" -- sh ./flaky.sh
exits 0 'retries: the code of the last attempt'
prints '1
2' 'retries: the output of all attempts'

# The daemon is restarted while the command follows the run.
mkfifo go again
"$SLUICE" run --cwd "$tmp" -- sh -c 'echo one; read -r x <go; echo two; read -r x <again; echo three; exit 5' >out 2>err &
runner=$!
appears one out
kill -KILL "$(pid_of_daemon)"
echo x >go
"$SLUICE" up >/dev/null 2>&1
appears two out
"$SLUICE" down >/dev/null 2>&1
echo x >again
"$SLUICE" up >/dev/null 2>&1
wait $runner
code=$?
exits 5 'the daemon was killed and stopped: exit code'
prints 'one
two
three' 'the daemon was killed and stopped: every line once'

# The first Ctrl-C cancels the task; the second one ends the command at once.
"$SLUICE" run -- sh -c 'echo here; exec sleep 1000' >out 2>err &
runner=$!
appears here out
kill -INT $runner
wait $runner
code=$?
exits 143 'Ctrl-C: the run was stopped'
id=$(sed -n 's/^sluice: canceling \([^;]*\); press Ctrl-C again to detach$/\1/p' err)
[ -n "$id" ] && becomes "$id" canceled
report $? 'Ctrl-C: says so, and the task is canceled'
rm out err # the next command creates them: the old output must not be taken for its output
"$SLUICE" run --grace 3600s -- sh -c 'trap "" TERM; echo here; while :; do tail -f /dev/null; done' >out 2>err &
runner=$!
appears here out
kill -INT $runner
appears canceling err
kill -INT $runner
wait $runner
code=$?
exits 130 'Ctrl-C twice: exit code'
id=$(sed -n "s/^sluice: detached; 'sluice show \(.*\)' shows its state\$/\1/p" err)
[ -n "$id" ] && [ "$(value "$id" state)" = running ]
report $? 'Ctrl-C twice: left to the daemon'
finish
