#!/bin/sh
# Work in a worktree is never lost: uncommitted changes of an agent are committed, a result without changes is reported as
# such, and the agent's last message is kept. With the sandbox and without it.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"
. "$here/repository.sh"
needs bwrap
run true
mkdir "$HOME/src"
repository web
mv web "$HOME/src/web"
repo=$HOME/src/web
git config --global user.name Owner
git config --global user.email owner@localhost

# An agent with the output format of Claude: it executes the prompt and reports $REPORT.
cat >agent <<'END'
#!/bin/sh
eval "$1"
code=$?
[ $code = 0 ] && subtype=success error=false || subtype=error error=true
printf '{"type":"result","subtype":"%s","is_error":%s,"result":"%s","session_id":"5f0c1e0a-8c6c-4f1f-9f0c-3c8a7a3d9b1e","total_cost_usd":0.0031,"usage":{"input_tokens":10,"output_tokens":2}}\n' \
    "$subtype" "$error" "${REPORT:-Committed.}"
exit $code
END
chmod +x agent

both() { # SANDBOX
    config "limits: {runs: 8}
git: {retries: 0}
retry: {failed: {max: 0}, unfinished: {max: 1, delay_s: 0}}
agents:
  claude: {adapter: claude, command: [$tmp/agent, '{prompt}'], prompt: argument, sandbox: $1, sandbox_read: [$tmp/agent]}
projects:
  web: {path: '$repo', workspace_mode: worktree}
  must: {path: '$repo', workspace_mode: worktree, no_changes: fail}
  none: {path: '$repo', workspace_mode: worktree, merge: none}
  direct: {path: '$repo', workspace_mode: worktree, merge: direct}"
}

does() { # PROJECT SCRIPT [OPTION...]
    project=$1 script=$2
    shift 2
    add --project "$project" --agent claude --cwd - --title 'mend the parser' "$@" -- "$script"
    soon settled
}
settled() {
    case $(value "$id" state) in
    'done' | failed) ;;
    *) false ;;
    esac
}
shown() { # MEMBER of the changes
    "$SLUICE" show --json "$id" | tr -d ' \n' | sed -n 's/.*"changes":{\([^}]*\)}.*/\1/p' | tr ',' '\n' | sed -n "s/^\"$1\"://p"
}

for sandbox in none bubblewrap; do
    both "$sandbox"
    start

    # --- uncommitted changes are committed --------------------------------------------------------------------
    does web 'echo fixed >parser; echo more >>file'
    rule "$sandbox: what an agent leaves is committed on its branch" [ "$(git -C "$repo" show "sluice/$id:parser")" = fixed ]
    rule "$sandbox: the commit has the title and the id of the task" \
        [ "$(git -C "$repo" log -1 --format=%B "sluice/$id" | tr '\n' ' ')" = "mend the parser  Sluice-Task: $id  " ]
    rule "$sandbox: the base branch is as it was" [ -z "$(git -C "$repo" show main:parser 2>/dev/null)" ]
    rule "$sandbox: what was changed is counted" [ "$(shown commits) $(shown files) $(shown insertions) $(shown deletions)" = '1 2 2 0' ]
    run sluice show "$id"
    has 'ok: Committed.' "$sandbox: the agent's last message is the message of the run"
    has "its commits are on branch 'sluice/$id'" "$sandbox: and show says where the work is"
    has '1 commit, 2 files, +2 -0' "$sandbox: and how much it is"
    has '$0.0031' "$sandbox: small costs are shown"

    # --- nothing was changed ----------------------------------------------------------------------------------
    does web true
    empty=$id
    rule "$sandbox: a task that changes nothing is done" [ "$(value "$id" state)" = 'done' ]
    rule "$sandbox: and has no changes" [ "$(shown commits) $(shown files)" = '0 0' ]
    run sluice show "$id"
    has 'ok: no changes; it reported: Committed.' "$sandbox: the result of its run says so, with the agent's words"
    run sluice list --state 'done'
    has 'no changes' "$sandbox: and so does the list"
    run sluice digest --since 1h
    has 'no changes' "$sandbox: and the digest"
    does direct true
    run sluice show "$id"
    has 'no changes' "$sandbox: also when it would have been merged"
    does must true
    rule "$sandbox: no_changes: fail makes it a failure" [ "$(value "$id" state)" = failed ]
    run sluice show "$id"
    has 'it changed no file' "$sandbox: which the run says"
    rule "$sandbox: and the next iteration knows it" grep -q 'it changed no file' "$home/tasks/$id/iterations/002/feedback.md"
    does must 'echo x >x'
    rule "$sandbox: and a change is none" [ "$(value "$id" state)" = 'done' ]

    # --- merges -----------------------------------------------------------------------------------------------
    does direct "echo $sandbox >merged-$sandbox"
    rule "$sandbox: direct merges it" [ "$(git -C "$repo" show "main:merged-$sandbox")" = "$sandbox" ]
    run sluice show "$id"
    has 'ok: Committed.' "$sandbox: the merge does not replace the agent's last message"
    has "merged into 'main' at " "$sandbox: and is shown beside it"
    rule "$sandbox: what was merged is counted" [ "$(shown commits) $(shown files)" = '1 1' ]

    # --- settings, and unusual ends -----------------------------------------------------------------------------
    does none 'echo loose >loose'
    rule "$sandbox: merge: none commits nothing" [ "$(git -C "$repo" rev-list --count "main..sluice/$id")" = 0 ]
    rule "$sandbox: and leaves the files" [ "$(cat "$home/worktrees/$id/loose")" = loose ]
    does web 'git checkout -q -b elsewhere-'"$sandbox"' && echo e >e && git add e && git commit -qm e && echo left >left'
    rule "$sandbox: a worktree on another branch does not fail a task that asked for no merge" [ "$(value "$id" state)" = 'done' ]
    rule "$sandbox: and is kept, with its commits" [ "$(git -C "$home/worktrees/$id" show HEAD:left)" = left ]
    does web 'echo part >part; false'
    rule "$sandbox: a failed run is saved as before" [ "$(git -C "$repo" log -1 --format=%s "sluice/$id")" = 'WIP: saved before recovery' ]
    rule "$sandbox: and has no result to report" [ -z "$(shown files)" ]
    run sluice down --wait
