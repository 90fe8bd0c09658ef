#!/bin/sh
# sluice best: compares the candidates of a task. daemon_best_of has the rules.
# shellcheck disable=SC2154 # lib.sh and daemon.sh set home, id, root and tmp
. "$(dirname "$0")/lib.sh"
. "$here/daemon.sh"
needs git
git init -q -b main repo
git -C repo -c user.name=T -c user.email=t@localhost commit -q --allow-empty -m begin
config "projects: {web: {path: '$tmp/repo', workspace_mode: worktree}}"
start
add --project web --cwd - --best-of 2 -- sh -c 'echo x >"x"'
becomes web-1 held
run sluice wait web-1
run sluice best web-1
exits 0 'best: exit code'
prints '  CANDIDATE  AGENT  STATE  CHECKS  TOKENS  COST  CHANGES        MESSAGE
  web-2      -      done   passed       0     -  1 file, +1 -0  -
  web-3      -      done   passed       0     -  1 file, +1 -0  -
total: 0 tokens, $0.00' 'best'
run sluice best --diff web-1
has '
web-3:
diff --git a/x b/x' 'best --diff has the changes of each'
run sluice best --json web-1
has '"candidates":[{"id":"web-2"' 'best --json'

# Bad input: one error message, and no change.
run sluice best web-9
exits 1 'no such task: exit code'
run sluice best
exits 2 'no task: exit code'
says "sluice: 'best' needs 1 argument
usage: sluice best [--diff] ID" 'no task'
finish
