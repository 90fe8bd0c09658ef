#!/bin/sh
# sluice add with lists of inputs (:::), and the output of a group: what is typed, what is added, what is refused.
# shellcheck disable=SC1083,SC1091,SC2016,SC2034,SC2154 # lib.sh and daemon.sh set home, id, root and tmp; {} and $ are for sluice
. "$(dirname "$0")/lib.sh"
. "$here/daemon.sh"
config 'agents: {echo: {command: [cat]}}
projects: {web: {prefix: web}}'

expands() { # RESULT 'what' ARGS...: what a dry run prints
    want=$1
    what=$2
    shift 2
    run sluice add --dry-run "$@"
    prints "$want" "$what"
}

# A dry run starts no daemon.
run sluice add --dry-run -- echo {} ::: a 'b c'
exits 0 'a dry run without a daemon: exit code'
prints "new: echo a
new: echo 'b c'" 'a dry run prints what would be added'
says 'sluice: no daemon is running: the tasks were not checked' 'and says that nothing has checked it'
run sluice list
exits 3 'and starts no daemon'
run sluice add --dry-run -- echo "it's" ''
prints "new: echo 'it'\\''s' ''" 'a dry run of a single task'
printf -- '- run: make\n- {kind: epic, title: An epic}\n' >two.yaml
expands 'new: sh -c make
new: An epic' 'a dry run of a file' --file two.yaml
start

# Lists and placeholders. tests/unit/test_cli_inputs.c has all of them.
expands 'new: convert d/a.svg d/a.png a d 1
new: convert b.svg b.png b . 2' 'placeholders' -- convert {} {.}.png {/.} {//} {#} ::: d/a.svg b.svg
expands 'new: echo -n a
new: echo -n --json' 'without a placeholder the input is the last argument; everything behind ::: is an input' -- echo -n ::: a --json
expands 'new: echo a x
new: echo a y
new: echo b x
new: echo b y' 'several lists: every combination, an argument of each' -- echo ::: a b ::: x y
expands 'new: cp a x
new: cp b y' 'linked lists' -- cp {1} {2} ::: a b :::+ x y
expands "new: echo 'all: a x' a x" 'all inputs: in a word, and as words' -- echo 'all: {}' {} ::: a ::: x
expands 'new: echo '\''${1}'\'' '\''{a}'\'' x' 'other braces stay' -- echo '${1}' '{a}' ::: x
expands "new: sh -c 'echo \"\$1\"' sh '; rm -rf /'" 'an input is never code' -- sh -c 'echo "$1"' sh {} ::: '; rm -rf /'
printf 'one\r\n\ntwo words\n' >list
expands "new: echo one
new: echo 'two words'" 'a file: a line each, without empty ones' -- echo :::: list
expands "new: echo one
new: echo 'two words'" '--arg-file' --arg-file list -- echo
printf 'x\ny\n' >other
printf 'one\n' >short
expands 'new: echo one x
new: echo one y' 'each file is a list of its own' -- echo :::: short other
expands 'new: echo one x' 'linked files' -- echo :::: short ::::+ other
says 'sluice: linked lists differ in length: 1 input is not used' 'an input without a partner is not lost silently'
printf 'a\nb\0c\0' >nul
run sluice add --dry-run --json --null -- echo :::: nul
prints "{\"tasks\":[{\"argv\":[\"echo\",\"a\\nb\"],\"cwd\":\"$tmp\"},{\"argv\":[\"echo\",\"c\"],\"cwd\":\"$tmp\"}]}" \
    '--null: inputs may have line ends; a dry run as JSON is a file of tasks'
cp out tasks.json
run sluice add --file tasks.json --draft
rule 'which can be added' [ "$(grep -c ' draft$' out)" = 2 ]

# Prompts.
expands 'new: echo: Translate a.md to German
new: echo: Translate b.md to German' 'a prompt' --agent echo 'Translate {} to German' ::: a.md b.md
expands 'new: echo: fix this: a.c
new: echo: fix this: b.c' 'a prompt without a placeholder' --agent echo fix this: ::: a.c b.c
expands 'new: echo: fix a
new: echo: fix b' 'the inputs are the prompts' --agent echo ::: 'fix a' 'fix b'
expands 'new: echo: do a' '--prompt' --agent echo --prompt 'do {}' ::: a
expands 'new: echo: do it a' '--prompt without a placeholder' --agent echo --prompt 'do it' ::: a
echo 'Review {/} of {//}.' >prompt.md
expands 'new: echo: Review a.c of src. ' '--prompt-file is expanded' --agent echo --prompt-file prompt.md ::: src/a.c
echo 'other prompt' >a.txt
expands 'new: echo: other prompt ' 'the path of a prompt file, too' --agent echo --prompt-file {}.txt ::: a