done

# --- retention ---------------------------------------------------------------------------------------------------

both none
cat >>"$home/sluice.yaml" <<END
retention: {merged_days: 30, worktree_days: 0}
END
start
does direct 'echo kept >kept'
rule 'retention.merged_days keeps what is merged' [ "$(git -C "$repo" show main:kept) $(cat "$home/worktrees/$id/kept")" = 'kept kept' ]
kept=$id
run sluice doctor
has 'of finished tasks' 'doctor counts worktrees that are kept'
does none 'git checkout -q -b "own-$SLUICE_TASK" && echo alone >alone && git add alone && git commit -qm alone'
alone=$id
does none 'echo on-branch >on-branch && git add . && git commit -qm on-branch'
rule 'retention.worktree_days: what is committed on its branch is removed' soon [ ! -e "$home/worktrees/$id" ]
rule 'and its branch is kept' [ "$(git -C "$repo" show "sluice/$id:on-branch")" = on-branch ]
says_removed() {
    "$SLUICE" show "$id" | grep -q 'removed  *worktree; its last commit is '
}
rule 'show says what was removed' soon says_removed
rule 'a worktree whose commits are not on its branch is kept' [ -e "$home/worktrees/$alone/alone" ]
does none 'echo dirty >dirty'
rule 'and so is one with files that are not committed' [ -e "$home/worktrees/$id/dirty" ]
run sluice down --wait
sed -i '/^retention:/d' "$home/sluice.yaml"
start
rule 'without the setting, what is merged is removed at the next start' soon [ ! -e "$home/worktrees/$kept" ]
disappears "$home/worktrees/$kept.json"
rule 'with its branch' [ -z "$(git -C "$repo" branch --list "sluice/$kept")" ]
run sluice down --wait

# --- checks and the agent's message -------------------------------------------------------------------------------
both none
start
does web 'echo y >>y; test "$SLUICE_ITERATION" = 1 || touch good' --check 'test -e good' --until validate
feedback=$home/tasks/$id/iterations/002/feedback.md
rule 'feedback does not put the words of the agent into the mouth of the check' \
    grep -qx "The check 'test -e good' failed with exit code 1." "$feedback"
rule 'and names them as what they are' grep -qx 'Before the check, the run had reported: Committed.' "$feedback"

# --- commits that fail ----------------------------------------------------------------------------------------------

broken='git config filter.bad.clean false; git config filter.bad.required true; echo "*.bad filter=bad" >.gitattributes; echo lost >x.bad'
does web "$broken"
rule 'what cannot be committed does not fail a task that asked for no merge' [ "$(value "$id" state)" = 'done' ]
run sluice show "$id"
has 'not committed: git add' 'but is named'
rule 'and is kept' [ "$(cat "$home/worktrees/$id/x.bad")" = lost ]
does web "$broken" --merge local
rule 'and fails one that asked for it' [ "$(value "$id" state) $(value "$id" reason)" = 'failed merge-failed' ]
rule 'whose work is kept, too' [ "$(cat "$home/worktrees/$id/x.bad")" = lost ]
finish
