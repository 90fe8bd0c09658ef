#!/bin/sh
# Document 001 with the real daemon: first come, first served, across restarts; root tasks, run slots, dependencies.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"
PATH=$(dirname "$SLUICE"):$PATH
export PATH
config 'preset: conductor
limits: {runs: 1}
capability: {commands: true}
projects: {web: , api: }'
start

# ARGS...: adds a task that writes its name to a file and waits until it is released
note() {
    add --until exit "$@" -- sh -c 'mkfifo "go.$SLUICE_TASK"; echo "$SLUICE_TASK" >>order; read -r _ <"go.$SLUICE_TASK"'
}

# IDS...: releases those that run, and waits for their end
let_go() {
    for each; do
        becomes "$each" running && appears "$each" order && unblock "go.$each"
        becomes "$each" 'done'
    done
}
ran() {
    tr '\n' ' ' <order
    : >order
}
gate() {
    value "$1" gate
}

# --- the queue ----------------------------------------------------------------------------------------

: >order
note --project web && a=$id
appears "$a" order
note --project web --priority 100 && b=$id
note --project api --priority 1 && c=$id
run sluice add --until exit --project web --json -- true
rule 'f036 f108 the line is told' [ "$(field queue_position)" = 3 ]
d=$(field id)
kill -9 "$(pid_of_daemon)"
start
run sluice why --json "$c"
rule 'f036 f108 f110 after a kill everybody has the same place' [ "$(field queue_position)" = 2 ]
note --project api && e=$id
rule 'f036 numbers go on where they were' [ "${e#*-}" -gt "${d#*-}" ]
run sluice why --json "$e"
rule 'f108 a newcomer is behind those from before' [ "$(field queue_position)" = 4 ]
for pair in "$a $b" "$b $c"; do
    let_go "${pair% *}"
    rule "f094 f110 a finished run leaves and the next in line is promoted: ${pair#* }" becomes "${pair#* }" running
done
let_go "$c"
becomes "$d" 'done'
let_go "$e"
rule 'f036 arrival decides and nothing else, neither priority nor project' [ "$(ran)" = "$a $b $c $e " ]

# --- run slots -----------------------------------------------------------------------------------------

note --project web && a=$id
becomes "$a" running
note --project web && b=$id
note --project web && c=$id
rule 'f051 one run, the others wait for a place' [ "$(gate "$b") $(gate "$c")" = 'lease:runs lease:runs' ]
"$SLUICE" cancel "$b" >/dev/null
rule 'f051 a waiting run leaves by cancel' [ "$(value "$b" state) $(value "$b" attempt)" = 'canceled 0' ]
let_go "$a"
rule 'f051 or goes on with a place' becomes "$c" running
let_go "$c"
for none in 0 -1; do
    "$SLUICE" config set "limits.runs=$none" >/dev/null
    note --project web && a=$id
    note --project web && b=$id
    note --project web && c=$id
    rule "f051 $none is no limit" becomes "$c" running
    let_go "$a" "$b" "$c"
done

# --- root tasks ----------------------------------------------------------------------------------------

"$SLUICE" config set limits.runs=0 limits.roots=1 >/dev/null
note --project web && root=$id
becomes "$root" running
note --project api && other=$id
rule 'f052 a second root task waits for a place' [ "$(gate "$other")" = lease:roots ]
note --project web --parent "$root" && child=$id
rule 'f142 a child does not pass the planner' becomes "$child" running
let_go "$child" "$root"
rule 'f052 f094 and starts when the first is done' becomes "$other" running
note --project api && waiting=$id
"$SLUICE" config unset limits.roots >/dev/null
rule 'f052 without a cap root tasks start at once' becomes "$waiting" running
let_go "$other" "$waiting"

# --- dependencies --------------------------------------------------------------------------------------

note --project web && a=$id
note --project api --after "$a" && b=$id
note --project web --after "$a,$b" && c=$id
becomes "$a" running
rule 'f018 what depends on something waits for it' [ "$(gate "$b") $(gate "$c")" = 'dependency dependency' ]
let_go "$a"
rule 'f018 it starts when that is done' becomes "$b" running
rule 'f018 and not before all of it is' [ "$(value "$c" attempt)" = 0 ]
let_go "$b"
rule 'f018 over projects too' becomes "$c" running
let_go "$c"

# --- no restarts allowed --------------------------------------------------------------------------------

"$SLUICE" config set retry.unfinished.max=0 >/dev/null
add --project web -- touch launched
becomes "$id" failed
rule 't16 no launches allowed: it fails without a run' [ "$(value "$id" attempt) $(ls launched 2>/dev/null)" = '0 ' ]
"$SLUICE" config set loop.count=restarts >/dev/null
add --project web -- touch launched
becomes "$id" failed
rule 't16 default: no restarts allowed is still one run' [ "$(value "$id" attempt) $(ls launched)" = '1 launched' ]
"$SLUICE" config unset loop.count retry.unfinished.max >/dev/null

# --- a parent and its slot ----------------------------------------------------------------------------

"$SLUICE" config set limits.runs=1 >/dev/null
add --project web -- sh -c 'sluice add --project web --parent "$SLUICE_TASK" --until exit -- touch child && sluice report --done'
rule 't15 with one place: a parent does not wait for a child that has not begun' becomes "$id" 'done'
rule 't15 and the child runs in the place that is free then' becomes "web-$((${id#web-} + 1))" 'done'
rule 't15 really' [ -e child ]

"$SLUICE" down >/dev/null 2>&1
config 'limits: {runs: 1}
capability: {commands: true}
projects: {web: , api: }'
start
add --project web -- sh -c 'sluice add --project web --parent "$SLUICE_TASK" --parent-gate none -- sh -c "mkfifo held; read -r _ <held; :"'
parent=$id
child=web-$((${id#web-} + 1))
rule 't15 default: a parent that waits for its child gives its place to it' becomes "$child" running
"$SLUICE" show --json "$parent" >out
rule 't15 default: it waits, as running' [ "$(field state) $(field reason)" = 'running drain' ]
rule 't15 default: one place is in use' [ "$("$SLUICE" status --json | grep -o '"key":"runs","used":[0-9]*')" = '"key":"runs","used":1' ]
soon [ -p held ]
unblock held
rule 't15 default: and is done with it' becomes "$parent" 'done'
run env -u SLUICE_HOME SLUICE_SOCKET="$tmp/nobody" HOME="$tmp" "$SLUICE" add -- true
rule 'inside a run no other daemon is found or started' [ "$code $(ls -A "$tmp/.local" 2>/dev/null)" = '3 ' ]
finish
