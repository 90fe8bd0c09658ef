#!/bin/sh
# Lists of inputs end to end: a hundred tasks run for real, and their output is collected in the order of the inputs.
# shellcheck disable=SC1083,SC1091,SC2016,SC2154 # kit.sh sets tmp, home and code; $1 is for the runs
. "$(dirname "$0")/kit.sh"
config 'limits.runs: 8
queue: {soft: unlimited, hard: 12000}
agents: {echo: {command: [cat]}}'
start

# Every input is one run; odd ones end later than even ones.
awk 'BEGIN { for (i = 1; i <= 100; i++) print "input " i " of \"100\" $HOME; `x`" }' >inputs
run sluice add --group hundred --title 'number {#}' -- printf '%s\n' {#} {} :::: inputs
exits 0 'a hundred inputs: exit code'
rule 'a hundred tasks' [ "$(wc -l <out)" = 100 ]
run sluice wait --group hundred
exits 0 'waiting for the group: exit code'
rule 'all are done' [ "$(grep -c ' is done$' out)" = 100 ]
awk '{ if (NR > 1) print ""; printf "==> t-%d number %d <==\n%d\n%s\n", NR, NR, NR, $0 }' inputs >want
run sluice logs --group hundred
exits 0 'logs of the group: exit code'
compare want out 'every output is there once, in the order of the inputs, with the input untouched'
run sluice logs --group hundred --tail 1
awk '{ if (NR > 1) print ""; printf "==> t-%d number %d <==\n%s\n", NR, NR, $0 }' inputs >want
compare want out '--tail: the end of each'
run sluice logs --group hundred --json
rule 'as JSON: a log for each' [ "$(grep -o '"text":"[0-9]*\\ninput' out | wc -l)" = 100 ]
run sluice logs --follow --group hundred
exits 0 'following runs that have ended: exit code'
awk '{ printf "t-%d: %d\nt-%d: %s\n", NR, NR, NR, $0 }' inputs | sort >want
sort out >sorted
compare want sorted 'following: every line once, with the id of its task'

# Following continues while tasks start and end, and across a restart of the daemon.
mkfifo go1 go2
"$SLUICE" add --group live --cwd "$tmp" -- sh -c 'echo "begin $1"; read -r word <"go$1"; printf "end $1"' sh ::: 1 2 >/dev/null 2>&1
"$SLUICE" logs --follow --group live >followed 2>followed.err &
follower=$!
appears 'begin 1' followed
appears 'begin 2' followed
unblock go1
appears 'end 1' followed
"$SLUICE" down >/dev/null 2>&1
"$SLUICE" up >/dev/null 2>&1
unblock go2
rule 'following ends with the last task' wait $follower
sed 's/^t-[0-9]*: //' followed | sort >"$tmp/out"
prints 'begin 1
begin 2
end 1
end 2' 'following over a restart: every line once'
timeout "$patience" sh -c '"$SLUICE" logs -f -g hundred | head -n 1' >"$tmp/out" 2>err
[ $? = 0 ] && [ "$(wc -l <out)" = 1 ] && [ ! -s err ]
report $? 'following ends when nobody reads any more'

# What is not done shows its state, and a task that has not run only its header.
run sluice add --group mixed --retries 0 --title 'ends with {}' -- sh -c 'printf "no line end"; exit "$1"' sh {} ::: 0 3
run sluice wait --group mixed
exits 1 'a task of the group has failed: exit code'
run sluice add --group mixed --hold --title held -- true ::: x
run sluice logs --group mixed
sed 's/t-[0-9]* //' out >seen
cat >want <<'END'
==> ends with 0 <==
no line end

==> ends with 3 (failed) <==
no line end

==> held (held) <==
END
compare want seen 'the state of what is not done; a header is a line of its own'
run sluice logs --group mixed --json
has '"title":"held","state":"held","stream":"out","attempt":null,"end":null,"text":null' 'as JSON: one that has not run'
run sluice wait --group mixed --timeout 1 --json
exits 1 'waiting: one that is held needs a person, and one has failed'
has '"timed_out":false' 'and it does not wait for the person'

# An agent gets each prompt, with its input.
run sluice add --group prompts --agent echo 'Look at {/} in {//}' ::: src/a.c lib/b.c
run sluice wait --group prompts
exits 0 'prompts: exit code'
run sluice logs --group prompts
rule 'an agent is given each prompt' [ "$(grep -c -x -e 'Look at a.c in src' -e 'Look at b.c in lib' out)" = 2 ]

# A run adds children in its own group: no other is made for them.
run sluice run --group family --title parent -- sh -c '"$1" add --agent echo "child {}" ::: a b' sh "$SLUICE"
exits 0 'a list inside a run: exit code'
rule 'its children are added' [ "$(grep -c '^t-[0-9]* ' out)" = 2 ]
run sluice wait --group family
exits 0 'they are in the group of the run'
rule 'and in no other' [ "$(grep -c ' is done$' out)" = 3 ]

# More than a request can have: several requests, and a refused one says what was added.
"$SLUICE" pause >/dev/null
awk 'BEGIN { for (i = 1; i <= 10500; i++) print i }' >many
before=$("$SLUICE" list --all --ids | wc -l)
run sluice add --json -- true :::: many
exits 0 'more than 10,000: exit code'
rule 'as JSON: one value with every id' [ "$(grep -o '"id":"t-[0-9]*"' out | sort -u | wc -l)" = 10500 ]
group=$(sed 's/.*"group":"\([^"]*\)".*/\1/' out)
run sluice list --group "$group" --all --ids
rule 'all are in one group' [ "$(wc -l <out)" = 10500 ]
run sluice wait --group "$group" --timeout 0
exits 5 'a group of many is waited for: exit code'
rule 'and each is reported' [ "$(wc -l <out)" = 10500 ]
run sluice add -- true :::: many
exits 4 'refused at once: exit code'
[ "$(wc -l <err)" = 1 ] && [ ! -s out ]
report $? 'refused at once: one message, nothing added'
run sluice config set queue.hard=20800
run sluice add -- true :::: many
exits 4 'the second request is refused: exit code'
rule 'it says what was added' grep -q '^sluice: the tasks of the inputs 1 to 10000 were added; those of the inputs 10001 to 10500 were not$' err
rule 'and prints their ids' [ "$(wc -l <out)" = 10000 ]
rule 'and nothing else was' [ "$("$SLUICE" list --all --ids | wc -l)" = $((before + 20500)) ]

bad() { # MESSAGE COMMAND ARGS...
    message=$1
    shift
    run sluice "$@"
    exits 2 "$*: exit code"
    complains "$message" "$*"
}
bad "'logs' needs the ID of a task, or --group NAME" logs
bad "'t-1' and '--group' cannot be used together" logs --group hundred t-1
bad "'--attempt' and '--group' cannot be used together" logs --group hundred --attempt 1
bad "'--tail' cannot be used with '--follow' and '--group'" logs --group hundred -f --tail 1
bad 'a name is empty' logs --group ''
bad "'t-1' and '--group' cannot be used together" wait --group hundred t-1
bad "'--any' the maximum is 256" wait --any --group "$group"
for command in logs 'logs -f' wait; do
    # shellcheck disable=SC2086 # a command and its option
    run sluice $command --group nothing
    exits 1 "$command: no such group: exit code"
    says "sluice: there is no group 'nothing'" "$command: no such group"
done
run sluice group add empty
run sluice logs --group empty
[ "$code" = 0 ] && [ ! -s out ]
report $? 'a group without tasks'
says "sluice: group 'empty' has no tasks" 'is said'
finish
