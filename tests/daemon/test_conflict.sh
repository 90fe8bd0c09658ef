#!/bin/sh
# on_conflict: iterate. Work that conflicts with its base branch is repaired by the next iteration, in the same session, then
# merged. test_conflict_crashes.sh kills the daemon at every step of it.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"
. "$here/repository.sh"
. "$here/player.sh"

repository repo
config "limits: {runs: 4}
git: {retries: 0}
retry: {failed: {max: 0}, lost: {delay_s: 0}, unfinished: {max: 3, delay_s: 0}}
runaway: {pause_s: 0}
$(player_agents)
projects:
  web: {path: $tmp/repo, workspace_mode: worktree, merge: direct, on_conflict: iterate}
  old: {path: $tmp/repo, workspace_mode: worktree, merge: direct}
  loc: {path: $tmp/repo, workspace_mode: worktree, merge: local, on_conflict: iterate}
  bare: {path: $tmp/repo}"
start
mkfifo go

# A task of agent claude whose first attempt changes `file`, while main changes it, too.
conflicting() { # PROJECT MAIN'S TEXT ARGUMENTS OF ADD...
    project=$1 theirs=$2
    shift 2
    adding --project "$project" --agent claude --title 'a change' "$@" 'change the file'
    plays 1 'echo mine >file; git commit -qam "change the file"; echo more >more.$SLUICE_TASK; git add .; git commit -qm "one more file"'
    plays 1 "echo ready; read -r _ <'$tmp/go'"
    released
    appears ready "$home/runs/$id/1/out.log"
    commit repo file "$theirs"
    unblock go
}
resolves='grep -q "^<<<<<<< HEAD" file || exit 9; { echo mine; git show MERGE_HEAD:file; } >file'

# --- a conflict is repaired, in the same session ---------------------------------------------------------------

