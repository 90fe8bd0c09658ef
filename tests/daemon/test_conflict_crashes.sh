#!/bin/sh
# The daemon is killed before and after each git command with which a conflict is described, left in the worktree, and
# concluded after its repair: the agent repairs it once, and it is merged once.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"
. "$here/repository.sh"
. "$here/player.sh"

repository repo
config "limits: {runs: 4}
git: {retries: 1, retry_s: 0.1}
retry: {failed: {max: 0}, lost: {delay_s: 0}, unfinished: {max: 3, delay_s: 0}}
runaway: {pause_s: 0}
$(player_agents)
projects:
  web: {path: $tmp/repo, workspace_mode: worktree, merge: direct, on_conflict: iterate}"
rmdir "$tmp/bin" 2>/dev/null || mv "$tmp/bin" "$tmp/agents"
PATH=$tmp/agents:$PATH
clock_git
start
mkfifo go
n=0

# Two runs: one that conflicts, one that repairs it.
begins() {
    n=$((n + 1))
    adding --project web --agent claude --title "change $n" 'change the file'
    plays 1 "echo mine.$n >file; git commit -qam first; echo ready; read -r _ <'$tmp/go'"
    for attempt in 2 3 4; do
        plays $attempt "{ echo mine.$n; git show MERGE_HEAD:file; } >file; echo $n >\"new.$n\"; echo ready; read -r _ <'$tmp/go'"
    done
    released
    appears ready "$home/runs/$id/1/out.log"
    commit repo file "theirs.$n"
}
# The attempt whose launch was interrupted is lost, so the agent may run in a later one.
is_ready() {
    soon grep -qsF ready "$home/runs/$id/2/out.log" "$home/runs/$id/3/out.log" "$home/runs/$id/4/out.log"
}
is_repaired() { # WHAT
    becomes "$id" 'done'
    disappears "$home/worktrees/$id.json"
    [ $stopped = yes ] && [ "$(in_main repo file | tr '\n' ' ')" = "mine.$n theirs.$n " ] && [ "$(in_main repo "new.$n")" = $n ] &&
        [ "$(git -C repo log --format=%s main -- "new.$n")" = "change $n" ] && [ "$(git -C repo rev-list --merges --count main)" = 0 ] &&
        [ "$(value "$id" iteration)" = 2 ] && [ "$(cat "plays/$id".*.argv | wc -l)" = 2 ] &&
        grep -qF -e '--resume' "plays/$id".[234].argv && grep -q -e '^- [0-9a-f]* file: theirs' "plays/$id".[234].prompt &&
        [ -z "$(git -C repo branch --list "sluice/$id")" ] && [ -z "$(git -C repo status --porcelain)" ]
    report $? "$1"
}
crashes() { # STEP
    stopped=yes
    stops "$1" || stopped=no
    crash
    start
}

for step in 'merge --no-commit' 'diff --no-ext-diff --no-textconv --name-only' 'rebase --quit' 'checkout' 'log --no-merges' 'worktree unlock'; do
    for when in before after; do
        begins
        echo "$when $step" >"$tmp/stop"
        unblock go
        crashes "$step"
        is_ready
        unblock go
        is_repaired "a conflict is described: killed $when 'git $step'"
    done
done

iterates() { # ID
    [ "$(value "$1" iteration)" = 2 ]
}
for step in 'merge --no-commit' 'diff --no-ext-diff --no-textconv --name-only' 'update-ref -d AUTO_MERGE' 'worktree lock' ; do
    for when in before after; do
        begins
        run sluice pause web
        unblock go
        soon iterates "$id"
        echo "$when $step" >"$tmp/stop"
        run sluice resume web
        crashes "$step"
        is_ready
        unblock go
        is_repaired "a conflict is left in the worktree: killed $when 'git $step'"
    done
done

begins
run sluice pause web
unblock go
soon iterates "$id"
crash
start
run sluice resume web
stopped=yes
is_ready
crash
start
unblock go
is_repaired 'killed when the next iteration is stored, and while its agent works'

for step in 'grep' 'symbolic-ref' 'add --all' 'commit' 'rev-parse' 'rev-list --merges' 'log --no-merges' 'commit-tree' \
    'update-ref -m' 'worktree list' 'merge --ff-only' 'worktree unlock'; do
    for when in before after; do
        begins
        unblock go
        is_ready
        echo "$when $step" >"$tmp/stop"
        unblock go
        crashes "$step"
        is_repaired "a repair is concluded: killed $when 'git $step'"
    done
done

# The daemon does not repeat a merge on request: the client does, or the person.
in_review() { # ITERATION
    [ "$(value "$id" hold) $(value "$id" iteration)" = "review $1" ]
}
for step in 'merge --no-commit' 'log --no-merges' 'worktree unlock'; do
    n=$((n + 1))
    adding --project web --agent claude --review --title "change $n" 'change the file'
    plays 1 "echo mine.$n >file; git commit -qam first"
    plays 2 "{ echo mine.$n; git show MERGE_HEAD:file; } >file; echo $n >\"new.$n\""
    released
    soon in_review 1
    commit repo file "theirs.$n"
    echo "before $step" >"$tmp/stop"
    "$SLUICE" approve "$id" >approved 2>&1 &
    approve=$!
    crashes "$step"
    wait $approve
    ! in_review 1 || run sluice approve "$id"
    rule "killed before 'git $step' of an approval: repeated, it begins the repair" soon in_review 2
    run sluice approve "$id"
    is_repaired "and the next approval merges it ('git $step')"
done

begins
unblock go
is_ready
echo 'before commit-tree' >"$tmp/stop"
unblock go
stops 'commit-tree'
run sluice down --wait
exits 0 'a daemon that is stopped does not wait for it'
start
stopped=yes
is_repaired 'and the next one concludes it'
finish
