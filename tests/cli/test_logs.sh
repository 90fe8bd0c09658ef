#!/bin/sh
# sluice logs: the output of a run, without terminal control sequences.
# shellcheck disable=SC1091,SC2034,SC2154 # lib.sh and daemon.sh set home, id, root and tmp
. "$(dirname "$0")/lib.sh"
. "$here/daemon.sh"

run sluice logs web-1
exits 3 'no daemon: exit code'
start
printf 'one\n\033[31mtwo\033[0m\033]0;title\007\nthree\r\n\342\200\256four\377' >bytes
add --cwd "$tmp" -- sh -c 'cat bytes; echo wrong >&2'
ends "$id"
becomes "$id" 'done'
run sluice logs "$id"
exits 0 'logs: exit code'
printf 'one\ntwo\nthree\nfour\357\277\275' >clean
compare clean out 'without escapes'
run sluice logs --raw "$id"
compare bytes out '--raw: byte by byte'
run sluice logs --err "$id"
prints wrong '--err'
run sluice logs --both "$id"
compare clean out '--both: stdout'
says wrong '--both: stderr'
run sluice logs --tail 2 "$id"
printf 'three\nfour\357\277\275' >want
compare want out '--tail 2'
run sluice logs --tail 0 "$id"
[ "$code" = 0 ] && [ ! -s out ]
report $? '--tail 0'
run sluice logs --tail 99 "$id"
compare clean out '--tail of more than there is'
run sluice logs --follow --tail 1 "$id"
printf 'four\357\277\275' >want
compare want out '--follow of a run that has ended'
run sluice logs --err --json "$id"
prints "{\"task\":\"$id\",\"attempt\":1,\"stream\":\"err\",\"end\":6,\"text\":\"wrong\\n\"}" 'as JSON'
run sluice logs --raw --json "$id"
has '"text":"one\n' 'as JSON: valid whatever the bytes are'

# Lines from the end of a long log.
add -- awk 'BEGIN { for (i = 1; i <= 30000; i++) print "line number " i }'
ends "$id"
run sluice logs --tail 3 "$id"
prints 'line number 29998
line number 29999
line number 30000' 'the end of a long log'
run sluice logs --tail 20000 "$id"
[ "$(sed 1q out)" = 'line number 10001' ] && [ "$(wc -l <out)" = 20000 ]
report $? 'many lines of its end'
run sluice logs "$id"
rule 'all of it' [ "$(wc -l <out)" = 30000 ]

# Following waits for the start of the run and continues across a restart of the daemon.
mkfifo go again # one each: an early reader would read from the previous writer
add --hold --cwd "$tmp" -- sh -c 'echo a; read -r x <go; echo b; read -r x <again; echo c'
run sluice logs "$id"
exits 1 'not run yet: exit code'
says "sluice: '$id' has not run yet; --follow waits for it" 'not run yet'
"$SLUICE" logs --follow "$id" >out 2>err &
follower=$!
"$SLUICE" release "$id" >/dev/null
appears a out
echo x >go
appears b out
"$SLUICE" down >/dev/null 2>&1
"$SLUICE" up >/dev/null 2>&1
echo x >again
wait $follower
code=$?
exits 0 'following over a restart: exit code'
prints 'a
b
c' 'following over a restart: every line once'

# The command notices a closed pipe at once, not only with the next line.
mkfifo unread
add --cwd "$tmp" -- sh -c 'echo one; read -r _ <unread'
becomes "$id" running
timeout "$patience" sh -c '"$SLUICE" logs -f "$1" | head -n 1' - "$id" >first 2>err
[ $? = 0 ] && [ "$(cat first)" = one ] && [ ! -s err ]
report $? '--follow ends when nobody reads any more'
rule 'and the run goes on' [ "$(value "$id" state)" = running ]
timeout "$patience" sh -c 'echo >unread'
ends "$id"
add --hold -- true
rule 'also before the run has begun' timeout "$patience" sh -c '"$SLUICE" logs -f "$1" | true' - "$id"