adding --project web --agent claude --title 'a change' 'change the file'
plays 1 "echo mine >file; git commit -qam 'change the file'; echo new >new; echo ready; read -r _ <'$tmp/go'"
plays 2 'git status >"$run.status"; cp file "$run.file"; '"$resolves"
released
appears ready "$home/runs/$id/1/out.log"
commit repo file theirs
unblock go
becomes "$id" 'done'
session=$("$SLUICE" show --json "$id" | first session)
rule 'both changes are in the base branch' [ "$(in_main repo file)" = "mine
theirs" ]
rule 'and what did not conflict' [ "$(in_main repo new)" = new ]
rule 'history stays a line' [ "$(git -C repo rev-list --merges --count main)" = 0 ]
rule 'the work is one commit on the new base' [ "$(git -C repo log --format=%s main)" = 'a change
file: theirs
begin' ]
rule 'which names the commits it is made of' sh -c "git -C repo log -1 --format=%b main | grep -qxF -e '- change the file'"
rule 'the checkout of the owner is clean' [ -z "$(git -C repo status --porcelain)" ]
rule 'the second run was in the same session' grep -qF -e "--resume $session" "plays/$id.2.argv"
rule 'its prompt has the file' grep -qxF -e '- file' "plays/$id.2.prompt"
rule 'the commits of the other side' grep -q -e '^- [0-9a-f]* file: theirs$' "plays/$id.2.prompt"
rule 'and its own' grep -q -e '^- [0-9a-f]* change the file$' "plays/$id.2.prompt"
rule 'but not its task, which the session has' not grep -qxF 'change the file' "plays/$id.2.prompt"
rule 'the agent found a merge in progress' grep -qF 'You have unmerged paths' "plays/$id.2.status"
rule 'with both sides and what was there before' [ "$(grep -c -e '^<<<<<<< HEAD' -e '^||||||| ' -e '^>>>>>>> ' "plays/$id.2.file")" = 3 ]
rule 'it was one iteration more, and no failure' [ "$(value "$id" iteration) $(value "$id" failures) $(value "$id" restarts)" = '2 0 0' ]
run sluice show "$id"
has "conflicts with 'main' in file" 'show has the conflict of the first run'
has "merged into 'main' at " 'and the merge of the second'
run sluice events --json --limit 100
has '"outcome":"conflict"' 'an event has the outcome of the first run'
has '"result":"conflict"' 'and that of its merge'
disappears "$home/worktrees/$id.json"

# --- an agent that commits, and one that finds another conflict -------------------------------------------------

conflicting web once
plays 2 "$resolves; git add file; git commit -qm resolved; echo again >second; echo ready; read -r _ <'$tmp/go'"
plays 3 "$resolves"
appears ready "$home/runs/$id/2/out.log"
commit repo file twice
unblock go
becomes "$id" 'done'
rule 'a second conflict is repaired, too' [ "$(in_main repo file)" = "mine
twice" ]
rule 'with all that was done before' [ "$(in_main repo second)$(in_main repo "more.$id")" = againmore ]
rule 'in three iterations' [ "$(value "$id" iteration)" = 3 ]
rule 'and history stays a line' [ "$(git -C repo rev-list --merges --count main)" = 0 ]

# --- a repaired branch whose base has moved without a conflict --------------------------------------------------

conflicting web moved
plays 2 "$resolves; echo ready; read -r _ <'$tmp/go'"
appears ready "$home/runs/$id/2/out.log"
commit repo elsewhere yes
unblock go
becomes "$id" 'done'
rule 'a repaired conflict does not come back when the base moves on' [ "$(value "$id" iteration)" = 2 ]
rule 'and it is merged' [ "$(in_main repo file)" = "mine
moved" ]

# --- conflicts that are not resolved ----------------------------------------------------------------------------

conflicting web markers
plays 2 'git add file; git commit -qm "looks good"'
plays 3 '{ echo mine; echo markers; } >file'
becomes "$id" 'done'
rule 'conflict markers are not merged' [ "$(in_main repo file)" = "mine
markers" ]
rule 'the next iteration is told where they are' grep -qF 'These files still have conflict markers' "plays/$id.3.prompt"
rule 'in the same session' grep -qF -e '--resume' "plays/$id.3.argv"
rule 'no commit of the base branch has any' [ -z "$(git -C repo log -S'<<<<<<<' --format=%h main)" ]

conflicting web endless
task=$id
plays 2 'git merge --abort'
plays 3 true
plays 4 'git reset -q --hard'
becomes "$task" failed
rule 'a conflict that is never resolved ends with the restarts' [ "$(value "$task" attempt) $(value "$task" reason)" = '4 merge-conflict' ]
rule 'the branch has the work' [ "$(git -C repo show "sluice/$task:file")" = mine ]
rule 'the base branch is as it was' [ "$(in_main repo file)" = endless ]
run sluice why "$task"
has "its last run: conflicts with 'main' in file" 'why has the conflict'
plays 5 "$resolves"
run sluice retry "$task"
becomes "$task" 'done'
rule 'a retry repairs it, in the same session' grep -qF -e '--resume' "plays/$task.5.argv"
rule 'and it is merged' [ "$(in_main repo file)" = "mine
endless" ]

conflicting web by-hand
task=$id
plays 2 true
plays 3 true
plays 4 true
becomes "$task" failed
run sluice merge "$task"
exits 4 'conflict markers are not merged on request'
has "conflict markers of 'main' are left in file" 'and the message names the files'
printf 'mine\nby-hand\n' >"$home/worktrees/$task/file"
run sluice merge "$task"
exits 0 'a person resolves it in the worktree'
rule 'and merges it' [ "$(in_main repo file)" = "mine
by-hand" ]

# --- what is shown before the repair ----------------------------------------------------------------------------

iterates() {
    [ "$(value "$1" iteration)" = 2 ]
}
conflicting_paused() {
    adding --project web --agent claude 'change the file'
    plays 1 "echo mine >file; echo ready; read -r _ <'$tmp/go'"
    plays 2 "$resolves; echo ready; read -r _ <'$tmp/go'"
    released
    appears ready "$home/runs/$id/1/out.log"
    commit repo other "$1"
    commit repo file "$1"
    run sluice pause web
    unblock go
    soon iterates "$id"
}
conflicting_paused shown
run sluice why "$id"
has "its last run: conflicts with 'main' in file" 'why has the conflict'
run sluice show "$id"
has 'its next run repairs it' 'show says what follows'
run sluice show --json "$id"
has "\"on_conflict\":\"iterate\",\"conflict\":\"$(git -C repo rev-parse main)\"" 'JSON has the commit'
run sluice events --json --limit 20
has "\"iterates\":true,\"commit\":\"$(git -C repo rev-parse main)\"" 'so has the event'
rule 'the worktree is clean until then' [ -z "$(git -C "$home/worktrees/$id" status --porcelain)" ]
run sluice resume web
appears ready "$home/runs/$id/2/out.log"
run sluice show "$id"
has 'this run repairs it' 'while it works, too'
run sluice diff --stat "$id"
has file 'its diff has its own change'
rule 'and not what came with the base branch' not grep -q other out
unblock go
becomes "$id" 'done'

# --- on_conflict: fail ------------------------------------------------------------------------------------------

conflicting old failing
becomes "$id" failed
rule 'without on_conflict the task fails' [ "$(value "$id" attempt) $(value "$id" reason)" = '1 merge-conflict' ]
rule 'and its worktree is clean' [ -z "$(git -C "$home/worktrees/$id" status --porcelain)" ]
plays 2 "$resolves"
run sluice retry "$id"
becomes "$id" 'done'
rule 'a retry finds the conflict in its worktree' [ "$(in_main repo file)" = "mine
failing" ]
rule 'and in its prompt' grep -qxF -e '- file' "plays/$id.2.prompt"
conflicting old member --on-conflict iterate
plays 2 "$resolves"
becomes "$id" 'done'
rule 'the member of the task wins' [ "$(value "$id" iteration)" = 2 ]
conflicting web member2 --on-conflict fail
becomes "$id" failed
rule 'either way' [ "$(value "$id" attempt)" = 1 ]

# --- an agent without sessions ----------------------------------------------------------------------------------

adding --project web --agent plain 'change the file'
plays 1 "echo plain >file; echo ready; read -r _ <'$tmp/go'"
plays 2 'echo both >file'
released
appears ready "$home/runs/$id/1/out.log"
commit repo file without
unblock go
becomes "$id" 'done'
rule 'an agent that cannot resume gets its task' grep -qxF 'change the file' "plays/$id.2.prompt"
rule 'with the conflict' grep -qxF -e '- file' "plays/$id.2.prompt"

# --- a rebase that conflicts on its way, and a result that does not ---------------------------------------------

adding --project web --agent claude 'there and back'
plays 1 "cp file before; echo there >file; git commit -qam there; cp before file; rm before; git commit -qam back; echo kept >kept; echo ready; read -r _ <'$tmp/go'"
released
appears ready "$home/runs/$id/1/out.log"
commit repo file passing
unblock go
becomes "$id" 'done'
rule 'needs no agent' [ "$(value "$id" attempt)" = 1 ]
rule 'and is merged' [ "$(in_main repo file) $(in_main repo kept)" = 'passing kept' ]

# --- deleted on one side ----------------------------------------------------------------------------------------

commit repo doomed here
adding --project web --agent claude 'remove it'
plays 1 "git rm -q doomed; git commit -qm remove; echo ready; read -r _ <'$tmp/go'"
plays 2 'rm doomed'
released
appears ready "$home/runs/$id/1/out.log"
commit repo doomed changed
unblock go
becomes "$id" 'done'
rule 'a file without markers is taken as the agent left it' [ -z "$(in_main repo doomed)" ]
rule 'after a second iteration' [ "$(value "$id" iteration)" = 2 ]

# --- checks -----------------------------------------------------------------------------------------------------

conflicting web checked --until validate --check 'test ! -e broken'
plays 2 "$resolves; : >broken"
plays 3 'rm broken'
becomes "$id" 'done'
rule 'checks run on the repaired files' [ "$(value "$id" iteration) $(in_main repo file | tr '\n' ' ')" = '3 mine checked ' ]
rule 'and their feedback goes to the same session' grep -qF -e '--resume' "plays/$id.3.argv"

# --- until: done ------------------------------------------------------------------------------------------------

adding --project web --agent claude --until 'done' 'change the file'
plays 1 "echo mine >file; \"\$SLUICE_BIN\" report --done; echo ready; read -r _ <'$tmp/go'"
plays 2 "$resolves; \"\$SLUICE_BIN\" report --done"
released
appears ready "$home/runs/$id/1/out.log"
commit repo file marked
unblock go
becomes "$id" 'done'
rule 'the marker of the first run does not end the repair' [ "$(value "$id" attempt) $(in_main repo file | tr '\n' ' ')" = '2 mine marked ' ]

# --- local changes in the way are not a conflict for an agent ----------------------------------------------------

adding --project web --agent claude 'change the file'
plays 1 "echo mine >file; echo ready; read -r _ <'$tmp/go'"
released
appears ready "$home/runs/$id/1/out.log"
echo local >repo/file
unblock go
becomes "$id" failed
rule 'uncommitted changes of the owner are no work for an agent' [ "$(value "$id" attempt) $(value "$id" reason)" = '1 merge-conflict' ]
git -C repo checkout -q file

# --- review -----------------------------------------------------------------------------------------------------

in_review() { # ID ITERATION
    [ "$(value "$1" state) $(value "$1" hold) $(value "$1" iteration)" = "held review $2" ]
}
conflicting web reviewed --review
soon in_review "$id" 1
plays 2 "$resolves"
run sluice approve "$id"
exits 4 'a conflict at the approval is an error'
complains "its next iteration repairs that, then it waits for approval again" 'which says what follows'
rule 'the repaired work waits for approval again' soon in_review "$id" 2
rule 'repaired in the same session' grep -qF -e '--resume' "plays/$id.2.argv"
rule 'nothing is merged before that' [ "$(in_main repo file)" = reviewed ]
run sluice approve "$id"
exits 0 'a second approval'
becomes "$id" 'done'
rule 'merges it' [ "$(in_main repo file)" = "mine
reviewed" ]

# --- merge: local, merged on request ----------------------------------------------------------------------------

conflicting loc local
becomes "$id" 'done'
plays 2 "$resolves"
run sluice merge "$id"
exits 4 'a conflict of a merge on request'
has 'its next iteration repairs that' 'begins the next iteration'
soon [ "$(value "$id" iteration)" = 2 ]
becomes "$id" 'done'
run sluice merge "$id"
exits 0 'and the next merge succeeds'
rule 'with both changes' [ "$(in_main repo file)" = "mine
local" ]

# --- bad input ---------------------------------------------------------------------------------------------------

run sluice add -p web --on-conflict sometimes -- true
exits 2 'an unknown value is refused'
complains "option '--on-conflict': expected one of fail, iterate" 'with those that exist'
run sluice add -p bare --on-conflict iterate -- true
grep -qF "'on_conflict' has no effect: project 'bare' has no worktrees" err
report $? 'a project without worktrees has no conflicts'
finish
