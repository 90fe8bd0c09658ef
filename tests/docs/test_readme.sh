#!/bin/sh
# README.md: the first agent task, a command, and three tasks for the night.
# shellcheck disable=SC1091,SC2154 # kit.sh sets log
. "$(dirname "$0")/kit.sh"
document README.md
repository "$HOME/src/web"
agents_can_log
merged() {
    "$SLUICE" merge web-1 >/dev/null
    rule 'the first change can be merged' [ "$(git -C "$HOME/src/web" show HEAD:README.md)" = 'Run the tests with make test.' ]
}
after 'sluice wait web-1' merged
before 'sluice digest' drained
play
says_that 'sluice doctor' 'agent claude'
says_that 'sluice wait web-1' '+Run the tests with make test.'
prompted 'Say in the README how to run the tests.' 'the first task'
are 'done' web-1 web-3 web-4 web-5
for id in web-3 web-4 web-5; do
    rule "the branch of $id has its work" [ "$(git -C "$HOME/src/web" log -1 --format=%s "sluice/$id")" = "work of $id.1" ]
done
says_that 'sluice digest' 'web-5'
played
