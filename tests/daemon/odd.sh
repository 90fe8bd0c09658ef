# odd.sh: hostile things in the places of files, and a daemon that must not mind. Read after kit.sh.
#
# A FIFO blocks a plain open until its other end is opened, which never happens here. A link leads to a FIFO, to a
# device that never ends, or to a file of another user; a sparse file is larger than can be read.
#
#   $ODD_FILE KIND PATH           puts one there (tests/harness/odd_file.c)
#   $tmp/odd KIND PATH            the same for a command of a task: it notes that it was done
#   placed 'what'                 it was done since the last time
#   attack 'COMMANDS'             what the agent `pen` does after it has read its prompt
#   answers 'what'                the daemon answers
#   restarts 'what'               it is killed, and the next one starts
#   stop_hard                     it is killed
#   settles                       until the task $id has ended, or is held
#   names TEXT 'what'             `show` of the task $id has the text
# shellcheck shell=sh disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; the tests use the others

: "${ODD_FILE:?is not set: ODD_FILE=build/tests/harness/odd_file $0}"
case $ODD_FILE in
/*) ;;
*) ODD_FILE=$OLDPWD/$ODD_FILE ;;
esac

cat >odd <<END
#!/bin/sh
"$ODD_FILE" "\$1" "\$2" && echo "\$1 \$2" >>"$tmp/placed"
END
chmod +x odd
placed() {
    rule "$1: it was put there" [ -s "$tmp/placed" ]
    rm -f "$tmp/placed"
}

# A daemon that does not answer must not stop the test either.
value() {
    timeout "$patience" "$SLUICE" show --json "$1" 2>/dev/null | first "$2"
}

# The daemon answers. If it does not, it is killed, so that the other tests have one.
answers() {
    run sluice status
    report "$code" "$1: the daemon answers"
    [ "$code" = 0 ] || revive
}
revive() {
    kill -9 "$(cat "$home/sluice.lock")"
    find "$home" "$tmp" -type p ! -path "$tmp/go" -exec rm -f {} +
    forget_store
    rm -rf "$home/runs" "$home/tasks" "$home/worktrees" "$home/bus"
    start
}
stop_hard() {
    daemon=$(cat "$home/sluice.lock")
    kill -9 "$daemon"
    is_gone "$daemon"
}
restarts() {
    stop_hard
    run sluice up
    report "$code" "$1: the daemon starts again"
    [ "$code" = 0 ] || revive
}
names() {
    run sluice show "$id"
    has "$1" "$2"
}
settles() {
    soon ended "$id" || report 1 "$id ends"
}
ended() {
    case $(value "$1" state) in
    done | failed | canceled | held) ;;
    *) return 1 ;;
    esac
}
attack() {
    printf '%s\n' "$1" >"$tmp/attack"
}
