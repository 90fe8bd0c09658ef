#!/bin/sh
# Hostile objects in place of the files of a run: the daemon responds, restarts, and names the file in its message.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"
. "$here/odd.sh"

config "limits: {runs: 20}
retry: {failed: {max: 1, delay_s: 0, jitter: 0}, lost: {delay_s: 0}, launch: {delay_s: 0}, unfinished: {delay_s: 0}}
breaker: {max: 1, reset_s: never}
host: {disk_free_gb: 0}
loop: {feedback: prompt}
agents:
  pen: {command: [sh, -c, 'cat >$tmp/told; . $tmp/attack'], prompt: stdin}
projects: {pen: }"
mkfifo go
start
kinds='fifo link-fifo link-zero link-file socket sparse'
"$ODD_FILE" device "$tmp/device" 2>/dev/null && [ -r device ] && kinds="$kinds device"

# --- the attack works on other programs ------------------------------------------------------------

"$ODD_FILE" fifo "$tmp/fifo"
{ cat "$tmp/fifo" && echo read; } >"$tmp/read" &
reader=$!
unblock fifo # returns only because a reader is blocked in open()
wait $reader
rule 'a plain open waits until the other end of a FIFO is opened' grep -q read read
"$ODD_FILE" link-zero "$tmp/zero"
rule 'a plain read of a link to /dev/zero does not end by itself' [ "$(head -c 1000000 zero | wc -c)" = 1000000 ]

# --- the prompt ------------------------------------------------------------------------------------

for kind in $kinds; do
    attack "test \$SLUICE_ATTEMPT = 2 || { $tmp/odd $kind \"$home/tasks/\$SLUICE_TASK/iterations/001/prompt.md\"; exit 1; }"
    add -p pen --agent pen 'do it'
    rule "prompt.md is a $kind: it is replaced" becomes "$id" 'done'
    placed "prompt.md is a $kind"
    answers "prompt.md is a $kind"
done
text_of() { # FILE
    [ ! -f "$1" ] || head -c 100 "$1"
}
rule 'the prompt is a file again' [ "$(text_of "$home/tasks/$id/iterations/001/prompt.md")" = 'do it' ]
attack "test \$SLUICE_ATTEMPT = 2 || { $tmp/odd folder \"$home/tasks/\$SLUICE_TASK/iterations/001/prompt.md\"; exit 1; }"
add -p pen --agent pen 'do it'
settles
answers 'prompt.md is a directory'
names "iterations/001/prompt.md' is a directory, not a regular file" 'prompt.md is a directory: the launch fails, and says so'

# --- feedback --------------------------------------------------------------------------------------

for kind in $kinds; do
    attack "test \$SLUICE_ITERATION = 2 || { mkdir -p \"$home/tasks/\$SLUICE_TASK/iterations/002/artifacts\"
        $tmp/odd $kind \"$home/tasks/\$SLUICE_TASK/iterations/002/feedback.md\"; }"
    add -p pen --agent pen --until validate --check 'test $SLUICE_ITERATION = 2' 'do it'
    rule "feedback.md of the next iteration is a $kind: it is replaced" becomes "$id" 'done'
    placed "feedback.md of the next iteration is a $kind"
    answers "feedback.md of the next iteration is a $kind"
    rule "the next iteration is told what was wrong, not what a $kind holds" grep -q 'The check' told
done
for kind in $kinds folder; do
    attack "test \$SLUICE_ITERATION = 1 || { rm -f \"$home/tasks/\$SLUICE_TASK/iterations/002/feedback.md\"
        $tmp/odd $kind \"$home/tasks/\$SLUICE_TASK/iterations/002/feedback.md\"; kill -9 \$PPID; }"
    add -p pen --agent pen --until validate --check 'test $SLUICE_ITERATION = 2' 'do it'
    settles
    placed "feedback.md is a $kind when its iteration is retried"
    answers "feedback.md is a $kind when its iteration is retried"
    names "iterations/002/feedback.md' is" "feedback.md is a $kind: the launch fails, and says so"
done

# --- output of a run ---------------------------------------------------------------------------------

for kind in fifo link-fifo link-zero socket; do
    attack "$tmp/odd $kind \"$home/runs/\$SLUICE_TASK/\$SLUICE_ATTEMPT/out.log\"; exit 1"
    add -p pen --agent pen --until validate --check true 'do it'
    settles
    placed "out.log is a $kind"
    answers "out.log is a $kind"
    run sluice logs "$id"
    complains "out.log' is a" "out.log is a $kind: 'logs' says so"
    answers "out.log is a $kind that is asked for"
