#!/bin/sh
# Sluice in a folder that sandboxes hide, and that PATH does not have: a build in the home directory. A run in a sandbox still
# has the program, for its questions and for the tools of `sluice mcp install`, and nothing else of that folder.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets id, home, tmp; the shell of the run expands the rest
. "$(dirname "$0")/kit.sh"
needs bwrap
run true
mkdir -p work "$HOME/src/build"
for name in sluice sluiced sluice-shim sluice-acp; do
    cp "$(dirname "$SLUICE")/$name" "$HOME/src/build"
done
echo secret >"$HOME/src/build/notes"
SLUICE=$HOME/src/build/sluice
export SLUICE
config "agents: {shell: {command: [sh, -c, '{prompt}'], prompt: argument, sandbox: auto}}"
start

add --agent shell --retries 0 --cwd "$tmp/work" -- "$SLUICE ask --choice blue --choice red 'Which colour?'"
rule 'a run in a sandbox asks' becomes "$id" held
rule 'and it was in one' [ "$("$SLUICE" show --json "$id" | first sandbox)" = bubblewrap ]
run sluice questions
has 'Which colour?' 'a person sees the question'
add --agent shell --retries 0 --cwd "$tmp/work" -- "ls '$HOME/src/build'; chmod 777 '$SLUICE'"
ends "$id"
rule 'it sees nothing else there' [ "$(cat "$home/runs/$id/1/out.log")" = sluice ]
rule 'and cannot change the program' grep -q -i 'read-only' "$home/runs/$id/1/err.log"

# As installed: the shim is in another folder than the program.
"$SLUICE" down >/dev/null 2>&1
mkdir -p "$HOME/opt/bin" "$HOME/opt/libexec/sluice"
mv "$HOME/src/build/sluice" "$HOME/src/build/sluiced" "$HOME/opt/bin"
mv "$HOME/src/build/sluice-shim" "$HOME/src/build/sluice-acp" "$HOME/opt/libexec/sluice"
SLUICE=$HOME/opt/bin/sluice
start
add --agent shell --retries 0 --cwd "$tmp/work" -- "$SLUICE ask --choice blue --choice red 'Which door?'"
rule 'also when it is installed below the home directory' becomes "$id" held
finish
