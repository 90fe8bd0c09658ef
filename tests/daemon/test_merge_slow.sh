#!/bin/sh
# A merge into a checkout may take longer than git.timeout_s: killed halfway, it would leave files half updated.
# shellcheck disable=SC1091,SC2154 # kit.sh sets home, id and tmp
. "$(dirname "$0")/kit.sh"
. "$here/repository.sh"

repository repo
repository other
config "limits: {runs: 8}
git: {timeout_s: 1, retries: 0}
retry: {failed: {max: 0}}
projects:
  web: {path: $tmp/repo, workspace_mode: worktree, merge: direct}
  rel: {path: $tmp/other, workspace_mode: worktree}"
clock_git
start

echo 'before merge --ff-only' >stop
add -p web -- sh -c 'echo new >new'
merged=$id
stops 'the merge'

# Another command of git begins later and is ended by its time: so the time of the merge is over, too.
rm -f stopped
echo 'before worktree add' >stop
add -p rel -- true
stops 'the worktree'
is_ended_by_its_time() {
    run sluice show "$id"
    grep -qF 'longer than git.timeout_s' "$tmp/out"
}
rule 'a command that makes a worktree is ended by git.timeout_s' soon is_ended_by_its_time
rule 'the merge is not' [ "$(value "$merged" phase)" = validating ]
unblock continue
rule 'it is merged when git is done' becomes "$merged" 'done'
rule 'with the files of the checkout' [ "$(cat repo/new)" = new ]
rule 'and nothing else in them' [ -z "$(git -C repo status --porcelain)" ]
finish
