#!/bin/sh
# A workspace stays with its task, belongs to one home, and is removed if disk space is short and no work is lost.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"
. "$here/repository.sh"

repository repo
repository clone
mkdir -p plain clone/sub home2
config "limits: {runs: 20}
retry: {failed: {max: 1, delay_s: 0}, lost: {delay_s: 0}, launch: {delay_s: 0}}
breaker: {max: 1, reset_s: never}
host: {disk_free_gb: 0}
projects:
  pool: {workspace_paths: [$tmp/clone, $tmp/plain]}
  web: {path: $tmp/repo, workspace_mode: worktree, merge: none}"
with_store "$tmp/home2" >home2/sluice.yaml <<END
retry: {launch: {delay_s: 0}}
breaker: {max: 1, reset_s: never}
projects:
  same: {workspace_paths: [$tmp/clone/., $tmp/plain]}
  only: {workspace_paths: [$tmp/clone]}
  sub: {workspace_paths: [$tmp/clone/sub]}
  web: {path: $tmp/repo, workspace_mode: worktree, merge: none}
END
start
mkfifo go go1 go2

in_home2() {
    SLUICE_HOME=$tmp/home2 "$@"
}
stop_both() {
    in_home2 stop_daemon
    stop_daemon
    rm -rf "$tmp"
}
trap stop_both EXIT

# --- the next attempt ------------------------------------------------------------------------------

add -p pool -- sh -c 'pwd; test "$SLUICE_ATTEMPT" = 1 || exit 0; read -r _ <"$0"; exit 1' "$tmp/go"
first=$id
appears "$tmp/" "$home/runs/$first/1/out.log"
path=$(cat "$home/runs/$first/1/out.log")
add -p pool --priority 1 --workspace "$path" -- sh -c 'echo in; read -r _ <"$0"' "$tmp/go1"
other=$id
unblock go
appears in "$home/runs/$other/1/out.log"
waits_for_path() {
    [ "$(value "$first" gate)" = "lease:workspace:$path" ]
}
rule 'f066 the next attempt waits for the path of the one before, though another is free' soon waits_for_path
run sluice project show pool
has free 'f066 which it is'
crash
start
rule 'f066 and after a restart' soon waits_for_path
unblock go1
becomes "$first" 'done'
rule 'f066 then it goes on there' [ "$(cat "$home/runs/$first/2/out.log")" = "$path" ]

add -p pool -- sh -c 'pwd; test "$SLUICE_ATTEMPT" = 1 || exit 0; read -r _ <"$0"; exit 1' "$tmp/go"
appears "$tmp/clone" "$home/runs/$id/1/out.log"
run sluice config set "projects.pool.workspace_paths=$tmp/plain"
unblock go
becomes "$id" 'done'
rule 'f066 a path that the pool has no more is not waited for' [ "$(cat "$home/runs/$id/2/out.log")" = "$tmp/plain" ]
run sluice config set "projects.pool.workspace_paths=$tmp/clone $tmp/plain"

mv plain elsewhere
add -p pool -- sh -c 'pwd; read -r _ <"$0"' "$tmp/go1"
other=$id
appears "$tmp/clone" "$home/runs/$other/1/out.log"
add -p pool -- pwd
becomes "$id" failed
run sluice show "$id"
has "workspace '$tmp/plain' is not a directory" 'a path that is gone is said when no other is free'
mv elsewhere plain
unblock go1
becomes "$other" 'done'

# --- another home ----------------------------------------------------------------------------------

add -p pool -- sh -c 'pwd; read -r _ <"$0"' "$tmp/go"
mine=$id
appears "$tmp/clone" "$home/runs/$mine/1/out.log"
rule 'nothing of it is seen in the repository' [ -z "$(git -C clone status --porcelain)" ]
in_home2 add -p same -- pwd
in_home2 becomes "$id" 'done'
rule 'a path that another home uses is passed over' [ "$(cat "home2/runs/$id/1/out.log")" = "$tmp/plain" ]
rule 'a folder outside of a repository is left as it was' [ -z "$(ls -A plain)" ]
in_home2 add -p sub -- pwd
rule 'a folder in it is another one' in_home2 becomes "$id" 'done'
crash
in_home2 add -p only -- pwd
in_home2 becomes "$id" failed
in_home2 run sluice show "$id"
has "workspace '$tmp/clone' is in use by run '$mine/1' in '$home/runs'" 'if there is no other that is said, also while its daemon is down'
start
unblock go
becomes "$mine" 'done'
in_home2 add -p only -- pwd
rule 'and it is free when the run is over' in_home2 becomes "$id" 'done'
rule 'nothing stays in the repository' [ -z "$(find clone/.git -name '*sluice*')" ]

# --- worktrees of another home ----------------------------------------------------------------------

in_home2 add --hold -p web -- true
git -C repo checkout -q -b "sluice/$id"
commit repo theirs yes
git -C repo checkout -q main
in_home2 run sluice release "$id"
in_home2 becomes "$id" failed
in_home2 run sluice show "$id"
has "branch 'sluice/$id' of '$tmp/repo' is not from here" 'a branch of another home is not gone on with'
rule 'and is left alone' [ "$(git -C repo show "sluice/$id:theirs")" = yes ]
add -p web --merge local -- sh -c 'echo "$SLUICE_ATTEMPT" >>mine'
becomes "$id" 'done'
soon [ ! -e "$home/worktrees/$id" ]
run sluice again "$id"
becomes "$id" 'done'
rule 'its own home goes on with it' [ "$(git -C repo show "sluice/$id:mine" | tr '\n' ' ')" = '1 2 ' ]

# --- the disk is short ------------------------------------------------------------------------------

add -p web --retries 0 -- sh -c 'echo work >work; test "$SLUICE_ATTEMPT" = 2'
committed=$id
becomes "$committed" failed
add -p web -- sh -c 'echo loose >loose'
loose=$id
becomes "$loose" 'done'
add -p web --retries 0 -- sh -c 'echo head >head; git add head; git checkout -q --detach; git commit -qm head; exit 1'
detached=$id
becomes "$detached" failed
rule 'failed work is kept while there is room' [ -e "$home/worktrees/$committed/work" ]
run sluice config set host.disk_free_gb=1000000
is_away() { # a request makes the daemon check
    run sluice status
    [ ! -e "$home/worktrees/$1" ]
}
rule 'when the disk is short the worktree of failed work goes' soon is_away "$committed"
rule 'its commits stay' [ "$(git -C repo show "sluice/$committed:work")" = work ]
rule 'what is not committed stays where it is' [ "$(cat "$home/worktrees/$loose/loose")" = loose ]
rule 'what is committed on no branch stays, too' [ "$(cat "$home/worktrees/$detached/head")" = head ]
run sluice config set host.disk_free_gb=0
run sluice retry "$committed"
becomes "$committed" 'done'
rule 'a retry goes on from the branch' [ "$(cat "$home/worktrees/$committed/work")" = work ]
finish