done
attack "$tmp/odd fifo \"$home/runs/\$SLUICE_TASK/\$SLUICE_ATTEMPT/check.log\""
add -p pen --agent pen --check true 'do it'
settles
placed 'check.log is a fifo'
answers 'check.log is a fifo'
rule 'check.log is a fifo: the shim does not wait for it, and replaces it' [ "$(value "$id" state)" = 'done' ]

# --- the lock of a run, its end, and a restart ---------------------------------------------------------

for kind in fifo link-fifo link-zero socket folder sparse; do
    add -- sh -c "test \$SLUICE_ATTEMPT = 1 || exit 0; rm -f \"$home/runs/\$SLUICE_TASK/1/lock\"
        $tmp/odd $kind \"$home/runs/\$SLUICE_TASK/1/lock\"; read -r _ <$tmp/go"
    soon [ -s placed ]
    placed "the lock of a run is a $kind"
    restarts "the lock of a run is a $kind"
    answers "the lock of a run is a $kind"
    "$SLUICE" cancel --now "$id" >/dev/null 2>&1
    settles
done
for kind in fifo link-zero sparse; do
    add -- sh -c "$tmp/odd $kind \"$home/runs/\$SLUICE_TASK/\$SLUICE_ATTEMPT/end.json\"; kill -9 \$PPID"
    settles
    placed "end.json is a $kind"
    answers "end.json is a $kind"
    rule "end.json is a $kind: the run is lost" [ "$(value "$id" state)" = failed ]
done

# The daemon creates run folders in advance.
add -- sh -c "for file in $home/runs/.spare/*/1/lock $home/runs/.spare/*/1/out.log; do $tmp/odd fifo \"\$file\"; done"
settles
placed 'run folders in stock have FIFOs'
for n in 1 2 3; do
    add -- true
    settles
    rule "run folders in stock have FIFOs: run $n is not disturbed" [ "$(value "$id" state)" = 'done' ]
done
answers 'run folders in stock have FIFOs'
restarts 'run folders in stock have FIFOs'

# --- messages ------------------------------------------------------------------------------------------

add --hold -- true
for kind in fifo link-fifo link-zero link-file socket folder; do
    mkdir -p "$home/bus"
    "$ODD_FILE" "$kind" "$home/bus/pen.md"
    run sluice bus post --project pen 'hello'
    complains "bus/pen.md' is a" "messages are in a $kind: 'bus post' says so"
    curl -s --unix-socket "$home/sluice.sock" 'http://x/v1/projects/pen/messages' >out
    has "bus/pen.md' is a" "messages are in a $kind: the daemon says so"
    answers "messages are in a $kind"
    rm -rf "$home/bus/pen.md"*
done
"$ODD_FILE" sparse "$home/bus/pen.md"
curl -s --unix-socket "$home/sluice.sock" 'http://x/v1/projects/pen/messages?cursor=m0' >out
has 'bytes without a message' 'messages are in a sparse file: the daemon does not read all of it'
answers 'messages are in a sparse file'
rm -f "$home/bus/pen.md"

# --- cards ---------------------------------------------------------------------------------------------

mkdir -p board/phase-1/backlog
printf -- '---\ntitle: a card\n---\nDo it.\n' >board/phase-1/backlog/good.md
"$ODD_FILE" fifo "$tmp/board/phase-1/backlog/bad.md"
attack ''
run sluice import cards --agent pen --project pen --mirror board
rule "a card is a FIFO: 'import' says so" grep -q "bad.md' is a FIFO" err
answers 'a card is a FIFO'
rm -f board/phase-1/backlog/*
for kind in fifo socket; do
    printf -- '---\ntitle: a card\n---\nDo it.\n' >board/phase-1/backlog/$kind.md
    attack "rm $tmp/board/phase-1/backlog/$kind.md; $tmp/odd $kind $tmp/board/phase-1/backlog/$kind.md"
    run sluice import cards --agent pen --project pen --mirror --json board
    id=$(sed -n 's/.*"id":"\(pen-[0-9]*\)".*/\1/p' out)
    settles
    placed "a card becomes a $kind"
    rule "a card becomes a $kind: the log says so" appears "$kind.md' is a" "$home/sluice.log"
    answers "a card becomes a $kind"
    rm -f board/phase-1/backlog/*
done

finish
