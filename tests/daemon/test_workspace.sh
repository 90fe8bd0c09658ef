#!/bin/sh
# Workspaces of runs: a pool of paths, a git worktree for each task, and the removal of worktrees.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"
. "$here/repository.sh"

repository repo
mkdir repo/sub
commit repo sub/inner yes
mkdir p1 p2 p3 plain
config "limits: {runs: 20}
retry: {failed: {max: 1, delay_s: 0}, lost: {delay_s: 0}}
breaker: {max: 1, reset_s: never}
projects:
  pool: {path: $tmp/plain, workspace_paths: [$tmp/p1, $tmp/p2, $tmp/p3]}
  none: {path: $tmp/plain}
  web: {path: $tmp/repo, workspace_mode: worktree, merge: none}
  sub: {path: $tmp/repo/sub, workspace_mode: worktree, merge: none}
  cap: {path: $tmp/repo, workspace_mode: worktree, merge: none, workspaces: 2}
  bad: {path: $tmp/plain, workspace_mode: worktree, merge: none}
  rel: {path: $tmp/repo, workspace_mode: worktree, merge: none, base_branch: release}"
clock_git
start
mkfifo go go1 go2 go3

# --- the pool --------------------------------------------------------------------------------------

# Prints its path, and checks that no other run uses it.
cat >alone.sh <<'END'
mkdir ./lock 2>/dev/null || echo "two in $(pwd)" >>"$1/together"
echo "$(pwd) $SLUICE_WORKSPACE $SLUICE_TASK" >>"$1/places"
rmdir ./lock
END
for n in $(seq 40); do
    printf -- '- {project: pool, argv: [sh, %s/alone.sh, %s]}\n' "$tmp" "$tmp"
done >many.yaml
for n in $(seq 20); do
    printf -- '- {project: pool, workspace: %s/p%s, argv: [sh, %s/alone.sh, %s]}\n' "$tmp" $((n % 3 + 1)) "$tmp" "$tmp"
done >>many.yaml
run sluice add --file many.yaml
exits 0 'tasks for a pool, some of which want a certain path'
all_ran() {
    [ "$(grep -c . places 2>/dev/null)" = 60 ]
}
rule 'f065 all of them ran' soon all_ran
rule 'f065 never were two runs in one path' [ ! -e together ]
rule 'f065 all paths were used, and no other' \
    [ "$(cut -d ' ' -f 1 places | sort -u | tr '\n' ' ')" = "$tmp/p1 $tmp/p2 $tmp/p3 " ]
rule 'a run is told its workspace' [ "$(awk '$1 != $2' places | wc -l)" = 0 ]

add -p pool -- sh -c 'pwd; read -r _ <"$0"' "$tmp/go"
first=$id
appears "$tmp/p" "$home/runs/$first/1/out.log"
path=$(cat "$home/runs/$first/1/out.log")
run sluice project show pool
has "$path  $first" 'f161 project show tells who has which path'
has 'free' 'f161 and which are free'
run sluice show "$first"
has "works in    $path" 'show tells where a run works'
add -p pool --workspace "$path" -- pwd
wisher=$id
run sluice why "$wisher"
has "workspace '$path' is in use" 'f066 a task waits for the path it wants, though others are free'
rule 'f066 its gate names the path' [ "$(value "$wisher" gate)" = "lease:workspace:$path" ]
crash
start
run sluice why "$wisher"
has "workspace '$path' is in use" 'f066 a restart forgets nobody'
run sluice project show pool
has "$path  $first" 'f161 nor where a run works'
unblock go
becomes "$wisher" 'done'
rule 'f066 then it runs there' [ "$(cat "$home/runs/$wisher/1/out.log")" = "$path" ]

for n in 1 2 3; do
    add -p pool -- sh -c 'echo in; read -r _ <"$0"' "$tmp/go$n"
    appears in "$home/runs/$id/1/out.log"
