#!/bin/sh
# An agent that is denied a tool: its task is held, no run is repeated, and one command allows the tool and continues the same
# session.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"
mkdir bin plays
for agent in claude opencode; do
    ln -s "$root/tests/daemon/replay-agent" "bin/$agent"
done
PATH=$tmp/bin:$PATH
PLAYS=$tmp/plays
export PATH PLAYS

record() { # SCENARIO, stdout on stdin
    mkdir -p "recorded/$1"
    cat >"recorded/$1/stdout"
    : >"recorded/$1/stderr"
    echo 0 >"recorded/$1/exit"
}
result() { # DENIALS
    cat <<END
{"type":"system","subtype":"init","session_id":"s-1","model":"stub-model","claude_code_version":"2.1.325"}
{"type":"result","subtype":"success","is_error":false,"session_id":"s-1","result":"The parser is fixed and committed.","permission_denials":[$1],"terminal_reason":"completed","total_cost_usd":0.1,"usage":{"input_tokens":12,"output_tokens":25}}
END
}
result '{"tool_name":"Edit","tool_use_id":"t0","tool_input":{"file_path":"/x/y.c"}},{"tool_name":"Bash","tool_use_id":"t1","tool_input":{"command":"git commit -am '"'fix: \\\"it\\\"'"'"}}' |
    record claude/denied
result '' | record claude/ok
printf '{"type":"step_start","sessionID":"ses_1"}\n{"type":"step_finish","sessionID":"ses_1","part":{"reason":"stop","tokens":{"input":1,"output":1}}}\n' |
    record opencode/denied
echo '! permission requested: bash (rm -rf x); auto-rejecting' >recorded/opencode/denied/stderr

config "limiter: {margin_s: 0, jitter_s: 0}
retry: {failed: {delay_s: 0}}
agents:
  claude: {env: ['PLAYS=$tmp/plays', 'RECORDINGS=$tmp/recorded'], linger_s: 0.2}
  opencode: {env: ['PLAYS=$tmp/plays', 'RECORDINGS=$tmp/recorded']}"
start

play() { # ID SCENARIO...
    play_id=$1
    attempt=0
    shift
    for scenario; do
        attempt=$((attempt + 1))
        echo "$scenario" >"plays/$play_id.$attempt"
    done
}
hasnt() { # TEXT WHAT
    rule "$2" not grep -qF -e "$1" "$tmp/out"
}
held() { # ID REASON
    [ "$(value "$1" state) $(value "$1" hold)" = "held $2" ]
}

# --- held -------------------------------------------------------------------------------------------------

add --hold --agent claude 'mend it'
task=$id
play "$task" claude/denied claude/ok
run sluice release "$task"
rule 'a task whose agent was denied a tool is held' soon held "$task" denied
rule 'it ran once: nothing is paid twice' [ "$(value "$task" attempt) $(value "$task" failures)" = '1 0' ]
session=$("$SLUICE" show --json "$task" | first session)
fix="sluice retry $task --allow 'Bash(git commit:*)'"
run sluice why "$task"
has "Bash (git commit -am 'fix: \"it\"')" 'why names the tool and its argument'
has "$fix" 'and the command that allows it and goes on'
has "agents.claude.args: [--allowedTools, 'Bash(git commit:*)']" 'and the setting for every task'
run sluice show "$task"
has 'not permitted: Bash (git commit' 'show says what was not permitted'
hasnt 'failed (denied)' 'and does not call it a failure'
run sluice list
hasnt 'failed' 'nor does the list'
run sluice status
has "denied:$task" 'there is an alert'
has "$fix" 'and it has the command'
run sluice digest
has 'claude was not permitted to use Bash (git commit' 'the digest names it'
has "sluice retry --allow 'Bash(git commit:*)' $task" 'with the command'
run sluice events --limit 50 --json
has '"outcome":"denied"' 'the event of the end has the outcome'
kill -9 "$(pid_of_daemon)"
run sluice up
run sluice why "$task"
has "$fix" 'all that is known after a crash'

# --- one command ------------------------------------------------------------------------------------------

run sluice retry "$task" --allow 'Bash(git commit:*)'
exits 0 'it is allowed'
rule 'and the task goes on' becomes "$task" 'done'
rule 'in the same session' grep -qF -e "--resume $session" "plays/$task.2.argv"
rule 'with the rule' grep -qF -e "--allowedTools Bash(git commit:*)" "plays/$task.2.argv"
rule 'and the agent knows of it' grep -qF 'permitted now' "plays/$task.2.prompt"
run sluice status --json
has '"alerts":[]' 'the alert is over'
add --hold --agent claude 'another one'
play "$id" claude/ok
run sluice release "$id"
becomes "$id" 'done'
rule 'other tasks do not have it' sh -c '! grep -qF -e "git commit" "plays/'"$id"'.1.argv"'

# --- other commands ---------------------------------------------------------------------------------------

add --hold --agent claude 'mend it'
play "$id" claude/denied claude/ok
run sluice release "$id"
soon held "$id" denied
run sluice release "$id"
rule 'a person can let it go on as it is' becomes "$id" 'done'
add --hold --agent claude 'mend it'
play "$id" claude/denied
run sluice release "$id"
soon held "$id" denied
run sluice cancel "$id"
rule 'or cancel it' in_state "$id" canceled

# --- a check that passes --------------------------------------------------------------------------------------

add --hold --agent claude --until validate --check true 'mend it'
play "$id" claude/denied
run sluice release "$id"
rule 'a check that passes says more than a denial' becomes "$id" 'done'
add --hold --agent claude --until validate --check false 'mend it'
play "$id" claude/denied
run sluice release "$id"
rule 'where it fails, the denial is the cause' soon held "$id" denied
rule 'and nothing is tried again' [ "$(value "$id" attempt)" = 1 ]

# --- other agents -----------------------------------------------------------------------------------------

add --hold --agent opencode 'mend it'
play "$id" opencode/denied
run sluice release "$id"
rule 'the same of an agent that says it in words' soon held "$id" denied
run sluice why "$id"
has 'bash (rm -rf x)' 'why names the tool'
has 'opencode.json' 'and where it is allowed'
run sluice retry "$id" --allow bash
exits 2 'an agent without such an option: --allow is refused'
complains 'no option that allows one tool' 'with the reason'
rule 'and the task stays as it is' soon held "$id" denied

finish
