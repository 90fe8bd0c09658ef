#!/bin/sh
# Makes each attempt of attempts.txt three times: as a program of the owner, where it must succeed (else the test proves
# nothing), in a run without a sandbox, and in a run with a sandbox, where it must be held.
# shellcheck disable=SC1091,SC2046,SC2086,SC2154 # kit.sh sets tmp, home; lists are split on purpose
. "$(dirname "$0")/../daemon/kit.sh"
: "${ATTEMPT:?}" "${VICTIM:?}"
needs git bwrap
run true

# --- targets of the attempts ----------------------------------------------------------------------

secret=escape-secret-$(od -An -N12 -tx1 /dev/urandom | tr -d ' \n')
name=escape-$(basename "$tmp")-$$
shared=$(mktemp -d "/tmp/escape-XXXXXX")
trap 'stop_daemon; kill $victim 2>/dev/null; rm -rf "$shared" "$tmp"' EXIT
mkdir -p "$HOME/.ssh" "$HOME/Documents" "$HOME/.claude" "$HOME/.codex"
for file in .ssh/id_ed25519 Documents/letter.txt; do
    echo "$secret" >"$HOME/$file"
done
: >"$HOME/.profile"
echo "{}" >"$HOME/.claude/settings.json"
: >"$HOME/.codex/config.toml"
echo "$secret" >"$shared/secret"
: >"$shared/file"
git init -q -b main repo
git -C repo -c user.name=x -c user.email=x@x commit -q --allow-empty -m first
: >repo/Makefile
mkdir -p own/tmp work
: >own/lock

ESCAPE_HOME=$HOME ESCAPE_SLUICE=$home ESCAPE_REPO=$tmp/repo ESCAPE_TMP=$shared
ESCAPE_CGROUP=$(awk '/ - cgroup2 / { print $5; exit }' /proc/self/mountinfo)$(sed -n 's/^0:://p' /proc/self/cgroup)
export ESCAPE_HOME ESCAPE_SLUICE ESCAPE_REPO ESCAPE_TMP ESCAPE_CGROUP
(cd "$HOME" && VICTIM_SECRET=$secret exec "$VICTIM" "$secret" "$name") >victim.out &
victim=$!
appears ready victim.out
while IFS='=' read -r variable value; do
    [ "$variable" = ready ] || export "$variable=$value"
done <victim.out

# --- the daemon, with a secret in its own environment and an open file --------------------------------

config "limits: {runs: 8}
agents:
  plain: {command: ['$ATTEMPT', '{prompt}'], prompt: argument, sandbox: none}
  boxed: {command: ['$ATTEMPT', '{prompt}'], prompt: argument, sandbox: bubblewrap, sandbox_network: off}
  online: {command: ['$ATTEMPT', '{prompt}'], prompt: argument, sandbox: bubblewrap, sandbox_network: on}
projects: {web: {path: '$tmp/repo', workspace_mode: worktree, merge: none}}"
OWNER_SECRET=$secret
export OWNER_SECRET
exec 9<"$HOME/.ssh/id_ed25519"
start
mkfifo hold
add --title "$secret" --cwd "$tmp" -- sh -c "echo $secret; read -r _ <hold"
other=$id
appears "$secret" "$home/runs/$other/1/out.log"
ESCAPE_SOCKET=$home/sluice.sock ESCAPE_DAEMON=$(pid_of_daemon) ESCAPE_SHIM=$(shim_of "$other" 1) ESCAPE_OTHER=$home/runs/$other/1
export ESCAPE_SOCKET ESCAPE_DAEMON ESCAPE_SHIM ESCAPE_OTHER

# --- proof --------------------------------------------------------------------------------------------

marked() { # MARK
    cat "$HOME/.profile" "$HOME/.config/systemd/user/evil.service" "$HOME/.claude/settings.json" "$HOME/.codex/config.toml" \
        "$shared/file" "$home/sluice.yaml" "$ESCAPE_OTHER/tmp/evil" repo/.git/hooks/post-checkout repo/.git/config \
        repo/Makefile repo/.git/refs/heads/stolen 2>/dev/null | grep -qF "$1"
}

