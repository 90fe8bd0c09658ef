#!/bin/sh
# sluice add: how arguments and options become a task, and what is printed for each task.
# shellcheck disable=SC1091,SC2034,SC2154 # lib.sh and daemon.sh set home, id, root and tmp
. "$(dirname "$0")/lib.sh"
. "$here/daemon.sh"

config 'limits: {runs: 1, resource: {db: 1, a: 1, b: 1}}
queue: {soft: 20, hard: 30}
projects: {web: {prefix: web}}
agents: {echo: {command: [cat]}}
kinds: {review: {base: 80}}'
start
mkfifo go

# f097: started, or queued with its position.
run sluice add --project web -- sh -c "read -r word <'$tmp/go'"
exits 0 'f097: exit code'
first=$(sed 's/ .*//' out)
prints "$first started" 'f097: started'
run sluice add --project web -- true
prints "${first%-*}-$((${first##*-} + 1)) queued, position 1" 'f097: queued, position 1'
run sluice add --project web -- true
prints "${first%-*}-$((${first##*-} + 2)) queued, position 2" 'f097: queued, position 2'
last=$(sed 's/ .*//' out)
run sluice add --project web --json -- true
has '"result":"queued"' 'as JSON: the result'
has '"queue_position":3' 'as JSON: the position'
run sluice add --project web --draft -- true
has ' draft' 'a draft'
run sluice add --project web --hold -- true
has ' held' 'held'
run sluice add --project web --external-id card-1 -- true
known=$(sed 's/ .*//' out)
run sluice add --project web --external-id card-1 -- true
exits 0 'already there: exit code'
has "$known already: " 'already there'

# Every option sets its member of the task.
add --project web --kind review --title 'A title' --priority 7 --after "$first,$last" --after "$known" --retries 2 \
    --timeout 1.5m --idle-timeout 90 --grace 5s --stop-signal INT --env 'KEY=a=b' --cwd / --stdin go --until validate \
    --check 'make test' --check true --resource db --resource 'a, b' --executor slurm --slurm partition=gpu --slurm cpus=4 --memory 1.5GB --iteration 2 --usd '$2.50' --artifact go --processes 20 --nice 5 --review \
    --meta n=1 --meta 'text=two words' --serial p1 --workspace /tmp/w --draft -- printf '%s\n' 'a b' "it's"
run sluice show --json "$id"
for member in '"kind":"review"' '"title":"A title"' '"priority":7' "\"depends_on\":[\"$first\",\"$last\",\"$known\"]" \
    '"retries":2' '"timeout_s":90' '"idle_timeout_s":90' '"grace_s":5' '"stop_signal":"INT"' '"env":{"KEY":"[not shown]"}' \
    '"cwd":"/"' "\"stdin\":\"$tmp/go\"" '"until":"validate"' \
    '"checks":[["sh","-c","make test"],["sh","-c","true"]]' '"resources":["db","a","b"]' '"memory_mb":1536' '"iteration":2' '"usd":2.5' "\"artifact\":\"$tmp/go\"" '"executor":"slurm"' '"slurm":{"partition":"gpu","cpus":"4"}' \
    '"processes":20' '"nice":5' '"review":true' '"meta":{"n":1,"text":"two words"}' '"serial":"p1"' \
    '"parallelizable":false' '"workspace":"/tmp/w"' '"argv":["printf","%s\\n","a b","it'"'"'s"]'; do
    has "$member" "the spec has $member"
done
MINE=here add --env MINE --env 'KEY=a=b' --draft -- sh -c 'echo "$MINE $KEY"'
env_task=$id
run sluice show --json "$id"
has '"env":{"MINE":"[not shown]","KEY":"[not shown]"}' '--env has names; values are not shown'
has "\"cwd\":\"$tmp\"" 'it runs in this folder'
add --cwd - --draft -- true
run sluice show --json "$id"
rule "--cwd - leaves it to the project" not grep -q '"cwd"' out
add --agent echo --draft fix 'the test'
run sluice show --json "$id"
has '"prompt":"fix the test"' 'the words are the prompt of an agent'
printf 'many\nlines\n' >prompt.md
add --agent echo --draft --prompt-file prompt.md
run sluice show --json "$id"
has '"prompt":"many\nlines\n"' 'a prompt from a file'
add --agent echo --draft --prompt-file - <prompt.md
run sluice show --json "$id"
has '"prompt":"many\nlines\n"' 'a prompt from the standard input'
run sluice add --in 1h -- true
has ' held' '--in'
run sluice add --not-before 2100-01-31T18:30 -- true
has ' held' '--not-before'

