#!/bin/sh
# A run that tries all operations: forbidden ones are refused with one message, and `doctor` lists remaining gaps.
# shellcheck disable=SC1091,SC2016,SC2154 # kit.sh sets id, home, tmp; the shell of the run expands the rest
. "$(dirname "$0")/kit.sh"
PATH=$(dirname "$SLUICE"):$PATH
export PATH

config 'limits: {runs: 8}
capability: {depth: 2, children: 4, running: 2, tokens: 100000}
agents:
  helper: {command: [sh, -c, "echo $SLUICE_TASK >>begun; mkfifo hold.$SLUICE_TASK; read -r _ <hold.$SLUICE_TASK"]}
  quick: {command: ["true"]}
projects: {web: , api: }'
start

# Runs each line from the fifo `ask`, until the line that stops it. The output of line N is in N.out and N.err, its exit
# code in N.code.
cat >rogue.sh <<'END'
cd "$(dirname "$0")" || exit 1
n=0
echo "$SLUICE_TASK" >rogue.id
exec 3<>ask # opened for both, so that a closing writer does not cause an end of file
while read -r line <&3; do
    [ "$line" != stop ] || exit 0
    n=$((n + 1))
    sh -c "$line" >"$n.out" 2>"$n.err" 3>&-
    echo $? >"$n.code.part"
    mv "$n.code.part" "$n.code"
done
END
mkfifo ask forever

add --project web -- sh -c 'read -r _ <forever'
stranger=$id
becomes "$stranger" running
add --project web --priority 50 --timeout 7200 --env "OWNER=$home" -- sh "$tmp/rogue.sh"
rogue=$id
becomes "$rogue" running

asked=0
# LINE: the run executes it; sets $code, writes the files out and err.
tries() {
    asked=$((asked + 1))
    timeout "$patience" sh -c 'printf "%s\n" "$1" >ask' - "$1"
    soon [ -e "$asked.code" ]
    code=$(cat "$asked.code")
    cp "$asked.out" out
    cp "$asked.err" err
}

# LINE TEXT 'what': asserts that it is refused with exit code 4 and one message that contains TEXT.
denied() {
    tries "$1"
    [ "$code" = 4 ] && [ "$(grep -c '^sluice: ' err)" = 1 ] && grep -qF -e "$2" err
    report $? "$3"
}

# --- allowed for every run ----------------------------------------------------------------------------

tries 'echo "$SLUICE_TOKEN" >token; echo "${#SLUICE_TOKEN} $SLUICE_SOCKET"'
prints "32 $home/run.sock" 'a run has a token of 128 bits, and the socket of the runs'
rule 'the socket of the runs is for the owner alone' [ "$(stat -c %a "$home/run.sock")" = 600 ]
store_text >store
rule 'the store can be looked at' grep -qaF rogue.sh store
rule 'the token is not in the store' sh -c '! grep -qaF -e "$(cat token)" store'

# --- as itself ----------------------------------------------------------------------------------------

tries 'sluice report --tokens 10 && sluice show --json $SLUICE_TASK && sluice why $SLUICE_TASK && sluice logs $SLUICE_TASK'
rule 'it reports, and looks at itself' [ "$code" = 0 ]
tries 'sluice list --json'
rule 'it lists itself, and not the stranger' sh -c 'grep -q "\"$1\"" out && ! grep -q "\"$2\"" out' - "$rogue" "$stranger"
tries 'sluice bus post --type FACT "$(printf "\033]0;gone\007\033[2J here")"'
rule 'it posts to its bus' [ "$code" = 0 ]
run sluice bus read --task "$rogue"
rule 'what it posts moves no cursor' sh -c '! grep -q "$(printf "\033")" out && grep -q here out'

# --- as the owner -------------------------------------------------------------------------------------

denied 'sluice pause' 'not for runs' 'it cannot pause'
denied 'sluice resume' 'not for runs' 'nor resume'
denied 'sluice config set limits.runs=100' 'not for runs' 'nor configure'
denied 'sluice down' 'not for runs' 'nor end the daemon'
denied 'sluice status' 'not for runs' 'nor look at the whole'
denied "sluice cancel $stranger" "is not below '$rogue'" 'nor cancel a stranger'
denied "sluice show $stranger" "is not below '$rogue'" 'nor look at one'
denied "sluice logs $stranger" "is not below '$rogue'" 'nor read what it prints'
denied 'sluice show ../../etc/passwd' 'is not below' 'nor anything that is no task'
denied 'sluice cancel $SLUICE_TASK' 'own task' 'nor cancel itself'
denied "sluice promote $rogue" 'not for runs' 'nor go first'
denied "SLUICE_TASK=$stranger SLUICE_RUN=$stranger.1 sluice report --tokens 1000000" 'reports of itself' 'nor report for another'
denied 'SLUICE_TOKEN=00000000000000000000000000000000 sluice list' 'this token belongs to no live run' 'nor with a token that it made up'
denied 'SLUICE_TOKEN= sluice list' 'SLUICE_TOKEN' 'nor without one'
denied 'SLUICE_SOCKET=$OWNER/sluice.sock sluice list' 'SLUICE_SOCKET' 'the owner'"'"'s socket takes no token'
denied 'env -u SLUICE_TOKEN SLUICE_HOME=$OWNER sluice pause' 'SLUICE_SOCKET' 'nor a run that has put its token away'
denied 'env -u SLUICE_TOKEN SLUICE_HOME=$OWNER setsid --wait sh -c "sluice pause"' 'SLUICE_SOCKET' 'nor one that has left its session'
rule 'nothing of it has happened' [ "$(value "$stranger" state) $("$SLUICE" status --json | first paused)" = 'running false' ]