done
add -p pool -- true
rule 'f065 with no free path a task waits' [ "$(value "$id" gate)" = lease:workspaces:pool ]
for n in 1 2 3; do unblock go$n; done
rule 'f065 and starts when one is free' becomes "$id" 'done'

add -p pool -- sh -c 'pwd >>"$0"; exit 1' "$tmp/twice"
becomes "$id" failed
rule 'the next attempt is in the same path' [ "$(sort -u twice | wc -l) $(wc -l <twice)" = '1 2' ]
run sluice add -p pool --workspace "$tmp/p9" -- true
exits 2 'a path that is none of the pool is refused'
complains "workspace '$tmp/p9' is none of project 'pool': $tmp/p1, $tmp/p2, $tmp/p3" 'with those there are'
add -p none --workspace "$tmp/p2" -- pwd
becomes "$id" 'done'
rule 'without a pool a wish that is a path is where it runs' [ "$(cat "$home/runs/$id/1/out.log")" = "$tmp/p2" ]
rmdir p3
add -p pool --workspace "$tmp/p3" -- true
becomes "$id" failed
run sluice show "$id"
has "workspace '$tmp/p3' is not a directory" 'a path that is gone is a launch failure, with a sentence'
mkdir p3

# --- worktrees -------------------------------------------------------------------------------------

mkdir -p repo/.git/hooks
printf '#!/bin/sh\necho "$0" >>%s/hooked\n' "$tmp" >repo/.git/hooks/post-checkout
chmod +x repo/.git/hooks/post-checkout
cp repo/.git/hooks/post-checkout repo/.git/hooks/pre-commit
add -p web --cwd "$tmp/repo/sub" -- sh -c 'pwd; git symbolic-ref --short HEAD; read -r _ <"$0"' "$tmp/go"
tree=$id
appears sluice/ "$home/runs/$tree/1/out.log"
rule 'a worktree for the task, on a branch of its own, in the folder that was meant' \
    [ "$(tr '\n' ' ' <"$home/runs/$tree/1/out.log")" = "$home/worktrees/$tree/sub sluice/$tree " ]
