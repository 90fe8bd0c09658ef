#!/bin/sh
# sluice list: filters, pages, and the gate that stops each task.
# shellcheck disable=SC1091,SC2034,SC2154 # lib.sh and daemon.sh set home, id, root and tmp
. "$(dirname "$0")/lib.sh"
. "$here/daemon.sh"

config 'projects: {web: {prefix: web}, api: {prefix: api}}
kinds: {review: {base: 80}}'
run sluice list
exits 3 'no daemon: exit code'
start
run sluice list
prints 'no tasks' 'no tasks'
run sluice list --json
prints '{"items":[],
"next":null}' 'no tasks, as JSON'
run sluice list --ids
[ "$code" = 0 ] && [ ! -s out ]
report $? 'no ids'

add --project web --hold --title 'the first' -- true
first=$id
add --project api --hold -- safe "$(printf '\342\200\256')x"
second=$id
add --project web --after "$first" --kind review -- true
third=$id
run sluice list --order old
sed 's/  *$//; s/ [0-9]* s  / 0 s  /' out >seen
printf '%s\n' "  ID     STATE        PROJECT  AGENT  AGE  GATE        TITLE
  $first  held:person  web      -      0 s  held        the first
  $second  held:person  api      -      0 s  held        safe  x
  $third  waiting      web      -      0 s  dependency  true" >want
compare want seen 'f122: the gate that stops each, titles made safe'
run sluice list --by-project --order old
grep -n -x -e web -e api out | tr '\n' ' ' >seen
printf '1:web 6:api ' >want
compare want seen 'f122: grouped by project'
run env COLUMNS=80 "$SLUICE" list --ids
exits 0 'ids where the width of the screen is known'
run sluice list --project web --ids --order old
prints "$first
$third" '--project'
run sluice list --kind review --ids
prints "$third" '--kind'
run sluice list --state held,waiting --ids --order new
prints "$third
$second
$first" 'several states, newest first'
run sluice list --state 'done' --ids
rule 'none in this state' [ ! -s out ]

# Pages are followed until the limit is filled.
awk 'BEGIN { for (i = 0; i < 1200; i++) print "- argv: [\"true\"]" }' >many.yaml
"$SLUICE" add --draft -f many.yaml >ids
run sluice list --state draft --ids
rule '50 if nothing is said' [ "$(wc -l <out)" = 50 ]
run sluice list --state draft --ids --limit 1100
rule 'more than one page, every task once' [ "$(sort -u out | wc -l)" = 1100 ]
run sluice list --all --ids
rule '--all' [ "$(sort -u out | wc -l)" = 1203 ]
run sluice list --state draft --limit 2
has '  ... and more; use --limit N or --all to show them' 'what is cut is said'
run sluice list --state draft --limit 2 --json
[ "$(grep -c '^{"id":' out)" = 2 ] && grep -q '^"next":"' out
report $? 'as JSON: the limit, and where to go on'

bad() { # MESSAGE ARGS...
    want=$1
    shift
    run sluice list "$@"
    exits 2 "list $*: exit code"
    grep -qF -e "sluice: $want" err && [ ! -s out ]
    report $? "list $*"
}
bad "there is no state 'runing'; did you mean 'running'?" --state done,runing
bad "there is no state ''" --state ''
bad "option '--limit': expected a whole number of at least 1, got '0'" --limit 0
bad "option '--limit': expected a whole number of at least 1, got 'x'" --limit x
bad '' --order sideways
bad "'list' does not take the argument 'x'" x
run sluice list --parent nothing-9
[ "$code" -ne 0 ] && [ "$(wc -l <err)" = 1 ]
report $? 'an unknown parent'
finish
