#!/bin/sh
# A run belongs to its host. One home and one store, and a daemon whose host name switches between hosta and hostb.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"

on() {
    run sluice down
    config "daemon: {host: $1}
data: {folder: '${2-}'}
limits: {runs: 1}
retry: {lost: {delay_s: 0}}"
    start
}

on hosta
mkfifo go
add -- sh -c 'echo "$SLUICE_RUN" >>started; read -r _ <go'
living=$id
add -- sh -c 'echo "$SLUICE_RUN" >>started'
waiting=$id
appears "$living.1" started
becomes "$living" running
shim=$(shim_of "$living" 1)

# --- unreachable -------------------------------------------------------------------------------------

on hostb
rule 'a run of another host is running' [ "$(value "$living" state) $(value "$living" attempt)" = 'running 1' ]
rule 'it is not touched' kill -0 "$shim"
run sluice show "$living"
has "host 'hosta' unreachable since " 'show says where it is, and since when'
run sluice why "$living"
has "host 'hosta' unreachable since " 'why says it'
has 'sluice host forget hosta' 'and what can be done'
run sluice list
has 'host hosta unreachable' 'list says it'
run sluice status
has "host 'hosta' unreachable since " 'status says it'
run sluice why "$waiting"
tr -s ' \n' ' ' <out >words
rule 'who waits for its place is told' grep -qF "1 of the places is held on host 'hosta', which is unreachable" words
run sluice status --json
has '"key":"host:hosta"' 'there is an alert'
run sluice host list
grep -qE '^  hostb +active +0 ' out && grep -qE '^  hosta +unreachable +1 ' out
report $? 'host list shows both'
run curl -s --unix-socket "$home/sluice.sock" http://localhost/metrics
has 'sluice_runs_away 1' 'the metric counts it'
run sluice events --limit 20
has 'away=1' 'the report of the start counts it'
run sluice logs "$living"
exits 0 'in a folder that both see its log is there'
run timeout "$patience" "$SLUICE" down --wait
exits 0 'down --wait does not wait for it'
mkdir other
on hostb "$tmp/other/runs"
rule 'with a folder of its own it is away all the same' [ "$(value "$living" state)" = running ]
run sluice logs "$living"
exits 1 'but its log is not there'
complains "is on host 'hosta', which is unreachable" 'and that is said'

# --- back --------------------------------------------------------------------------------------------

on hosta
rule 'the daemon of its host has it again' [ "$(value "$living" state) $(shim_of "$living" 1)" = "running $shim" ]
unblock go
rule 'its end is recorded' becomes "$living" 'done'
rule 'and who waited has run' becomes "$waiting" 'done'
rule 'everything ran once' [ "$(sort started | uniq -d)" = '' ]
run sluice host list
rule 'no other host is left' [ "$(grep -c host out)" = 1 ]
run sluice status --json
has '"alerts":[]' 'and no alert'

# --- canceled meanwhile ------------------------------------------------------------------------------

add -- sh -c 'exec tail -f /dev/null'
becomes "$id" running
shim=$(shim_of "$id" 1)
on hostb
run sluice cancel "$id"
exits 0 'cancel: exit code'
prints "$id is being stopped: its run is on host 'hosta', which is unreachable: it is stopped when the daemon of that host is the active one" 'cancel says when'
rule 'it is still there' kill -0 "$shim"
on hosta
rule 'then it is stopped' becomes "$id" canceled
rule 'its process too' is_gone "$shim"

# --- forgotten ---------------------------------------------------------------------------------------

add -- sh -c 'echo "$SLUICE_RUN" >>started; exec tail -f /dev/null'
becomes "$id" running
shim=$(shim_of "$id" 1)
on hostb
run sluice host forget hosta
exits 0 'forget: exit code'
prints 'hosta forgotten: 1 run is lost' 'forget says how many'
rule 'its task runs again' appears "$id.2" started
run sluice host forget hosta
prints 'hosta is forgotten already' 'once is enough'
run sluice host forget --json hosta
has '{"name":"hosta","runs":0,"already":true}' 'as JSON'
run sluice show "$id"
has "host 'hosta' was forgotten by " 'the run says why it is lost'
run sluice events --limit 50
has 'host.forgotten' 'there is an event'
rule 'nobody could stop the first one' kill -0 "$shim"
second=$(shim_of "$id" 2)
on hosta
rule 'what a forgotten host still runs is killed when it is back' is_gone "$shim"
rule 'and the second run is the one that counts' [ "$(value "$id" attempt) $(value "$id" state)" = '2 running' ]
rule 'which goes on' kill -0 "$second"
on hostb
finish
