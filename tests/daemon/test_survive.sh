#!/bin/sh
# What survives kills of the daemon, of shims, and of both, as described in docs/guide/daemon.md.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"
config 'limits: {runs: 8}
retry: {failed: {max: 0}}'
start
mkfifo go

# --- the daemon --------------------------------------------------------------------------------------

add -- sh -c 'echo "$SLUICE_RUN" >>started; read -r _ <go; exit 6'
ended=$id
add -- sh -c 'echo "$SLUICE_RUN" >>started; exec sleep 1000'
living=$id
add --after "$living" -- true
waiting=$id
becomes "$living" running
appears "$ended" started
appears "$living" started
shim=$(shim_of "$living" 1)
kill -9 "$(pid_of_daemon)"
rule 'a run outlives the daemon' kill -0 "$shim"
unblock go
is_gone "$(shim_of "$ended" 1 2>/dev/null || echo 0)"
run sluice up
exits 0 'the next daemon starts'
rule 'a run that ended while no daemon was there is recorded' becomes "$ended" failed
run sluice show "$ended"
has 'failed, exit code 6' 'with its code'
rule 'a run that lives is adopted' [ "$(value "$living" state) $(shim_of "$living" 1)" = "running $shim" ]
rule 'what waited waits' [ "$(value "$waiting" state)" = waiting ]
rule 'nothing was started twice' [ "$(sort started | uniq -d)" = '' ]
run sluice events --limit 100
rule 'and none was lost' sh -c '! grep -q lost=[1-9] out'

# --- a shim ------------------------------------------------------------------------------------------

command=$(tr '\0\n' '  ' <"$home/runs/$living/1/lock" | sed -n 's/.*command \([0-9]*\) .*/\1/p')
kill -9 "$shim"
rule 'a run whose shim was killed is lost, and queued again' appears "$living.2" started
rule 'after what was left of it is gone' gone "$command"
run sluice show "$living"
has 'lost' 'and is never taken for a success'
rule 'it is the second attempt, and one loss' [ "$(value "$living" attempt) $(value "$living" losses)" = '2 1' ]

# --- both --------------------------------------------------------------------------------------------

shim=$(shim_of "$living" 2)
command=$(tr '\0\n' '  ' <"$home/runs/$living/2/lock" | sed -n 's/.*command \([0-9]*\) .*/\1/p')
kill -9 "$(pid_of_daemon)"
kill -9 "$shim"
run sluice up
rule 'daemon and shim killed: the task runs again' appears "$living.3" started
rule 'daemon and shim killed: the old tree is gone first' gone "$command"
rule 'daemon and shim killed: one run at a time' [ "$("$SLUICE" list --ids --state running,starting | wc -l)" = 1 ]
run sluice cancel --now "$living"

# --- the configuration -------------------------------------------------------------------------------

printf 'limits: {rnus: 3}\n' >"$home/sluice.yaml"
kill -HUP "$(pid_of_daemon)"
appears "unknown key 'limits.rnus'" "$home/sluice.log"
run sluice config get --live limits.runs
prints 8 'a mistake in the configuration: a running daemon keeps the old one'
run sluice down
run sluice up
exits 1 'a mistake in the configuration: a starting one says where'
complains "sluice.yaml:1: unknown key 'limits.rnus'; did you mean 'limits.runs'?" 'with file and line'
config 'limits: {runs: 6}
retry: {failed: {max: 0}}'
run sluice up
exits 0 'and starts when it is right'
rule 'everything is there' [ "$("$SLUICE" list --ids --all | wc -l)" = 3 ]

# --- many --------------------------------------------------------------------------------------------

for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    echo "- {argv: [sh, -c, 'echo \"\$SLUICE_RUN\" >>diary; exit $((i % 3))']}"
done >many.yaml
run sluice add --group many -f many.yaml
for _ in 1 2 3 4; do
    kill -9 "$(pid_of_daemon)"
    "$SLUICE" up >/dev/null 2>&1
done
wrong=0
for id in $("$SLUICE" list --ids --all --group many); do
    n=${id#*-}
    case $(((n - 3) % 3)) in
    0) want='done' ;;
    *) want=failed ;;
    esac
    becomes "$id" $want || { wrong=1 && break; }
done
rule 'twenty tasks over four kills: every end is the right one' [ $wrong = 0 ]
rule 'and every one ran once' [ "$(sort diary | uniq -c | awk '$1 != 1' | wc -l) $(wc -l <diary)" = '0 20' ]
finish