# --- children -----------------------------------------------------------------------------------------

denied 'sluice add -- id' "'argv'" 'a child names no command'
denied 'sluice add --agent helper --env LD_PRELOAD=/tmp/x hi' "'env'" 'nor sets an environment'
denied 'sluice add --agent helper --project api hi' "'project'" 'nor is of another project'
denied 'sluice add --agent helper --workspace /tmp hi' "'workspace'" 'nor works where it likes'
denied 'sluice add --agent helper --cwd /etc hi' "'cwd'" 'nor in another folder'
denied "sluice add --agent helper --cwd $tmp/.. hi" "'cwd'" 'nor in one that is written otherwise'
denied 'sluice add --agent helper --priority 49 hi' "'priority'" 'nor goes before its parent'
denied "sluice add --agent helper --parent $stranger hi" "'parent'" 'nor is a stranger'"'"'s'
denied "sluice add --agent helper --after $stranger hi" "'depends_on'" 'nor waits for one'
denied "sluice add --agent helper --after web-99 hi" "'depends_on': 'web-99' is not below" 'and one that is not there sounds the same'
denied "sluice add --agent helper --timeout 7201 hi" "'timeout_s': the maximum for a child is 7200 s, that of its parent" 'nor takes longer than its parent'
denied 'sluice add --agent /bin/sh hi' "'agent'" 'nor is its agent anything but a configured one'
denied 'sluice add --agent codex hi' "'agent'" 'even if Sluice knows how to start it'
tries 'sluice add --agent helper --title "$(printf "\033[2J")" hi'
rule 'nor has it a title that moves the cursor' [ "$code" = 2 ]

tries 'sluice add --agent helper hi'
child=web-$((${rogue#web-} + 1))
rule 'what it may add starts beside it' becomes "$child" running
run sluice show --json "$child"
rule 'as its child, in its folder, at its priority' [ "$(field parent) $(field priority)" = "$rogue 50" ]
has '"timeout_s":7200' 'with the deadline of its parent'
rule 'where it works itself' appears "$child" begun
cat >many.yaml <<'END'
- {agent: quick, prompt: a}
- {agent: quick, prompt: b}
- {agent: quick, prompt: c}
- {agent: quick, prompt: d}
END
echo '- {agent: quick, prompt: a, tokens: 90001}' >dear.yaml
denied 'sluice add -f dear.yaml' 'has 90000 left' 'none that costs more than what is left'
denied 'sluice add -f many.yaml' '3 are left (capability.children)' 'not more of them than capability.children'
tries 'sluice add --agent helper hi && sluice add --agent helper hi'
second=web-$((${child#web-} + 1))
third=web-$((${child#web-} + 2))
becomes "$second" running
run sluice why "$third"
has "below:$rogue" 'and not more at once than capability.running'
"$SLUICE" config set capability.running=3 >/dev/null
rule 'of which a larger one counts at once' becomes "$third" running
"$SLUICE" config set capability.running=2 >/dev/null
rule 'and a smaller one stops nobody' [ "$(value "$second" state) $(value "$third" state)" = 'running running' ]
tries "sluice cancel $third"
becomes "$third" canceled
tries 'sluice add --agent helper hi'
third=web-$((${third#web-} + 1))
run sluice why "$third"
has "below:$rogue" 'but lets nobody else start'
tries "sluice cancel $second"
rule 'it cancels a child' [ "$code" = 0 ]
rule 'whose place the next one gets' becomes "$third" running

# --- across a restart of the daemon -------------------------------------------------------------------

kill -9 "$(pid_of_daemon)"
start
tries 'sluice report --tokens 20 && sluice show --json $SLUICE_TASK'
rule 'its token is good for the next daemon, too' [ "$code" = 0 ]
denied 'sluice pause' 'not for runs' 'and for no more than before'
denied 'env -u SLUICE_TOKEN SLUICE_HOME=$OWNER sluice pause' 'SLUICE_SOCKET' 'which knows its processes again'

# --- a changed deadline ---------------------------------------------------------------------------------

"$SLUICE" config set capability.children=40 capability.running=8 agents.slow.command='sleep 100000' >/dev/null
tries 'sluice add --agent slow --hold --timeout 7200 --retries 0 --json hi'
slow=$(field id)
"$SLUICE" config set agents.slow.timeout_s=0.2 >/dev/null
run sluice release "$slow"
rule 'a child is launched with the deadline that its agent has then' becomes "$slow" failed
run sluice show "$slow"
has timeout 'and stopped by it'

# --- features that this host lacks --------------------------------------------------------------------

run sluice doctor --json
has 'the environment of other runs, tokens included' 'doctor says what a run of the same user can still do'
prevents='a daemon of another user'
[ "$(id -u)" != 0 ] || prevents='a dedicated unprivileged user'
has "$prevents" 'and what would prevent it'

# --- the end ------------------------------------------------------------------------------------------

run sluice cancel "$rogue"
rule 'a cancel ends it' becomes "$rogue" canceled
rule 'and what it has added' becomes "$child" canceled
rule 'all of it' becomes "$third" canceled
run env -u SLUICE_HOME SLUICE_SOCKET="$home/run.sock" SLUICE_TOKEN="$(cat token)" "$SLUICE" list
complains 'this token belongs to no live run' 'its token is worth nothing then'
finish
