#!/bin/sh
# The first agent command of the README works as typed: in a sandbox Claude may run commands. The fake claude reports denials
# like the real one, with recorded messages: it continues, reports success, and lists the denied tools.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets id, home, tmp; the shell of the fake expands the rest
. "$(dirname "$0")/kit.sh"
. "$here/repository.sh"
needs bwrap
mkdir bin
cat >bin/claude <<'END'
#!/bin/sh
cat >/dev/null
printf '%s\n' "$@" >arguments
may() { # TOOL: true if it is in the list of --allowedTools
    while read -r word; do
        case ,${word#--allowedTools=}, in *",$1,"*) return 0 ;; esac
    done <arguments
    return 1
}
denials=
may Bash && touch ran || denials='{"tool_name":"Bash","tool_use_id":"toolu_1","tool_input":{"command":"make test"}}'
may mcp__sluice || denials='{"tool_name":"mcp__sluice__queue_task","tool_use_id":"toolu_2","tool_input":{}}'
printf '{"type":"system","subtype":"init","session_id":"s-1","model":"m"}\n'
printf '{"type":"result","subtype":"success","is_error":false,"terminal_reason":"completed","result":"The parser is fixed and committed.","permission_denials":[%s],"usage":{"input_tokens":1,"output_tokens":1},"num_turns":1}\n' "$denials"
END
chmod +x bin/claude
PATH=$tmp/bin:$PATH
export PATH
config 'tasks: {sandbox: auto, sandbox_read: ["'"$tmp/bin"'"]}'
start

# The commands of the README, in a repository as it asks for.
mkdir -p "$HOME/src"
repository web
mv web "$HOME/src/web"
command_of() { # BEGIN
    sed -n '/^## First agent task/,/^## /p' "$root/README.md" | grep -m 1 "^$1" | sed 's|^sluice|"$SLUICE"|'
}
eval "$(command_of 'sluice config set projects')" >/dev/null
eval "$(command_of 'sluice add .*--agent claude')" >out 2>err
id=$(sed 's/ .*//' out)
rule 'the first agent command of the README works as typed' becomes "$id" 'done'
rule 'in a sandbox' [ "$(value "$id" sandbox)" = bubblewrap ]
rule 'in one run' [ "$(value "$id" attempt)" = 1 ]
rule 'it could run commands' git -C "$HOME/src/web" cat-file -e "sluice/$id:ran"

add --project web --cwd - --agent claude --sandbox none --retries 0 'Make the tests of the parser pass.'
ends "$id"
run sluice show "$id"
has denied 'without a sandbox it may not run commands'
rule 'and has not' [ ! -e "$home/worktrees/$id/ran" ]
rule 'but the tools of the queue are allowed' grep -qx -e --allowedTools=mcp__sluice "$home/worktrees/$id/arguments"
finish
