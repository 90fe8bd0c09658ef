#!/bin/sh
# sluice run with a daemon: returns the exit code of the command, also across kills and restarts.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"

run sluice run -- sh -c 'exit 7'
exits 7 'run exits with the code of the command'
for signal in 1:HUP 2:INT 3:QUIT 6:ABRT 9:KILL 10:USR1 15:TERM; do
    run sluice run -- sh -c 'kill -"$0" $$' "${signal#*:}"
    exits $((128 + ${signal%:*})) "a command killed by SIG${signal#*:} gives 128 + ${signal%:*}"
done
run sluice run -- "$tmp/no-such-program"
exits 125 'a program that is not there: 125'
complains "no-such-program': No such file or directory" 'a program that is not there is named'
printf 'not a program\n' >text
run sluice run -- "$tmp/text"
exits 125 'a file that cannot be executed: 125'
complains "$tmp/text" 'a file that cannot be executed is named'
run sluice run --cwd "$tmp/no-such-folder" -- true
exits 125 'a folder that is not there: 125'
complains 'no-such-folder' 'a folder that is not there is named'
# Five failed launches in a row close an agent: the test does not wait until it is retried.
run sluice config set agents.ghost.command="$tmp/no-such-agent" agents.ghost.sandbox=none
for turn in 1 2 3; do
    run sluice run --agent ghost 'say hello'
    exits 125 "an agent that is not there, turn $turn: 125"
done
rule 'an agent that is closed is named' grep -q "agent 'ghost' could not be launched" err
run sluice run --project nowhere -- true
exits 125 'a task that is refused: 125'
complains "there is no project 'nowhere'" 'a task that is refused says why'
run sluice run --json -- sh -c 'exit 7'
exits 7 'run --json: the same code'
rule 'run --json: the task at its end' [ "$(field state)" = failed ]
run sluice run --timeout 0.2s --grace 600s -- tail -f /dev/null
exits 143 'a time-out ends with the signal that stopped it'

# --- the daemon dies -----------------------------------------------------------------------------

mkfifo one two
"$SLUICE" run -- sh -c 'echo begun; read -r _ <one; echo middle; read -r _ <two; echo end; exit 9' >out 2>err &
runner=$!
appears begun out
kill -9 "$(pid_of_daemon)"
unblock one
appears middle "$home/runs/$("$SLUICE" up 2>/dev/null; "$SLUICE" list --ids --state running)/1/out.log"
rule 'a run goes on while the daemon is dead, and the next one has it' \
    [ "$("$SLUICE" list --state running --ids | wc -l)" = 1 ]
kill -9 "$(pid_of_daemon)"
unblock two
"$SLUICE" up >/dev/null 2>&1
wait $runner
code=$?
exits 9 'kill -9 of the daemon during run: it goes on following and exits with the right code'
prints 'begun
middle
end' 'kill -9 of the daemon during run: every line once'
run sluice list --all --ids --state running,starting
rule 'and nothing was started twice' [ ! -s out ]
run sluice show --json "$("$SLUICE" list --all --ids --limit 1)"
rule 'one attempt' [ "$(field attempt)" = 1 ]

# Only the following command can start the next daemon.
rm one
mkfifo one
rm out err # the next command creates them
"$SLUICE" run -- sh -c 'echo begun; read -r _ <one; exit 11' >out 2>err &
runner=$!
appears begun out
kill -9 "$(pid_of_daemon)"
unblock one
wait $runner
code=$?
exits 11 'a daemon that died is started again by whoever follows a run'
complains 'started the daemon' 'and that is said'
finish
