#!/bin/sh
# What Claude Code is not permitted to do: the task is held, nothing is paid again, and one command continues the same
# conversation. And a project that cannot be launched, and an agent that is not logged in.
# shellcheck disable=SC1091,SC2154 # kit.sh sets id, work, accounts
. "$(dirname "$0")/kit.sh"
service ok
config "$accounts
tasks.sandbox: none" # a sandbox permits commands by itself
start

held() { # HOLD
    [ "$(value "$id" state) $(value "$id" hold)" = "held $1" ]
}

scenes 'tool git init -q made-by-agent' 'ok The file is made.'
add --agent claude --cwd "$work" 'Make the file.'
rule 'a command that is not permitted: the task is held' soon held denied
rule 'it ran once, and what it paid is booked once' \
    [ "$(of "$id" "len(t['runs'])") $(booked "$id" in)" = "1 $(charged in)" ]
run sluice why "$id"
has 'Bash (git init -q made-by-agent)' 'why names the tool and the command'
has "sluice retry $id --allow 'Bash(git init:*)'" 'and the command that allows it'
rule 'nothing was done' [ ! -e "$work/made-by-agent" ]
: >"$stub/requests"
scenes 'tool git init -q made-by-agent' 'ok The file is made.'
run sluice retry "$id" --allow 'Bash(git init:*)'
rule 'allowed, it goes on' becomes "$id" 'done'
rule 'the file is there' [ -e "$work/made-by-agent" ]
rule 'in the same conversation' [ "$(asked "r[0]['turns'] >= 1 and 'Make the file.' in r[0]['prompt']")" = True ]

# --- a project that cannot be launched ---------------------------------------------------------------------

mkdir "$tmp/plain"
run sluice project add --path "$tmp/plain" plain
run sluice config set projects.plain.workspace_mode=worktree
for count in 1 2 3 4 5 6; do
    add --project plain --agent claude "Number $count."
done
rule 'a project that is not a repository holds its own tasks' soon held breaker
scenes 'ok Done.'
add --agent claude --cwd "$work" 'Say something.'
rule 'and the agent works for the others' becomes "$id" 'done'

# --- not logged in ----------------------------------------------------------------------------------------

sed -i 's/"CLAUDE_CODE_OAUTH_TOKEN": "not-a-token",//' "$HOME/.claude/settings.json"
scenes 'ok Done.'
run sluice run --agent claude --cwd "$work" 'Say something.'
exits 123 'an agent that is not logged in: run returns'
grep -qi 'log' "$tmp/err" && grep -qF 'sluice limiter clear' "$tmp/err"
report $? 'with what it said, and what to do'
run sluice status
has 'claude said: ' 'status quotes it'

finish
