#!/bin/sh
# sluice pick: picks a candidate of a task. daemon_best_of has the rules.
# shellcheck disable=SC2154 # lib.sh and daemon.sh set home, id, root and tmp
. "$(dirname "$0")/lib.sh"
. "$here/daemon.sh"
needs git
git init -q -b main repo
git -C repo -c user.name=T -c user.email=t@localhost commit -q --allow-empty -m begin
config "projects: {web: {path: '$tmp/repo', workspace_mode: worktree}}"
start
add --project web --cwd - --best-of 2 -- sh -c 'echo x >x'
run sluice wait web-1
run sluice pick web-1 web-2 --json
exits 0 'pick: exit code'
has '"picked":"web-2"' 'pick --json'
rule 'the task is done' [ "$(value web-1 state)" = 'done' ]
run sluice pick web-1 web-3
exits 4 'another pick: exit code'

# Bad input: one error message, and no change.
run sluice pick web-1 web-9
exits 1 'no such candidate: exit code'
run sluice pick web-1
exits 2 'no candidate: exit code'
says "sluice: 'pick' needs 2 arguments
usage: sluice pick [--reason TEXT] ID CANDIDATE" 'no candidate'
run sluice pick web-1 ''
exits 2 'an empty candidate: exit code'
finish
