#!/bin/sh
# sluice status: an overview on one screen.
# shellcheck disable=SC1091,SC2034,SC2154 # lib.sh and daemon.sh set home, id, root and tmp
. "$(dirname "$0")/lib.sh"
. "$here/daemon.sh"

run sluice status
exits 3 'no daemon: exit code'
says "sluice: no daemon is running; 'sluice up' starts it" 'no daemon'
config 'limits: {runs: 1}
projects: {web: {prefix: web, max_running: 3}}'
start
mkfifo go
add --project web --cwd "$tmp" -- sh -c "$(printf 'read -r x <go # \033[31mred')"
becomes "$id" running
first=$id
for i in 1 2 3; do
    add --project web -- true
done
add --project web --hold -- true
add --project web --draft -- true
run sluice status
exits 0 'status: exit code'
sed 1q out | grep -q "^sluice [0-9.]*  up .*  preset sluice  pid $(pid_of_daemon)"
report $? 'which daemon'
printf '%s\n' '  running  ready  waiting  held  draft  done  failed  canceled' \
    '        1      3        0     1      1     0       0         0' >want
sed -n 2,3p out >seen
compare want seen 'f121: how many of each, right-aligned'
rule 'f121: what runs' grep -q "^  $first  *web  *-  *[0-9]* [a-z]*  *-  sh -c read -r x <go # *\[31mred" out
rule 'f121: what waits, by the first gate' grep -q '^  *3  lease:runs  *web-' out
rule 'limits' grep -q '^  runs  *1  *1  full$' out
rule 'the last events' grep -q 'task.state' out
rule 'no escapes' not grep -q "$(printf '\033')" out
rule 'limits without a cap are left out' not grep -q -e roots -e budget out
run sluice status --all
has 'budget:global' '--all has them'
run sluice status
rule 'no blanks at the ends of lines' not grep -q ' $' out
run sluice status --json
has '"counts":{' 'f121: as JSON'
rule 'as JSON: one value' [ "$(wc -l <out)" = 1 ]
"$SLUICE" pause >/dev/null
run sluice status
sed 1q out | grep -q '  PAUSED'
report $? 'f121: paused'
"$SLUICE" resume >/dev/null

needs script
awk 'BEGIN { for (i = 0; i < 100; i++) print "- {argv: [\"true\"], project: web, needs: web-1}" }' >many.yaml
"$SLUICE" add -f many.yaml >/dev/null
run env TERM=dumb LINES=24 COLUMNS=80 script -qec "'$SLUICE' status" /dev/null
[ "$(wc -l <out)" -le 23 ] && [ "$(tr -d '\r' <out | awk '{ if (length($0) > n) n = length($0) } END { print n }')" -le 80 ]
report $? 'a terminal of 80x24 holds it'
run sluice status --watch
exits 2 '--watch needs a terminal: exit code'
run sluice status --watch --json
exits 2 '--watch has no JSON'
run sluice status now
exits 2 'an argument too many'
echo x >go
finish
