#!/bin/sh
# A task with a worktree and a spawn file: the file is checked, then the work is merged, then the children are added. Also if
# the run ends while no daemon runs, or if the daemon is killed in between.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"
. "$here/repository.sh"

repository repo
config "limits: {runs: 8}
retry: {failed: {max: 0}, lost: {delay_s: 0}, unfinished: {delay_s: 0}}
projects:
  web: {path: $tmp/repo, workspace_mode: worktree, merge: direct}
  keep: {path: $tmp/repo, workspace_mode: worktree, merge: none}"
clock_git
start
mkfifo go

good='echo "- run: \"true\"" >"$SLUICE_SPAWN"'
bad='echo "- nonsense" >"$SLUICE_SPAWN"'

# It ends without a daemon. $1: what it writes; $2: into which file of the repository; more: options.
ends_unseen() {
    write=$1 file=$2
    shift 2
    add "$@" --spawn next.yaml -- sh -c 'eval "$0"; echo work >"$1"; echo ready; read -r _ <"$2"' "$write" "$file" "$tmp/go"
    appears ready "$home/runs/$id/1/out.log"
    crash
    shim=$(shim_of "$id" 1)
    unblock go
    is_gone "$shim"
    start
}

# Children have worktrees, too: their git must not be taken for that of the next one.
quiet() {
    [ -z "$("$SLUICE" list --ids --state waiting,ready,starting,running)" ]
}

children() {
    "$SLUICE" list --parent "$1" --state all --json | grep -o '"id":' | wc -l
}

ends_unseen "$bad" bad -p web
becomes "$id" failed
rule 'a bad spawn file fails a run that ended while no daemon was there' [ "$(value "$id" state)" = failed ]
run sluice show "$id"
has 'next.yaml:1' 'with what is wrong in it'
rule 'and its work is not merged' [ -z "$(in_main repo bad)" ]
rule 'but kept on its branch' [ "$(git -C repo show "sluice/$id:bad" 2>/dev/null)" = work ]
run sluice events --json
has '"kind":"run.merge"' 'the event of the merge says so'

ends_unseen "$good" good -p web
becomes "$id" 'done'
rule 'with a good one its work is merged' [ "$(in_main repo good)" = work ]
rule 'and its children are there' [ "$(children "$id")" = 1 ]

ends_unseen "$bad" kept -p keep
becomes "$id" failed
rule 'where nothing is merged a bad file is a failed run all the same' [ "$(value "$id" state)" = failed ]

# --- a daemon that dies while it merges ----------------------------------------------------------------------

for when in before after; do
    soon quiet
    echo "$when merge" >"$tmp/stop"
    add -p web --spawn next.yaml -- sh -c 'eval "$0"; echo work >"$1"' "$good" "$when"
    stops merge
    rule "killed $when the merge: its children were not there" [ "$(children "$id")" = 0 ]
    crash
    start
    becomes "$id" 'done'
    rule "killed $when the merge: its work is merged" [ "$(in_main repo "$when")" = work ]
    rule "killed $when the merge: its children are there once" [ "$(children "$id")" = 1 ]
done

# --- a file that is bad, and good a moment later -------------------------------------------------------------

soon quiet
echo 'before add --all' >"$tmp/stop"
add -p web --spawn next.yaml -- sh -c 'eval "$0"; echo work >late' "$bad"
stops 'add --all'
echo '- run: "true"' >"$home/tasks/$id/iterations/001/artifacts/next.yaml"
unblock continue
becomes "$id" failed
rule 'what was not merged because of its file is not done, whatever becomes of the file' \
    [ "$(value "$id" state) $(children "$id") $(in_main repo late)" = 'failed 0 ' ]

finish