# Bad input: one error message, and no task is added.
before=$("$SLUICE" list --all --ids | wc -l)
bad() { # CODE MESSAGE ARGS...
    want_code=$1
    want=$2
    shift 2
    run sluice add "$@"
    exits "$want_code" "add $*: exit code"
    grep -qF -e "sluice: $want" err && [ "$(grep -c . err)" -le 2 ] && [ ! -s out ]
    report $? "add $*"
}
bad 2 'no command given; write it after --'
bad 2 'no command given; write it after --' -- ''
bad 2 "option '--priority': expected a whole number from -1000000 to 1000000, got 'x'" --priority x -- true
bad 2 "option '--timeout': expected a time span like 90s, 30m, 2h or 1d, got 'soon'" --timeout soon -- true
bad 2 "option '--in': not a span: 'x'" --in x -- true
bad 2 "option '--not-before': expected a time like 30m, 18:30 or 2027-01-31T18:30, got 'x'" --not-before x -- true
bad 2 "'--in' and '--not-before' cannot be used together" --in 1m --not-before 18:30 -- true
bad 2 "'--parallel' and '--serial' cannot be used together" --parallel --serial p -- true
bad 2 "option '--env': 'NOT_SET_HERE' is not set here" --env NOT_SET_HERE -- true
bad 2 "option '--env': expected KEY=VALUE or KEY" --env =x -- true
bad 2 "option '--meta': expected KEY=VALUE" --meta x -- true
bad 2 "option '--check': expected a command" --check '' -- true
bad 2 "'--prompt' and '--prompt-file' cannot be used together" --prompt x --prompt-file prompt.md
bad 2 "the prompt for the agent is empty" --prompt ''
bad 2 "the prompt is given with '--prompt'" --prompt x words
bad 2 "the prompt for the agent 'echo' is empty" --agent echo
bad 2 "the prompt is given with 'prompt.md'" --agent echo --prompt-file prompt.md words
bad 2 "cannot open 'missing.md'" --agent echo --prompt-file missing.md
bad 2 "unknown option '--prioritty'; did you mean '--priority'?" --prioritty 3 -- true
bad 2 '' --until later -- true
bad 2 '' --priority 99999999999 -- true
run sluice add -- "$(printf 'a\377\033[2Jb')"
exits 2 'a word that is not UTF-8: exit code'
sed 1q err >seen
printf "sluice: 'a\357\277\275b' is not UTF-8, which tasks must be\n" >want
compare want seen 'a word that is not UTF-8 is quoted safely'
run sluice add --project nowhere -- true
[ "$code" -ne 0 ] && [ "$(wc -l <err)" = 1 ]
report $? 'an unknown project'
run sluice add --after nothing-99 -- true
[ "$code" -ne 0 ] && [ "$(wc -l <err)" = 1 ]
report $? 'an unknown dependency'
rule 'nothing was added' [ "$("$SLUICE" list --all --ids | wc -l)" = "$before" ]

# A task file: all of its tasks are added, or none.
cat >tasks.yaml <<'END'
project: web
group: night
defaults: {timeout: 30m}
tasks:
  - id: build
    run: make all
  - id: test
    needs: build
    argv: [make, test]
END
run sluice add --file tasks.yaml --draft
exits 0 'a file: exit code'
grep -q '^web-[0-9]* draft (build)$' out && grep -q '^web-[0-9]* draft (test)$' out
report $? 'a file: a line for each task, with its name'
run sluice list --group night --state draft --ids
rule 'a file: its group' [ "$(wc -l <out)" = 2 ]
run sluice add --file - --draft <tasks.yaml
exits 0 'a file from the standard input'
sed 's/needs: build/neds: build/' tasks.yaml >bad.yaml
run sluice add -f bad.yaml
exits 2 'a bad file: exit code'
rule 'a bad file: the place' grep -q "^sluice: bad.yaml:8:.*'neds'; did you mean 'needs'?$" err
sed 's/argv: .*/&\n    agent: nobody/' tasks.yaml >bad.yaml
run sluice add -f bad.yaml
[ "$code" -ne 0 ] && grep -q '^sluice: bad.yaml:[0-9]*: .*nobody' err && [ "$(wc -l <err)" = 1 ]
report $? 'a task that the daemon refuses: the place'
run sluice add -f missing.yaml
exits 2 'no such file'
run sluice add -f tasks.yaml --kind x
exits 2 'options of one task do not go with a file: exit code'
says "sluice: option '--kind' cannot be used with --file; write it into the file instead
usage: sluice add [OPTIONS] -- COMMAND...|--agent NAME PROMPT|--file FILE|--formula NAME [::: INPUT...]" 'options of one task do not go with a file'
run sluice add -f tasks.yaml -- true
exits 2 'nor does a command'

# f137: exceeding the soft limit prints a warning; exceeding the hard limit defers the task.
awk 'BEGIN { print "- argv: [\"true\"]"; for (i = 0; i < 17; i++) print "- argv: [\"true\"]" }' >many.yaml
run sluice add -f many.yaml
exits 0 'f137 beyond the soft limit: exit code'
[ "$(wc -l <err)" = 1 ] && grep -q '^sluice: ' err
report $? 'f137 beyond the soft limit: a warning'
run sluice add -f many.yaml
exits 4 'f137 deferred: exit code'
[ "$(wc -l <err)" = 1 ] && [ ! -s out ]
report $? 'f137 deferred: one sentence, nothing added'
echo go >go
run sluice sling "$env_task"
becomes "$env_task" 'done'
run sluice logs "$env_task"
prints 'here a=b' '--env KEY takes yours, --env KEY=VALUE the rest of the word'

# A duplicate is refused if the setting says so, as in the preset `agency`.
stop_daemon
config 'preset: agency'
start
run sluice add --hold --external-id card-9 -- true
exits 0 'agency: the first time'
run sluice add --hold --external-id card-9 -- true
exits 4 'agency: already there: exit code'
has ' already: ' 'agency: already there'
run sluice add --json --hold --external-id card-9 -- true
has '"refused":true' 'agency: as JSON'
run sluice config set tasks.duplicates=accept
run sluice add --hold --external-id card-9 -- true
exits 0 'agency: accepted when the setting says so'
finish