rule 'it is locked while it runs' grep -q "sluice: $tree runs here" repo/.git/worktrees/*/locked
run sluice show "$tree"
has "works in    $home/worktrees/$tree" 'show names it'
has "branch      sluice/$tree, from main" 'with its branch and its base'
unblock go
becomes "$tree" 'done'
goes_away() {
    disappears "$home/worktrees/$1" && disappears "$home/worktrees/$1.json"
}
rule 'a clean one goes when its task is done' goes_away "$tree"
rule 'and its branch with it' [ -z "$(git -C repo branch --list "sluice/$tree")" ]
add -p sub -- sh -c 'pwd; cat inner'
becomes "$id" 'done'
rule 'a project in a folder of its repository' \
    [ "$(tr '\n' ' ' <"$home/runs/$id/1/out.log")" = "$home/worktrees/$id/sub yes " ]

add -p web -- sh -c 'echo "$SLUICE_ATTEMPT" >>half; cat half; git log --format=%s -1; exit 1'
failed=$id
becomes "$failed" failed
rule 'the second attempt finds what the first has left' grep -qx 2 "$home/runs/$failed/2/out.log"
rule 'saved as a commit' grep -qx 'WIP: saved before recovery' "$home/runs/$failed/2/out.log"
rule 'failed work is kept' [ "$(tr '\n' ' ' <"$home/worktrees/$failed/half")" = '1 2 ' ]
rule 'all of it committed' [ -z "$(git -C "$home/worktrees/$failed" status --porcelain)" ]
rule 'no hook of the repository has run' [ ! -e hooked ]
add -p web -- sh -c 'git checkout -q -b x'
becomes "$id" 'done'
rule 'hooks of what an agent calls are the agents business' [ -e hooked ]
rm repo/.git/hooks/post-checkout repo/.git/hooks/pre-commit

add -p web -- sh -c 'echo lost >lost; test -e seen || { : >seen; echo ready; exec sleep 1000; }; git log --format=%s -1'
appears ready "$home/runs/$id/1/out.log"
shim=$(shim_of "$id" 1)
kill -9 "$shim"
becomes "$id" 'done'
rule 'work of a lost run is saved before it is tried again' \
    grep -qx 'WIP: saved before recovery' "$home/runs/$id/2/out.log"

add -p web -- sh -c 'git rev-parse --git-dir; echo x >x; : >"$(git rev-parse --git-dir)/index.lock"; : >"$(git rev-parse --git-common-dir)/refs/heads/$SLUICE_BRANCH.lock"; test "$SLUICE_ATTEMPT" = 2'
rule 'a lock that a killed git has left is no obstacle' becomes "$id" 'done'

# --- the cap ---------------------------------------------------------------------------------------

for n in 1 2; do
    add -p cap --until 'done' -- sh -c 'echo in; read -r _ <"$0"; : >"$SLUICE_DONE"' "$tmp/go$n"
    appears in "$home/runs/$id/1/out.log"
done
add -p cap -- true
rule 'f065 no more worktrees than the project may have' [ "$(value "$id" gate)" = lease:workspaces:cap ]
unblock go1
unblock go2
rule 'f065 the next one comes when a task is done' becomes "$id" 'done'

# --- worktrees that cannot be created, and their base ----------------------------------------------

add -p bad -- true
becomes "$id" failed
run sluice show "$id"
has 'not launched: no worktree for' 'a worktree that cannot be made is a launch failure'
has 'not a git repository' "with git's own sentence"
add -p rel -- true
becomes "$id" failed
run sluice show "$id"
has "has no commit 'release'" 'a base that does not exist is said'
git -C repo branch release
commit repo later yes
add -p rel -- sh -c 'test ! -e later'
rule 'the project says which branch they come from' becomes "$id" 'done'
add -p rel --base-branch main -- sh -c 'test -e later'
rule 'a task may say another' becomes "$id" 'done'
run sluice add -p web --workspace "$tmp/p1" -- true
exits 2 'a wish for a path is nothing for a project with worktrees'
add --hold -p web -- true
mkdir -p "$home/worktrees/$id"
echo mine >"$home/worktrees/$id/mine"
run sluice release "$id"
becomes "$id" failed
run sluice show "$id"
has 'is in the way: it was not made here' 'a folder of somebody else is not touched'
rm -r "$home/worktrees/$id"

# --- crashes while one is made ---------------------------------------------------------------------

for when in before after; do
    echo "$when worktree add" >"$tmp/stop"
    add -p web -- sh -c 'cat file'
    stops 'worktree add'
    crash
    [ $when = before ] || echo half >"$home/worktrees/$id/file"
    start
    becomes "$id" 'done'
    rule "killed $when it was made: it is made again, whole" grep -qx begin "$home/runs/$id/2/out.log"
done

# --- unused worktrees ------------------------------------------------------------------------------

run sluice delete "$failed"
exits 0 'failed work is deleted'
doctor_names_it() {
    run sluice doctor
    grep -qF "$home/worktrees/$failed" "$tmp/out"
}
soon doctor_names_it
has "$home/worktrees/$failed' (2 commits are not in 'main')" 'but not its work: doctor names it'
rule 'it is still there' [ -e "$home/worktrees/$failed/half" ]
rule 'the log names it' grep -qF "$home/worktrees/$failed" "$home/sluice.log"
stop_daemon
git -C "$home/worktrees/$failed" reset -q --hard main
start
rule 'the next start removes what is clean by then' goes_away "$failed"
mkdir "$home/worktrees/strange"
stop_daemon
start
run sluice doctor
has "$home/worktrees/strange' (it was not made here)" 'what was not made here is kept and named'
finish