# Options of the task.
mkdir d
run sluice add --json --draft --project web --title 'T {#}: {1/}' --cwd {1//} --env 'FILE={}' --priority {2} --external-id 'card-{#}' -- make all ::: d/a ::: 7
exits 0 'options: exit code'
id=$(first id <out)
run sluice show --json "$id"
for member in '"title":"T 1: a"' "\"cwd\":\"$tmp/d\"" '"priority":7' '"external_id":"card-1"' '"argv":["make","all"]'; do
    has "$member" "an option is expanded before it is read: $member"
done
run sluice add --json --draft --title 'T {}' -- make ::: a
id=$(first id <out)
run sluice show --json "$id"
has '"argv":["make","a"]' 'a title is only a label: the input is the last argument'
run sluice add --draft --cwd nowhere/{} -- true ::: a b
says "sluice: 2 folders do not exist yet, 'nowhere/a' and others; their tasks cannot start without them
sluice: group group-3; 'sluice logs --group group-3' prints their output" 'folders that are missing are one warning'

# The group.
run sluice add --draft -- echo ::: a b
exits 0 'a list is added: exit code'
rule 'a line for each task' [ "$(grep -c ' draft$' out)" = 2 ]
group=$(sed -n "s/^sluice: group \([^;]*\); 'sluice logs --group .*' prints their output\$/\1/p" err)
run sluice list --group "$group" --ids --all
rule 'they are in a group of their own, which is printed' [ "$(wc -l <out)" = 2 ]
run sluice add --json --draft -- echo ::: a b
has "\"group\":\"group-$((${group#group-} + 1))\"" 'as JSON: the group'
rule 'as JSON: an id each' [ "$(grep -o '"id":"t-[0-9]*"' out | wc -l)" = 2 ]
[ ! -s err ]
report $? 'as JSON: no message'
run sluice add --draft --group mine -- echo ::: a b
[ "$code" = 0 ] && [ ! -s err ]
report $? '--group names it'
run sluice list --group mine --ids --all
rule 'and all of them are in it' [ "$(wc -l <out)" = 2 ]

# As JSON, the group and --draft are part of the file, and --force is not.
run sluice add --dry-run --json --force --draft --group mine -- true ::: a
prints "{\"tasks\":[{\"argv\":[\"true\",\"a\"],\"cwd\":\"$tmp\"}],\"group\":\"mine\",\"draft\":true}" 'a dry run as JSON: options of the batch'

# Nothing to add.
for list in ':::' ':::: /dev/null' '::: a ::: ' ':::: -'; do
    # shellcheck disable=SC2086 # words
    run sluice add -- echo $list </dev/null
    exits 0 "an empty list ($list): exit code"
    [ "$(wc -l <err)" = 1 ] && [ ! -s out ] && grep -q "^sluice: no inputs in '.*': nothing was added$" err
    report $? "an empty list ($list) is said"
done
run sluice add --json -- echo ::: </dev/null
prints '{"tasks":[],"group":null}' 'an empty list as JSON'

# Bad input: one message, and nothing is added.
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
bad 2 "'{2}' takes an input of list 2, and there is 1" -- echo {2} ::: a
bad 2 "'{%}' is not a placeholder; there are {} {.} {/} {//} {/.} {#} {1}" -- echo {%} ::: a
bad 2 "option '--title': '{..}' is not a placeholder" --title '{..}' -- echo ::: a
bad 2 "':::+' is linked to the list before it; there is none" -- echo :::+ a
bad 2 "'::::' needs a file; '-' is standard input" -- echo ::::
bad 2 "cannot open 'missing'" -- echo :::: missing
bad 2 'standard input can be only one list' -- echo :::: - -
bad 2 'standard input is a list; it cannot be the prompt, too' --agent echo --prompt-file - :::: other -
bad 2 "there is no command to run; to run each input as a shell command, write '-- sh -c {}' before the list" ::: a
bad 2 "line 2 of 'nul' has a NUL byte; --null reads inputs that are separated by NUL" -- echo :::: nul
bad 2 "line 2 of 'list' is empty; remove it" -- echo :::: list ::::+ other
bad 2 "'--null' needs a list of inputs" --null -- echo
bad 2 "input 2 ('x'): option '--priority': expected a whole number" --priority {} -- echo ::: 1 x
run sluice add --title {} -- echo ::: a 'b
c'
exits 2 'a line end in a title: exit code'
rule 'a line end in a title' grep -q "^sluice: input 2 ('b c'): option '--title': expected one line" err
bad 2 "the prompt is given with '--prompt'" --agent echo --prompt x words ::: a
bad 2 "'--prompt' and '--prompt-file' cannot be used together" --agent echo --prompt x --prompt-file prompt.md ::: a
bad 2 'lists of inputs cannot be used with --file' --file tasks.yaml --arg-file list
bad 2 "unexpected argument ':::' with --file" --file tasks.yaml ::: a
bad 2 "there is no project 'nowhere'; 'sluice project add nowhere' makes it" --project nowhere -- echo ::: a b
bad 2 "task 2: there is no agent 'nobody'" --agent {} hello ::: echo nobody
awk 'BEGIN { for (i = 0; i < 1001; i++) print i }' >thousand
bad 2 'the lists make more than 1000000 tasks, the maximum' -- echo :::: thousand thousand
run sluice add -- echo {} ::: "$(printf 'a\377')"
exits 2 'an input that is not UTF-8'
rule 'nothing was added' [ "$("$SLUICE" list --all --ids | wc -l)" = "$before" ]
run sluice run -- echo ::: a b
exits 2 'run: exit code'
grep -q "^sluice: 'run' follows one task; use 'sluice add' for lists of inputs (:::)" err
report $? "'run' takes no lists"
run sluice add --dry-run --project nowhere -- echo ::: a
exits 2 'a dry run is checked by the daemon'
run sluice add --dry-run --project web --external-id card-1 -- echo ::: a
rule 'a dry run tells what already exists' grep -q '^web-[0-9]* already: draft$' out
rule 'and adds nothing' [ "$("$SLUICE" list --all --ids | wc -l)" = "$before" ]
finish