proof() { # KIND MARK OUTPUT FOLDER
    case $1 in
    mark) marked "$2" ;;
    secret) grep -qF "$secret" "$3" ;;
    survivor) ! flock -n "$4/survivor" true ;; # it holds the lock until it exits
    signal) soon [ -e "$HOME/signaled" ] && rm "$HOME/signaled" ;;
    word) grep -q '^reached' "$3" ;;
    esac
}

# NAME MODE WANTED KIND OUTPUT FOLDER
judge() {
    mark="mark of $1, $2"
    case $3$4 in
    possible*) grep -q '^reached' "$5" && proof "$4" "$mark" "$5" "$6" ;;
    heldsurvivor) [ -s "$6/survivor" ] && ! proof survivor "$mark" "$5" "$6" ;;
    # It may have written to a private file of that name, which is removed with the sandbox.
    heldmark) grep -q '^held\|^reached' "$5" && ! marked "$mark" ;;
    held*) grep -q '^held' "$5" && ! grep -qF "$secret" "$5" ;;
    esac
    result=$?
    [ $result = 0 ] || sed "s/^/# $1, $2: /" "$5"
    report $result "$1: $3 for $2"
}

# CALLBACK: calls it for each attempt that is possible on this machine, with NAME PROOF PLAIN.
each() {
    while read -r attempt needs kind plain _; do
        case $attempt$needs in
        '' | '#'*) continue ;;
        *root) [ "$(id -u)" = 0 ] || continue ;;
        esac
        "$1" "$attempt" "$kind" "$plain"
    done <"$here/attempts.txt"
}

# --- as a program of the owner, every attempt succeeds --------------------------------------------------

try_as_owner() {
    (cd work && ESCAPE_MARK="# mark of $1, a program of the owner" ESCAPE_OWN=$tmp/own "$ATTEMPT" "$1") >"$1.owner" 2>&1
    case $? in
    3) echo "$1" >>absent ;; # not in this kernel
    *) judge "$1" 'a program of the owner' possible "$2" "$1.owner" "$tmp/work" ;;
    esac
}
: >absent
each try_as_owner
xargs kill <work/survivor
rm -f repo/.git/refs/heads/stolen

# --- runs ---------------------------------------------------------------------------------------------------

# AGENT: makes all attempts concurrently, each in its own run.
start_all() {
    agent=$1
    : >"$agent.ids"
    each start_one
}
start_one() {
    grep -qx "$1" absent && return
    add --project web --retries 0 --agent "$agent" $(env | sed -n 's/^\(ESCAPE_[A-Z]*\)=.*/--env \1/p') \
        --env "ESCAPE_MARK=# mark of $1, $(mode_of "$agent")" "$1"
    echo "$1 $2 $3 $id" >>"$agent.ids"
}
mode_of() {
    case $1 in
    plain) echo 'a run without a sandbox' ;;
    online) echo 'a run in a sandbox with network' ;;
    *) echo 'a run in a sandbox' ;;
    esac
}
# AGENT: checks the results.
judge_all() {
    while read -r attempt kind plain task; do
        ends "$task"
        wanted=held
        [ "$1" != plain ] || wanted=$plain
        case "$1 $attempt" in
        'online ask-port') wanted=possible ;;
        'online ask-abstract') [ "$scoped" = yes ] || wanted=possible ;; # before Linux 6.12
        esac
        judge "$attempt" "$(mode_of "$1")" "$wanted" "$kind" "$home/runs/$task/1/out.log" "$home/worktrees/$task"
        [ "$result" = 0 ] || "$SLUICE" show "$task" | sed 's/^/# /'
    done <"$1.ids"
}

scoped=yes
! "$SLUICE" doctor | grep -q 'abstract sockets' || scoped=no
# Runs without a sandbox come last: the changes that they make to the repository would affect the others.
for agent in boxed online; do
    start_all "$agent"
done
for agent in boxed online; do
    judge_all "$agent"
done
start_all plain
judge_all plain
rm -f repo/.git/refs/heads/stolen
run sluice status
exits 0 'the daemon answers after all of it'

# --- the list is complete -----------------------------------------------------------------------------------

"$ATTEMPT" --list | sort >have
awk '!/^#/ && NF { print $1 }' "$here/attempts.txt" | sort >listed
rule 'each attempt of the program is in the list, and each of the list in the program' cmp -s have listed
finish
