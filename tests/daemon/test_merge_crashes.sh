#!/bin/sh
# The daemon is killed before and after each git command of a merge: the next daemon merges once, and cleans up.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"
. "$here/repository.sh"

repository repo
config "limits: {runs: 8}
git: {retries: 1, retry_s: 0.1}
retry: {failed: {max: 0}, lost: {delay_s: 0}}
projects:
  web: {path: $tmp/repo, workspace_mode: worktree, merge: direct}"
clock_git
start
mkfifo go

is_ready() { # in whichever attempt
    grep -q ready "$home/runs/$id/"*/out.log 2>/dev/null
}

n=0
for step in 'worktree add' 'add --all' 'diff --cached' 'commit' 'rebase' \
    'worktree list' 'merge' 'worktree unlock' 'worktree remove' 'update-ref -d'; do
    for when in before after; do
        n=$((n + 1))
        echo "$when $step" >"$tmp/stop"
        add -p web -- sh -c 'echo "$0" >"crash.$0"; test -e "moved.$0" || { echo ready; read -r _ <"$1"; }' $n "$tmp/go"
        case $step in
        'worktree add')
            stopped=yes
            stops "$step" || stopped=no
            crash
            start
            soon is_ready
            commit repo "moved.$n" yes
            unblock go
            ;;
        *)
            appears ready "$home/runs/$id/1/out.log"
            commit repo "moved.$n" yes
            unblock go
            stopped=yes
            stops "$step" || stopped=no
            crash
            start
            ;;
        esac
        becomes "$id" 'done'
        disappears "$home/worktrees/$id.json"
        [ $stopped = yes ] && [ "$(in_main repo "crash.$n")" = $n ] && [ "$(git -C repo log --format=%s main -- "crash.$n" | wc -l)" = 1 ] &&
            [ ! -e "$home/worktrees/$id" ] && [ -z "$(git -C repo branch --list "sluice/$id")" ] &&
            [ -z "$(git -C repo status --porcelain)" ]
        report $? "killed $when 'git $step', the next daemon merges once and cleans up"
    done
done

echo 'before rebase' >"$tmp/stop"
add -p web -- sh -c 'echo down >down; echo ready; read -r _ <"$0"' "$tmp/go"
appears ready "$home/runs/$id/1/out.log"
commit repo moved.down yes
unblock go
stops rebase
run sluice down --wait
exits 0 'a daemon that is stopped does not wait for a merge'
start
becomes "$id" 'done'
rule 'and the next one begins it again' [ "$(in_main repo down)" = down ]

# A killed git leaves files that are not in its index.
echo 'before rebase' >"$tmp/stop"
add -p web -- sh -c 'echo torn >torn; echo ready; read -r _ <"$0"' "$tmp/go"
appears ready "$home/runs/$id/1/out.log"
commit repo moved.torn yes
unblock go
stops rebase
crash
GIT_SEQUENCE_EDITOR='sed -i 1ibreak' "$real" -C "$home/worktrees/$id" rebase -q -i main >/dev/null 2>&1
echo half >"$home/worktrees/$id/torn"
start
becomes "$id" 'done'
rule 'a rebase that was killed half way is given up and begun again' [ "$(in_main repo torn)" = torn ]
rule 'and its agent ran once' [ ! -e "$home/runs/$id/2" ]

# An interrupted removal: files are missing, or the worktree is no longer registered in its repository.
disappears "$home/worktrees/$id.json"
for lost in file .git; do
    echo 'before worktree remove' >"$tmp/stop"
    add -p web -- sh -c 'echo "$0" >>gone' "$lost"
    stops 'worktree remove'
    crash
    rm "$home/worktrees/$id/$lost"
    start
    disappears "$home/worktrees/$id.json"
    rule "a removal that was killed when '$lost' was gone is finished" [ ! -e "$home/worktrees/$id" ]
    rule "and the branch goes with it ('$lost')" [ -z "$(git -C repo branch --list "sluice/$id")" ]
done

git -C repo branch release
sed -i 's/merge: direct}/merge: direct, base_branch: release}/' "$home/sluice.yaml"
kill -HUP "$(pid_of_daemon)"
run sluice config get projects.web.base_branch
for when in before after; do
    n=$((n + 1))
    echo "$when update-ref -m" >"$tmp/stop"
    add -p web -- sh -c 'echo "$0" >"crash.$0"' $n
    stops update-ref
    crash
    start
    becomes "$id" 'done'
    rule "a base that nobody has checked out: killed $when it is moved" \
        [ "$(git -C repo show "release:crash.$n")" = $n ]
done
finish
