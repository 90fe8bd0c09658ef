# odd.sh: hostile objects in place of files, which must not affect the daemon. Source it after kit.sh.
#
# A FIFO blocks open() until its other end is opened, which never happens here. A link points to a FIFO, to an endless
# device, or to a file of another user; a sparse file is too large to read.
#
#   $ODD_FILE KIND PATH           creates such an object (tests/harness/odd_file.c)
#   $tmp/odd KIND PATH            the same for the command of a task; also records that it was done
#   placed 'what'                 asserts that it was done since the last time
#   attack 'COMMANDS'             sets the commands of the agent `pen`, run after it has read its prompt
#   answers 'what'                asserts that the daemon responds
#   restarts 'what'               kills the daemon and asserts that the next one starts
#   stop_hard                     kills the daemon
#   settles                       waits until the task $id has ended or is held
#   names TEXT 'what'             asserts that `show` of the task $id has the text
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

# With a timeout: a daemon that does not respond must not block the test.
value() {
    timeout "$patience" "$SLUICE" show --json "$1" 2>/dev/null | first "$2"
}

# Asserts that the daemon responds. If not, kills it, so that the following cases have a working one.
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
