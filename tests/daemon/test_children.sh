#!/bin/sh
# A run cannot add tasks with commands that Sluice would execute, on any path by which runs add tasks. Each path is first
# shown to work for the owner, and for a run if the owner allows it.
# shellcheck disable=SC1091,SC2016,SC2154 # kit.sh sets id, home, tmp; the shell of the run expands the rest
. "$(dirname "$0")/kit.sh"
needs curl
PATH=$(dirname "$SLUICE"):$PATH
export PATH

mkdir "$tmp/web"
config "limits: {runs: 20}
capability: {children: 1000, running: 20}
agents:
  quick: {command: ['true']}
  rogue: {command: [sh, $tmp/rogue.sh]}
projects: {web: {path: $tmp/web}}"

# attack.sh PATH MARK: adds a task whose check or command creates the file MARK.
cat >attack.sh <<'END'
check="{\"project\":\"web\",\"agent\":\"quick\",\"prompt\":\"x\",\"checks\":[[\"touch\",\"$2\"]]}"
argv="{\"project\":\"web\",\"argv\":[\"touch\",\"$2\"]}"
mcp() { # TOOL ARGUMENTS
    printf '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"%s","arguments":%s}}\n' "$1" "$2"
}
ask() { # PATH BODY
    curl -s --unix-socket "${SLUICE_SOCKET:-$SLUICE_HOME/sluice.sock}" ${SLUICE_TOKEN:+-H "Authorization: Bearer $SLUICE_TOKEN"} \
        -H 'Accept: application/json, text/event-stream' -H 'MCP-Protocol-Version: 2025-06-18' --json "$2" "http://sluice$1"
}
case $1 in
cli-check) sluice add -p web --agent quick --check "touch $2" x ;;
cli-argv) sluice add -p web -- touch "$2" ;;
file-check) echo "- $check" >"$2.yaml" && sluice add -f "$2.yaml" ;;
file-argv) echo "- $argv" >"$2.yaml" && sluice add -f "$2.yaml" ;;
file-defaults) echo "{\"defaults\": $check, \"tasks\": [{\"prompt\": y}]}" >"$2.yaml" && sluice add -f "$2.yaml" ;;
formula-check) printf 'steps:\n  - {id: a, agent: quick, prompt: x, checks: [touch %s]}\n' "$2" >"$2.yaml" && sluice add -p web --formula "$2.yaml" ;;
formula-argv) printf 'steps:\n  - {id: a, run: touch %s}\n' "$2" >"$2.yaml" && sluice add -p web --formula "$2.yaml" ;;
http-check) ask /v1/tasks "{\"tasks\":[$check]}" ;;
http-argv) ask /v1/tasks "{\"tasks\":[$argv]}" ;;
mcp-check) mcp queue_task "$check" | sluice mcp ;;
mcp-argv) mcp queue_task "$argv" | sluice mcp ;;
mcp-http) ask /mcp "$(mcp queue_task "$argv")" ;;
spawn-check) echo "[$check]" >"$SLUICE_SPAWN" ;;
spawn-argv) echo "[$argv]" >"$SLUICE_SPAWN" ;;
spawn-defaults) echo "{\"defaults\": $check, \"tasks\": [{\"prompt\": y}]}" >"$SLUICE_SPAWN" ;;
esac
END
paths='cli-check cli-argv file-check file-argv file-defaults formula-check formula-argv http-check http-argv mcp-check mcp-argv mcp-http'

# An agent that executes its prompt: PATH MARK.
cat >rogue.sh <<END
read -r words
set -- \$words
cd $tmp && sh $tmp/attack.sh "\$@" 2>&1
END
start

quiet() {
    [ -z "$("$SLUICE" list --ids --state waiting,ready,starting,running)" ]
}

for path in $paths; do
    sh attack.sh "$path" "$tmp/owner-$path" >out 2>err
    rule "$path: works for the owner" soon [ -e "owner-$path" ]
done

# SETTING PATH...
attack() {
    kind=$1
    shift
    for path; do
        case $path in
        spawn-*) add -p web --agent rogue --spawn next.yaml "$path $tmp/$kind-$path" ;;
        *) add -p web --agent rogue "$path $tmp/$kind-$path" ;;
        esac
        ends "$id"
        soon quiet
        "$SLUICE" show "$id" >"$kind-$path.show"
        "$SLUICE" logs "$id" >"$kind-$path.log" 2>&1
    done
}

tasks() {
    "$SLUICE" list --ids --state all --limit 1000 | wc -l
}

before=$(tasks)
spawns='spawn-check spawn-argv spawn-defaults'
# shellcheck disable=SC2086 # lists
attack refused $paths $spawns
for path in $paths $spawns; do
    rule "$path: a run gets no command executed" [ ! -e "refused-$path" ]
    rule "$path: and the refusal says why" grep -qE "'(argv|checks)': a run may only name a configured agent, not a command" "refused-$path.log" "refused-$path.show"
done
rule 'no task of it is there' [ "$(tasks)" = "$((before + 15))" ]

run sluice config set capability.commands=true
# shellcheck disable=SC2086 # lists
attack allowed $paths $spawns
for path in $paths $spawns; do
    rule "$path: with capability.commands it works" [ -e "allowed-$path" ]
done
finish
