#!/bin/sh
# A successful result that cannot be merged for another reason than a conflict: the merge is retried, not the agent.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"
. "$here/repository.sh"

repository repo
repository other
git -C other branch release
cat >ask.sh <<'END'
echo "$1" >>"$2"
test ! -e "$3" || { echo 'the forge does not answer'; exit 3; }
END
config "limits: {runs: 8}
git: {retries: 1000, retry_s: 0.05}
retry: {failed: {max: 3, delay_s: 0}, lost: {delay_s: 0}}
projects:
  web: {path: $tmp/repo, workspace_mode: worktree, merge: direct}
  rel: {path: $tmp/other, workspace_mode: worktree, merge: direct, base_branch: release}
  ask: {path: $tmp/other, workspace_mode: worktree, merge: mr, mr_command: [sh, $tmp/ask.sh, '{id}', $tmp/asked, $tmp/down]}"
start

runs() {
    find "$home/runs/$1" -mindepth 1 -maxdepth 1 -name '[0-9]*' | wc -l
}
waits_to_try_again() {
    run sluice show "$1"
    grep -qF 'waits to try again' "$tmp/out"
}

# --- a temporary problem ---------------------------------------------------------------------------

: >repo/.git/index.lock
add -p web -- sh -c 'echo one >one'
rule 'a merge that fails without a conflict waits to be tried again' soon waits_to_try_again "$id"
has "waits to try again: git merge --ff-only: Unable to create '" "and show says what git said"
rule 'its run goes on meanwhile' [ "$(value "$id" phase)" = validating ]
rule 'the log says it, too' grep -qF "task '$id' could not be merged, 1000 more tries" "$home/sluice.log"
rm repo/.git/index.lock
rule 'and is merged when that is over' becomes "$id" 'done'
rule 'the agent ran once' [ "$(runs "$id")" = 1 ]
rule 'its work is in the base' [ "$(in_main repo one)" = one ]

: >other/.git/refs/heads/release.lock
add -p rel -- sh -c 'echo ref >ref'
soon waits_to_try_again "$id"
has 'waits to try again: git update-ref: ' 'a base that nobody has checked out and somebody has locked: the same'
rm other/.git/refs/heads/release.lock
becomes "$id" 'done'
rule 'and it is merged' [ "$(git -C other show release:ref)" = ref ]

: >down
add -p ask -- sh -c 'echo x >x'
soon waits_to_try_again "$id"
has 'projects.P.mr_command failed: the forge does not answer' 'a command that cannot ask for a merge is run again'
rm down
becomes "$id" 'done'
rule 'not the agent' [ "$(runs "$id")" = 1 ]
rule 'but the command' [ "$(grep -cx "$id" asked)" -ge 2 ]

# --- a permanent problem ---------------------------------------------------------------------------

"$SLUICE" config set git.retries=2 >/dev/null
: >repo/.git/index.lock
add -p web -- sh -c 'echo two >two'
becomes "$id" failed
rule 'after git.retries its task fails, with a reason of its own' [ "$(value "$id" reason)" = merge-failed ]
rule 'the agent ran once, though it may be retried' [ "$(runs "$id")" = 1 ]
run sluice show "$id"
has "not merged, tried 3 times: git merge --ff-only: Unable to create '" 'the run says why'
has "branch 'sluice/$id' is kept" 'and that its branch is kept'
rule 'which is so' [ "$(git -C repo show "sluice/$id:two")" = two ]
rule 'nothing is in the base' [ -z "$(in_main repo two)" ]
run sluice events --json
has '"result":"unmerged"' 'an event has it'
rm repo/.git/index.lock
run sluice retry "$id"
becomes "$id" 'done'
rule 'a retry merges it' [ "$(in_main repo two)" = two ]

# --- other tasks, commands, restarts ---------------------------------------------------------------

"$SLUICE" config set git.retries=1000 >/dev/null
: >down
add -p ask -- sh -c 'echo x >y'
stuck=$id
soon waits_to_try_again "$stuck"
add -p rel -- sh -c 'echo beside >beside'
rule 'others merge in the same repository meanwhile' becomes "$id" 'done'
soon waits_to_try_again "$stuck"
run sluice cancel "$stuck"
rule 'what waits to be merged can be canceled' becomes "$stuck" canceled
rm down

: >repo/.git/index.lock
add -p web -- sh -c 'echo three >three'
soon waits_to_try_again "$id"
crash
rm repo/.git/index.lock
start
becomes "$id" 'done'
rule 'a restart begins the merge again, and not the agent' [ "$(runs "$id") $(in_main repo three)" = '1 three' ]
finish
