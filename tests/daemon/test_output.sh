#!/bin/sh
# The output of a run: live, complete, and without terminal control sequences.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"
start

# --- live ----------------------------------------------------------------------------------------

mkfifo go
add -- sh -c 'echo first; echo trouble >&2; read -r _ <go; echo last; exit 2'
"$SLUICE" logs -f "$id" >out 2>err &
follower=$!
"$SLUICE" logs -f --err "$id" >errors 2>&1 &
rule 'logs -f shows a line before the command has ended' appears first out
rule 'and so it does with stderr' appears trouble errors
rule 'it is live' [ "$(value "$id" state)" = running ]
unblock go
wait $follower
code=$?
exits 0 'logs -f ends with the run; the code is that of looking, not of the run'
prints 'first
last' 'logs -f showed everything once'
run sluice logs "$id"
prints 'first
last' 'logs shows the same afterwards'
run sluice logs --err "$id"
prints trouble 'stderr is kept apart'
run sluice logs --both "$id"
prints 'first
last' 'both: stdout to stdout'
says trouble 'both: stderr to stderr'
run sluice logs --tail 1 "$id"
prints last 'the last lines'

# A follower that connects before the start waits for it, and a stop of the daemon loses no output.
add --hold -- sh -c 'echo begun; read -r _ <go; echo over'
"$SLUICE" logs -f "$id" >out 2>err &
follower=$!
"$SLUICE" release "$id" >/dev/null
appears begun out
"$SLUICE" down >/dev/null 2>&1
unblock go
"$SLUICE" up >/dev/null 2>&1
wait $follower
prints 'begun
over' 'logs -f waits for the start, and goes on after the daemon was stopped and started'
run sluice logs 99
exits 1 'no such task'
add --draft -- true
run sluice logs "$id"
exits 1 'the log of what never ran'
complains 'has not run yet' 'the log of what never ran: says so'

# --- harmless ------------------------------------------------------------------------------------

printf 'a\033[31mred\033[0m b\033]0;title\007c\033P1$x\033\\d \033_app\033\\e\033(0f\n' >evil
printf 'back\b\b\rover\a\302\233 32mC1 \177del \342\200\256bidi\342\200\254 \377end\tok\n' >>evil
add -- cat evil
ends "$id"
run sluice logs "$id"
rule 'escape sequences are taken out of what agents write' \
    [ "$(LC_ALL=C tr -d '\011\012\040-\176\302-\364\200-\277' <out | wc -c)" = 0 ]
esc=$(printf '\033')
rule 'no ESC is left' sh -c '! grep -q "$1" out' - "$esc"
rule 'the text stays' grep -q '^ared bcd ef$' out
rule 'no direction is turned round' sh -c '! grep -q "$(printf "\342\200\256")" out'
run sluice logs --raw "$id"
compare evil out '--raw: byte by byte'
run sluice logs --json "$id"
rule 'in JSON, too' [ "$(field stream)" = out ]
run sluice add --title "$(printf 'a\033[2Jtitle')" -- true
exits 2 'a title with escapes is refused'
# A command line may contain control sequences; lists print it without them.
add -- sh -c "true '${esc}[2J${esc}[31m'"
ends "$id"
for command in "list --all" "show $id" "status" "events" "why $id"; do
    # shellcheck disable=SC2086 # several words
    run sluice $command
    rule "no escapes from a command line: ${command% "$id"}" not grep -q "$esc" out
done
finish
