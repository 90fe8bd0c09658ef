#!/bin/sh
# docs/guide/overnight.md: three tasks hit the rate limit of the plan, and are done in the morning.
# shellcheck disable=SC1091,SC2154 # kit.sh sets log
. "$(dirname "$0")/kit.sh"
document docs/guide/overnight.md
repository "$HOME/src/web"
agents_can_log
: >"$log/limit"

limited() {
    [ "$("$SLUICE" limiter list --json | first state)-$(task_count starting,running)" = backoff-0 ]
}
# Agents wait until all three are at work, so that each of them meets the limit.
mkfifo "$log/gate"
all_run() {
    [ "$(task_count running)" = 3 ]
}
sleeping() {
    soon all_run
    exec 9<>"$log/gate" # stays open: an agent that saw the end of the file would not take its line
    printf '\n\n\n' >&9
    soon limited
    exec 9>&-
    rm "$log/gate"
}
# `limiter clear` stands for the end of the hour.
morning() {
    rm "$log/limit"
    "$SLUICE" limiter clear claude >/dev/null
    drained
}
before 'sluice status' sleeping
before 'sluice list --all' morning
play
says_that 'sluice status' 'claude'
says_that 'sluice logs -f web-1' "hit your 5-hour limit"
says_that 'sluice why web-2' "account 'claude' is rate limited"
are 'done' web-1 web-2 web-3
says_that 'sluice list --all' 'web-3'
says_that 'sluice show web-1' 'limited, exit code 1'
says_that 'sluice show web-1' 'resumed'
says_that "git -C ~/src/web branch --list 'sluice/*'" sluice/web-2
says_that 'sluice diff web-1' 'web-1'
says_that 'sluice merge web-1' "web-1 merged into '"
for id in web-1 web-2 web-3; do
    rule "$id took two runs and no retry" [ "$(value $id attempt)-$(value $id failures)" = 2-0 ]
    grep "^$id.1 " "$log/argv" | grep -qE -e '--allowedTools=Bash'
    report $? "$id may run commands"
    session=$("$SLUICE" show --json $id | first session)
    grep "^$id.2 " "$log/argv" | grep -qF -e "--resume $session"
    report $? "$id resumed its session"
    branch=sluice/$id
    [ $id != web-1 ] || branch=HEAD # merged
    rule "the branch of $id has its work" [ "$(git -C "$HOME/src/web" log -1 --format=%s "$branch")" = "work of $id.2" ]
    rule "$id continued in its worktree" [ "$(cat "$log/$id.1.cwd")" = "$(cat "$log/$id.2.cwd")" ]
done
prompted 'Make the tests of the parser pass.' 'the first task'
prompted 'Write the missing pages of the manual.' 'the second task'
prompted 'Find out why the start takes two seconds' 'the third task'
played
