#!/bin/sh
# Agents run in a sandbox: what they can read and change, and that no run that needs a sandbox starts without one.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets id, home, tmp; the shell of the run expands the rest
. "$(dirname "$0")/kit.sh"
needs bwrap
run true
PATH=$(dirname "$SLUICE"):$PATH
export PATH

# --- what is there to be reached --------------------------------------------------------------------------

mkdir -p "$HOME/.ssh" "$HOME/.config/tool" "$HOME/notes" work
echo secret-key >"$HOME/.ssh/id"
echo secret-note >"$HOME/notes/a"
echo read-me >"$HOME/.config/tool/a"
echo '[user]' >"$HOME/.gitconfig"
outside=$(mktemp -d /var/tmp/sandbox-XXXXXX)
trap 'stop_daemon; rm -rf "$outside" "$tmp"' EXIT
echo secret-file >"$outside/a"

config "limits: {runs: 8}
retry: {launch: {as: failed}}
agents:
  shell: {command: [sh, -c, '{prompt}'], prompt: argument, env: [\"OUTSIDE=$outside\"], sandbox: auto}
  open: {command: [sh, -c, '{prompt}'], prompt: argument, env: [\"OUTSIDE=$outside\"], sandbox: none}
  offline: {command: [sh, -c, '{prompt}'], prompt: argument, sandbox_network: off}
  lists: {command: [sh, -c, '{prompt}'], prompt: argument, sandbox_read: [~/.config/tool], sandbox_write: [~/notes], sandbox_hide: [private]}
  wrapped: {command: [sh, -c, '{prompt}'], prompt: argument, wrap: [env, 'WRAPPED={workspace} {run}']}"
start

# AGENT SCRIPT: one run in $tmp/work; writes its output to out, sets $code.
does() {
    add --agent "$1" --retries 0 --cwd "$tmp/work" -- "$2"
    ends "$id"
    cat "$home/runs/$id"/*/out.log "$home/runs/$id"/*/err.log >out 2>/dev/null
    code=$("$SLUICE" show --json "$id" | first exit_code)
}
succeeds() { # 'what' AGENT SCRIPT
    does "$2" "$3"
    exits 0 "$1"
}
# Asserts that the script fails in a sandbox and succeeds without one, else it proves nothing.
held() { # 'what' SCRIPT
    does open "$2"
    exits 0 "$1: possible without a sandbox"
    does shell "$2"
    [ "$code" != 0 ] && ! grep -q secret out
    report $? "$1: held in a sandbox"
}

# --- it is shown -------------------------------------------------------------------------------------------

run sluice status
has 'sandbox bubblewrap' 'status says what auto is'
run sluice status --json
has '"sandbox":{"auto":"bubblewrap","why":null}' 'and so it is in JSON'
run sluice doctor
has 'auto is bubblewrap' 'doctor says it'
succeeds 'an agent runs in it' shell 'test "$SLUICE_SANDBOX" = bubblewrap && test $$ -lt 20'
rule 'show --json names the sandbox of a run' [ "$(value "$id" sandbox)" = bubblewrap ]
run sluice show "$id"
has 'sandbox     bubblewrap' 'and so does show'
"$SLUICE" show --json "$id" | grep -q '"applied":"[^"]*bubblewrap'
report $? 'what was in force is recorded'
add --cwd "$tmp/work" -- sh -c 'test -z "$SLUICE_SANDBOX"'
rule 'a command is in none' becomes "$id" 'done'
add --cwd "$tmp/work" --sandbox bubblewrap -- sh -c 'test "$SLUICE_SANDBOX" = bubblewrap'
rule 'unless its task says so' becomes "$id" 'done'
add --agent shell --cwd "$tmp/work" --sandbox none -- 'test -z "$SLUICE_SANDBOX"'
rule 'a task can say none' becomes "$id" 'done'
run sluice add --cwd "$tmp/work" --sandbox chroot -- true
complains sandbox 'another word is refused'

# --- what it reaches ----------------------------------------------------------------------------------------

succeeds 'it works in its workspace' shell 'echo here >made && pwd'
[ "$(cat out)" = "$tmp/work" ] && [ -s work/made ]
report $? 'under the same path'
held 'reading a key of the owner' 'cat ~/.ssh/id'
held 'reading a file of the owner that no list names' 'cat ~/notes/a'
held 'reading the store' "cat $home/sluice.* | grep -q sluice"
held 'reading the settings' "cat $home/sluice.yaml"
held 'reading the log of another run' "cat $home/runs/*/1/out.log | grep -q ."
held 'asking at the socket of the owner' "test -S $home/sluice.sock"
held 'writing to the system' 'echo x >"$OUTSIDE/b"'
held 'reading what another program has in /var/tmp' 'cat "$OUTSIDE/a"'
held 'seeing other processes' "test -e /proc/$(pid_of_daemon)/stat && grep -q sluiced /proc/$(pid_of_daemon)/stat"
held 'changing the home of the owner for good' 'echo x >>~/.gitconfig'
succeeds 'what it writes into the home is gone with it' shell 'echo x >~/new && mkdir -p ~/.tool/x'
rule 'the home of the owner is as it was' [ ! -e "$HOME/new" ]
succeeds 'git knows who commits' shell 'grep -q user ~/.gitconfig'
succeeds 'a cache is kept' shell 'echo mine >~/.cache/x'
succeeds 'for the next run of the project' shell 'grep -q mine ~/.cache/x'
rule 'and is not that of the owner' [ ! -e "$HOME/.cache/x" ]
[ "$(id -u)" = 0 ] ||
    succeeds 'it can make a sandbox of its own' shell 'bwrap --ro-bind / / --dev /dev --proc /proc --unshare-pid true'
succeeds 'names are resolved as elsewhere' shell 'test ! -e /etc/resolv.conf || cat /etc/resolv.conf >/dev/null'

# --- what Sluice gives to a run --------------------------------------------------------------------------------

succeeds 'it asks the daemon' shell 'sluice show "$SLUICE_TASK"'
succeeds 'it posts messages' shell 'sluice bus post hello && sluice bus post --project "$SLUICE_PROJECT" all && sluice bus read | grep -q hello'
run sluice bus read --project default
has all 'which others read'
succeeds 'it leaves artifacts' shell 'echo a >"$SLUICE_ARTIFACTS/a" && test -w "$TMPDIR"'
rule 'that stay' [ -s "$home/tasks/$id/iterations/001/artifacts/a" ]
add --agent shell --until 'done' --cwd "$tmp/work" -- 'touch "$SLUICE_DONE"; exit 3'
rule 'its DONE marker counts' becomes "$id" 'done'
run sluice pause
run sluice again "$id"
rule 'and is taken away when it begins again' [ ! -e "$home/tasks/$id/own/$id" ]
run sluice resume
other=$id
succeeds 'it marks no other task' shell "touch $home/done/$other; true"
rule 'whatever it writes there' [ ! -e "$home/done/$other" ]
add --agent shell --cwd "$tmp/work" --check 'test "$SLUICE_SANDBOX" = bubblewrap && test $$ -lt 20' -- 'true'
rule 'its checks are in the sandbox, too' becomes "$id" 'done'
echo words >work/input
add --sandbox bubblewrap --cwd "$tmp/work" --stdin "$tmp/work/input" -- grep -q words
rule 'its standard input is a file of the workspace' becomes "$id" 'done'
add --sandbox none --retries 0 --cwd "$tmp/work" --stdin "$HOME/.ssh/id" -- cat
ends "$id"
rule 'without one it can be any file' grep -q secret "$home/runs/$id"/*/out.log
add --sandbox bubblewrap --retries 0 --cwd "$tmp/work" --stdin "$HOME/.ssh/id" -- cat
ends "$id"
rule 'and none that it does not see' not grep -q secret "$home/runs/$id"/*/out.log

# --- settings --------------------------------------------------------------------------------------------------

succeeds 'without network there is none' offline 'test "$(grep -c : /proc/self/net/dev)" -le 1'
succeeds 'lists show and open more' lists 'cat ~/.config/tool/a && echo x >>~/notes/a && ! echo x 2>/dev/null >>~/.config/tool/a'
mkdir -p work/private && echo secret-part >work/private/a
does lists 'cat private/a'
rule 'and hide' not grep -q secret out
rm -r work/private
ln -s "$HOME/.ssh" work/private
does lists 'true'
run sluice show "$id"
has 'is a symbolic link' 'a link in the workspace does not open what a setting names'
rm work/private
succeeds 'another program is put before the command' wrapped 'case $WRAPPED in *"/work "*/runs/*) ;; *) exit 1 ;; esac'
rule 'and named' [ "$(value "$id" sandbox)" = wrap ]
add --agent wrapped --retries 0 --cwd "$tmp/work" --env LD_PRELOAD=/x.so -- 'true'
becomes "$id" failed
run sluice show "$id"
has "cannot set 'LD_PRELOAD'" 'with variables that cannot take it over'

# --- never without ------------------------------------------------------------------------------------------------

add --agent shell --retries 0 --cwd "$HOME" -- 'true'
becomes "$id" failed
run sluice show "$id"
has "cannot be the workspace of a run in a sandbox" 'the home directory is no workspace'

cat >work/live.sh <<'END'
sluice show "$SLUICE_TASK" >/dev/null && echo before
read -r _ <hold
sluice show "$SLUICE_TASK" >/dev/null && echo after
END
mkfifo work/hold
add --agent shell --cwd "$tmp/work" -- 'sh live.sh'
live=$id
appears before "$home/runs/$live/1/out.log"
kill -9 "$(pid_of_daemon)"
start
rule 'a daemon that finds a run knows its sandbox' [ "$(value "$live" sandbox)" = bubblewrap ]
unblock work/hold
becomes "$live" 'done'
rule 'and is reached from there' grep -q after "$home/runs/$live/1/out.log"

# Folders behind links, in the home directory, which is another one inside.
ln -s "$tmp/work" "$HOME/linked"
add --agent shell --retries 0 --cwd "$HOME/linked" -- 'echo x >linked && pwd'
rule 'a workspace can be behind a link' becomes "$id" 'done'
rule 'and is changed there' [ -s work/linked ]
"$SLUICE" down --wait >/dev/null 2>&1
mkdir -m 700 real real/home
cp "$home/sluice.yaml" real/home
ln -s "$tmp/real" "$HOME/real"
old=$home
home=$HOME/real/home SLUICE_HOME=$HOME/real/home
start
succeeds 'and so can the home of Sluice' shell 'echo x >"$SLUICE_ARTIFACTS/a" && echo x >"$TMPDIR/x" && touch "$SLUICE_DONE" && sluice show "$SLUICE_TASK" && sluice bus post hello'
held 'reading its store' "cat $HOME/real/home/sluice.* $tmp/real/home/sluice.* 2>/dev/null | grep -q sluice"
"$SLUICE" down --wait >/dev/null 2>&1
home=$old SLUICE_HOME=$old

# A bubblewrap that does not work.
mkdir broken
printf '#!/bin/sh\necho "bwrap: No permissions to create new namespace" >&2\nexit 1\n' >broken/bwrap
chmod +x broken/bwrap
PATH=$tmp/broken:$PATH
start
run sluice status --json
has '"auto":"none","why":"bwrap: No permissions' 'auto is none where it does not work'
run sluice doctor
has 'auto is none' 'doctor says why'
succeeds 'then agents run without' shell 'test -z "$SLUICE_SANDBOX"'
add --agent shell --retries 0 --sandbox bubblewrap --cwd "$tmp/work" -- 'echo ran >ran'
becomes "$id" failed
run sluice show "$id"
has 'No permissions to create new namespace' 'who asks for it does not run without'
rule 'at all' [ ! -e work/ran ]
finish