# Attempts.
add --cwd "$tmp" --retries 0 -- sh -c 'echo $SLUICE_RUN'
ends "$id"
run sluice logs --attempt 1 "$id"
exits 0 'an attempt by its number'
run sluice logs --attempt 2 "$id"
exits 1 'no such attempt: exit code'
says "sluice: '$id' has no attempt 2" 'no such attempt'
run sluice logs --check "$id"
[ "$code" = 0 ] && [ ! -s out ]
report $? 'it had no checks'

# For an empty log, a message says where the output is, or why there is no output.
add --cwd "$tmp" --retries 0 -- sh -c 'echo oops >&2'
ends "$id"
run sluice logs "$id"
exits 0 'only stderr was written: exit code'
says "sluice: attempt 1 of '$id' wrote nothing to stdout; 'sluice logs --err $id' shows its stderr" \
    'only stderr was written'
run sluice logs -f "$id"
says "sluice: attempt 1 of '$id' wrote nothing to stdout; 'sluice logs --err $id' shows its stderr" \
    'only stderr was written, followed: said once'
run sluice logs --err "$id"
prints oops 'and there it is'
add --cwd "$tmp" -- ./no-such-program
becomes "$id" held
run sluice logs "$id"
rule 'what was never launched says why' grep -q "^sluice: attempt [0-9] of '$id' wrote nothing to stdout: cannot run './no-such-program'" err
add -- true
ends "$id"
run sluice logs "$id"
[ "$code" = 0 ] && [ ! -s out ] && [ ! -s err ]
report $? 'nothing at all, into a pipe: silence'
rm -r "$home/runs/$id"
for options in '' --both --err --tail=3 --json; do
    # shellcheck disable=SC2086 # one option or nothing
    run sluice logs $options "$id"
    exits 1 "a log that is gone is not an empty one: exit code ($options)"
    says "sluice: there is no log of attempt 1 of '$id' here; it was removed, or is with the host that ran it" \
        "and that is said ($options)"
done
run sluice logs --check "$id"
exits 0 'of checks that there were none'

# The tasks of a group, in the order of submission; tests/daemon/test_lists.sh has more.
add --group two --title first -- sh -c 'echo 1; echo wrong >&2'
first=$id
add --group two --title second -- printf 2
second=$id
ends "$first"
ends "$second"
becomes "$second" 'done'
becomes "$first" 'done'
run sluice logs --group two
prints "==> $first first <==
1

==> $second second <==
2" '--group: each with a header'
run sluice logs --err --group two
prints "==> $first first <==
wrong

==> $second second <==" '--group: the chosen log of each'
run sluice logs --json --group two
prints "{\"group\":\"two\",\"logs\":[{\"task\":\"$first\",\"title\":\"first\",\"state\":\"done\",\"stream\":\"out\",\"attempt\":1,\"end\":2,\"text\":\"1\\n\"},\
{\"task\":\"$second\",\"title\":\"second\",\"state\":\"done\",\"stream\":\"out\",\"attempt\":1,\"end\":1,\"text\":\"2\"}]}" '--group as JSON'
run sluice logs --follow --group two
sort out >lines
printf '%s\n' "$first: 1" "$second: 2" | sort >want
compare want lines '--follow --group: the id of the task before each line'
rm -r "$home/runs/$first"
run sluice logs --group two
exits 1 '--group: a log that is gone: exit code'
rule '--group: a log that is gone: the others are printed' grep -qx 2 out

bad() { # MESSAGE ARGS...
    want=$1
    shift
    run sluice logs "$@"
    exits 2 "logs $*: exit code"
    grep -qF -e "sluice: $want" err && [ ! -s out ]
    report $? "logs $*"
}
bad "'logs' needs the ID of a task, or --group NAME"
bad "only one of '--err', '--check', '--prepare' and '--both' can be used" --err --both x
bad "only one of '--err', '--check', '--prepare' and '--both' can be used" --check --prepare x
bad "option '--attempt': expected a whole number of at least 1, got '0'" --attempt 0 x
bad "option '--tail': expected a whole number of at least 0, got '-1'" --tail -1 x
bad "'--json' cannot be used when following a log or with several logs" --json --follow x
run sluice logs nothing-99
exits 1 'no such task: exit code'
rule 'no such task: one sentence' [ "$(wc -l <err)" = 1 ]
finish
