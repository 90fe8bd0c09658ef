#!/bin/sh
# The messages where a sandbox cannot be created: bubblewrap is not installed, does not work, or the folder of a task
# cannot be in one.
# shellcheck disable=SC1091,SC2016,SC2154 # kit.sh sets id, home, tmp; the shell of the run expands the rest
. "$(dirname "$0")/kit.sh"
needs bwrap
run true
mkdir -p work
config "limits: {runs: 4}
retry: {launch: {delay_s: 0}}
breaker: {max: 2, agent_max: 3}
agents:
  shell: {command: [sh, -c, '{prompt}'], prompt: argument}
  linked: {command: [sh, -c, '{prompt}'], prompt: argument, sandbox_hide: [private]}
  broken: {command: ['$tmp/no-such-program']}"
start

# --- a folder that cannot be in a sandbox -------------------------------------------------------------------

says() { # TEXT 'what': why says it, in one line
    [ "$("$SLUICE" why "$id" | head -n 1 | grep -cF -e "$1")" = 1 ] || { "$SLUICE" why "$id" | head -n 1 | sed 's/^/# /' && false; }
    report $? "$2"
}
for _ in 1 2 3; do
    add --agent shell --cwd "$HOME" -- 'true'
    becomes "$id" held
done
says "'$(realpath "$HOME")' cannot be the workspace of a run in a sandbox: it is a home directory; choose another folder (--cwd), or --sandbox none" \
    'the home directory is no workspace'
add --agent shell --cwd / -- 'true'
becomes "$id" held
says "'/' cannot be the workspace of a run in a sandbox: it contains '$(realpath "$HOME")'; choose" 'nor is one around it'
add --agent shell --cwd /var/tmp -- 'true'
becomes "$id" held
says "'/var/tmp' cannot be the workspace of a run in a sandbox: other programs use it; choose" 'nor /var/tmp'
add --agent shell --cwd "$tmp/work" -- 'true'
rule 'failed launches in such folders do not close the agent' becomes "$id" 'done'

# A run can do this to the next one in its workspace.
ln -s "$HOME" work/private
for _ in 1 2 3; do
    add --agent linked --cwd "$tmp/work" -- 'true'
    becomes "$id" held
done
says 'is a symbolic link' 'a link in place of a hidden folder is a failed launch'
rm work/private
add --agent linked --cwd "$tmp/work" -- 'true'
rule 'and does not close the agent' becomes "$id" 'done'
add --agent broken --cwd "$tmp/work" hi
add --agent broken --cwd "$tmp/work" hi
rule 'that an agent cannot be run does' soon sh -c '"$1" why "$2" | grep -q "agent"' - "$SLUICE" "$id"
"$SLUICE" down --wait >/dev/null 2>&1

# --- bubblewrap is not installed ------------------------------------------------------------------------------

old=$PATH
mkdir bin
for folder in /usr/bin /bin; do
    for program in "$folder"/*; do
        [ "${program##*/}" = bwrap ] || [ -e "bin/${program##*/}" ] || ln -s "$program" "bin/${program##*/}"
    done
done
PATH=$tmp/bin
start
run sluice status
has "sandbox none: 'sluice doctor' shows why" 'status says that there is none'
run sluice doctor
has "auto is none, so agents run without a sandbox: cannot create the sandbox: there is no program 'bwrap' in the daemon's PATH; install bubblewrap" \
    'doctor says why'
has '-> sudo apt install bubblewrap && sluice down && sluice up' 'and what to do'
add --agent shell --cwd "$tmp/work" -- 'test -z "$SLUICE_SANDBOX"'
rule 'agents run without' becomes "$id" 'done'
add --sandbox bubblewrap --cwd "$tmp/work" -- true
becomes "$id" held
says "cannot create the sandbox: there is no program 'bwrap' in the daemon's PATH; install bubblewrap" 'but not a task that asks for one'
"$SLUICE" config set tasks.sandbox=none >/dev/null
run sluice doctor
has 'ok    sandbox         tasks.sandbox is none: agents run without a sandbox' 'who has decided so is not warned'
"$SLUICE" config set tasks.sandbox=auto >/dev/null
"$SLUICE" down --wait >/dev/null 2>&1

# --- it does not work -----------------------------------------------------------------------------------------

mkdir broken
printf '#!/bin/sh\necho "bwrap: No permissions to create new namespace" >&2\nexit 1\n' >broken/bwrap
chmod +x broken/bwrap
PATH=$tmp/broken:$old
start
run sluice status
has "sandbox none: 'sluice doctor' shows why" 'one that does not work is none'
run sluice doctor
has 'auto is none, so agents run without a sandbox: bwrap: No permissions to create new namespace' 'doctor says why in its own words'
has '-> # let your user create namespaces (docs/guide/sandbox.md), then restart the daemon, or: sluice config set tasks.sandbox=none' 'and what to do about that'
add --sandbox bubblewrap --cwd "$tmp/work" -- true
becomes "$id" held
says 'bwrap: No permissions to create new namespace' 'and so does why, for a task that asks for one'
finish
