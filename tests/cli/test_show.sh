#!/bin/sh
# sluice show: the details of one task.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # lib.sh and daemon.sh set home, id, root and tmp; $ is for inner shells
. "$(dirname "$0")/lib.sh"
. "$here/daemon.sh"

run sluice show web-1
exits 3 'no daemon: exit code'
start
add --title 'say it' --env KEY=1 --retries 0 -- sh -c 'echo "it'"'"'s"; exit 3'
ends "$id"
becomes "$id" failed
run sluice show "$id"
exits 0 'show: exit code'
has "$id  say it" 'the heading'
has '  state       failed, retries' 'the state and its reason'
has "  command     sh -c 'echo \"it'\\''s\"; exit 3'" 'the command as it can be pasted'
has '  env         KEY=[not shown]' 'the names of variables, not their values'
has "  cwd         $tmp" 'where it ran'
rule 'its run' grep -q '^  1  .* failed, exit code 3$' out
cp out whole
run sluice show "${id##*-}"
rule 'the number alone' [ "$(sed 1q out)" = "$(sed 1q whole)" ]
run sluice show "$id" --json
has '"exit_code":3' 'as JSON'
rule 'as JSON: one value' [ "$(wc -l <out)" = 1 ]

add --hold -- true
run sluice show "$id"
has '  why         held: ' 'why it does not run, in one line'
add --draft -- "$(printf 'evil\033[2J')"
run sluice show "$id"
rule 'no escapes' not grep -q "$(printf '\033')" out

run sluice show nothing-99
exits 1 'no such task: exit code'
[ "$(wc -l <err)" = 1 ] && [ ! -s out ]
report $? 'no such task: one sentence'
run sluice show ''
[ "$code" -ne 0 ] && [ ! -s out ]
report $? 'an empty id'
run sluice show '../../v1/status'
exits 2 'an id is no path'
# Labels of any length are followed by a blank, and numbers are printed as they were written.
add --hold --timeout 0.3 --serial -- true
run sluice show "$id"
has 'timeout_s   0.3' 'a part of a second as it was written'
rule 'a long label does not touch its value' not grep -qE '0\.29999|parallelizable(true|false)' "$tmp/out"
add -- sh -c ': >"$SLUICE_ARTIFACTS/plan.md"'
becomes "$id" 'done'
n=0
while [ $n -lt 9 ]; do
    n=$((n + 1))
    "$SLUICE" again "$id" >/dev/null
    becomes "$id" 'done'
done
run sluice show "$id"
has 'iteration 10 /' 'the folder of a later iteration is apart from its label'
run sluice show
exits 2 'no id'
run sluice show "$id" "$id"
exits 2 'two ids'
finish
