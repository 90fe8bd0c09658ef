#!/bin/sh
# Tasks that a run in a sandbox adds run in a sandbox, too: added through the daemon, by a spawn file, in folders that are links.
# shellcheck disable=SC1091,SC2016,SC2154 # kit.sh sets id, home, tmp; the shell of the run expands the rest
. "$(dirname "$0")/kit.sh"
needs bwrap
run true
PATH=$(dirname "$SLUICE"):$PATH
export PATH
mkdir work elsewhere
echo secret-key >"$HOME/key"

config "limits: {runs: 8}
capability: {commands: true}
retry: {launch: {as: failed}}
agents:
  shell: {command: [sh, -c, '{prompt}'], prompt: argument, sandbox: bubblewrap}
  open: {command: [sh, -c, '{prompt}'], prompt: argument, sandbox: none}
projects: {free: {sandbox: none}}"
start

# AGENT SCRIPT: a run in work; sets $id, writes its output to out.
does() {
    agent=$1
    shift
    add --agent "$agent" --retries 0 --cwd "$tmp/work" "$@"
    ends "$id"
    cat "$home/runs/$id"/*/out.log "$home/runs/$id"/*/err.log >out 2>/dev/null
}
# ID: prints the id of the task that it has added last.
child_of() {
    "$SLUICE" list --json --all | tr '{' '\n' | sed -n "s/.*\"id\":\"\([^\"]*\)\".*\"parent\":\"$1\".*/\1/p" | tail -n 1
}
# Whether the task that run $id has added could read the key of the owner.
child_ends() {
    child=$(child_of "$id")
    [ -n "$child" ] || { echo "# $id has added nothing: $(cat out)" && return 1; }
    soon final "$child"
}
stole() {
    child_ends && grep -q secret-key "$home/runs/$child"/*/out.log
}
kept_out() {
    child_ends && [ "$(value "$child" sandbox)" = bubblewrap ] && ! grep -q secret-key "$home/runs/$child"/*/out.log
}
final() {
    case $(value "$1" state) in 'done' | failed | canceled) ;; *) return 1 ;; esac
}

# --- through the daemon --------------------------------------------------------------------------------------

steal="sluice add --retries 0 --cwd . -- cat $HOME/key"
does open "$steal"
rule 'a command that a run adds reads the key' stole
does shell "$steal"
rule 'not if that run is in a sandbox' kept_out
does shell "sluice add --retries 0 --agent open --cwd . -- 'cat $HOME/key'"
rule 'nor with an agent that is in none' kept_out
does shell "sluice add --sandbox none --cwd . -- cat $HOME/key"
rule 'it cannot say none' grep -q "'sandbox': a run cannot choose the sandbox of its children" out
printf '{"tasks":[{"argv":["true"],"wrap":["sh","-c","cat %s"]}]}' "$HOME/key" >work/wrap.json
printf '{"tasks":[{"argv":["true"],"inside":{"sandbox":"bubblewrap","root":"/"}}]}' >work/inside.json
for member in wrap inside; do
    does shell "curl -s --unix-socket \$SLUICE_SOCKET -H \"Authorization: Bearer \$SLUICE_TOKEN\" -H 'Content-Type: application/json' -d @$member.json http://x/v1/tasks"
    rule "nor $member" grep -q "'$member'" out
done

# --- where they work ---------------------------------------------------------------------------------------------

does shell "echo x >$tmp/elsewhere/a"
rule 'a run changes its folder alone' [ ! -e elsewhere/a ]
does shell "ln -s $tmp/elsewhere link; sluice add --retries 0 --cwd link -- sh -c 'echo x >a'"
child=$(child_of "$id")
soon final "$child"
rule 'and through a link its child no other' [ ! -e elsewhere/a ]
run sluice show "$child"
has 'is not in' 'which is told'
rm work/link
does shell "ln -s $tmp/elsewhere link; sluice add --retries 0 --cwd link -- sh -c 'echo x >a'" --sandbox none
child=$(child_of "$id")
soon final "$child"
rule 'without a sandbox it does' [ -e elsewhere/a ]
rm -f work/link elsewhere/a

# --- by a file ------------------------------------------------------------------------------------------------------

write="printf -- '- {argv: [cat, %s], retries: 0, cwd: %s%s}\n' $HOME/key $tmp/work"
does open --spawn next.yaml "$write '' >\$SLUICE_ARTIFACTS/next.yaml"
rule 'a task of a file reads the key' stole
does shell --spawn next.yaml "$write '' >\$SLUICE_ARTIFACTS/next.yaml"
rule 'not if the run that wrote it is in a sandbox' kept_out
does shell --spawn next.yaml "$write ', project: free' >\$SLUICE_ARTIFACTS/next.yaml"
run sluice show "$id"
has 'is in another project' 'a file cannot name a project that is in none'
does shell --spawn next.yaml "$write ', sandbox: none' >\$SLUICE_ARTIFACTS/next.yaml"
run sluice show "$id"
has "'sandbox': a run cannot choose the sandbox of its children" 'a file cannot say none'
does shell --spawn next.yaml "printf -- '- {argv: [touch, a], retries: 0, cwd: %s}\n' $tmp/elsewhere >\$SLUICE_ARTIFACTS/next.yaml"
run sluice show "$id"
has 'is not in a folder of' 'nor name another folder'
rule 'where nothing was written' [ ! -e elsewhere/a ]

# Folders that a task names are visible in its sandbox only if the owner has added the task.
mkdir "$HOME/tools"
printf '#!/bin/sh\necho ran\n' >"$HOME/tools/tool"
chmod +x "$HOME/tools/tool" "$HOME/key"
add --sandbox bubblewrap --retries 0 --cwd "$tmp/work" -- "$HOME/tools/tool"
rule 'a program in the home of the owner runs when its owner says so' becomes "$id" 'done'
echo "[{argv: [cat, $HOME/key], retries: 0, cwd: $tmp/work, sandbox: bubblewrap, checks: [[$HOME/key]]}]" >owners.yaml
add --file owners.yaml
ends "$id"
rule 'and so is the program of a check seen' grep -q secret-key "$home/runs/$id/1/out.log"
does shell --spawn next.yaml "printf -- '- {argv: [cat, %s], retries: 0, cwd: %s, checks: [[%s]]}\n' $HOME/key $tmp/work $HOME/key >\$SLUICE_ARTIFACTS/next.yaml"
rule 'not when a run in a sandbox names it' kept_out
does shell --spawn next.yaml "$write ', env: {PATH: $HOME}' >\$SLUICE_ARTIFACTS/next.yaml"
run sluice show "$id"
has "'env': a run cannot set the environment of its children" 'nor does such a run choose where programs are'
does shell --spawn next.yaml "$write ', spawn: $HOME/key' >\$SLUICE_ARTIFACTS/next.yaml"
run sluice show "$id"
has "'spawn': '$HOME/key' is not in a folder of" 'nor which file the daemon reads'
chmod -x "$HOME/key"

# --- a daemon that finds the run -----------------------------------------------------------------------------------------

mkfifo work/hold
add --agent shell --cwd "$tmp/work" -- "echo ready; read -r _ <hold; $steal"
appears ready "$home/runs/$id/1/out.log"
kill -9 "$(pid_of_daemon)"
start
unblock work/hold
ends "$id"
rule 'after a restart it is the same' kept_out
finish
