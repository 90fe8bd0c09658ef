#!/bin/sh
# Failover: other agents take over from an agent with a limited account, until the limit ends. With recorded runs of two real
# agents, and a kill of the daemon while both accounts are closed.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"
mkdir bin plays
for agent in claude codex; do
    ln -s "$root/tests/daemon/replay-agent" "bin/$agent"
done
PATH=$tmp/bin:$PATH
export PATH
settings() { # LIST
    config "limiter: {margin_s: 0, jitter_s: 0, initial_s: 1, probe: false, recovery_s: 0}
agents:
  claude: {env: ['PLAYS=$tmp/plays', 'RECORDINGS=$root/tests/fixtures/agents'], failover: $1}
  codex: {env: ['PLAYS=$tmp/plays', 'RECORDINGS=$root/tests/fixtures/agents']}"
}
settings '[codex]'
start

play() { # ID ATTEMPT SCENARIO...
    what=$1.$2
    shift 2
    echo "$*" >"plays/$what"
}

account() { # NAME STATE
    "$SLUICE" limiter list --json | tr '{' '\n' | grep "\"name\":\"$1\"" | grep -q "\"state\":\"$2\""
}

session_of() { # ID ATTEMPT
    "$SLUICE" show --json "$1" | tr '{' '\n' | grep "\"task\":\"$1\",\"attempt\":$2," | first session
}

# --- one is limited ---------------------------------------------------------------------------------------

add --hold --usd 2 --agent claude 'mend it'
first=$id
play "$first" 1 claude/limit-oauth 3600
play "$first" 2 codex/ok-json
run sluice release "$first"
rule 'a task whose account is limited goes on with the next agent of the list' becomes "$first" 'done'
rule 'at once: nothing was counted, and the limit is still there' \
    [ "$(value "$first" attempt) $(value "$first" failures) $(account claude backoff && echo limited)" = '2 0 limited' ]
rule 'the second attempt had the command of the second agent' grep -q '^[^ ]*/codex exec ' "plays/$first.2.argv"
rule 'and the whole prompt, not the middle of a talk with another' \
    [ "$(tail -n 1 "plays/$first.2.prompt")" = 'mend it' ]
rule 'with one line that says who has begun' [ "$(head -n 1 "plays/$first.2.prompt")" = \
    'Another agent (claude) has begun this task and was interrupted: look at what it has left in this folder, and go on from there.' ]
rule 'which the first agent is not told' [ "$(cat "plays/$first.1.prompt")" = 'mend it' ]
run sluice show "$first"
has 'ok, with codex for claude' 'show says who ran, and for whom'
has 'task unknown of $2.00, 1 run of unknown cost' 'the second tells no money: its budget says so'
run sluice show --json "$first"
rule 'also as JSON' grep -q '"agent":"codex",[^{}]*"instead_of":"claude"' out
run sluice events --json --task "$first"
has '"agent":"codex","instead_of":"claude","instead_until":1' 'and so does the event of its start'
rule 'the account of the second knows of no limit' account codex open

# --- tasks that wait for their own agent ---------------------------------------------------------------------

add --agent claude --failover none 'only you'
none=$id
printf 'tasks:\n- {name: own, agent: claude, argv: ["true"]}\n' >own.yaml
add --file own.yaml
own=$id
rule 'a task with `--failover none` waits for its own agent' soon sh -c '"$SLUICE" show --json "$1" | grep -q "\"gate\":\"limiter\""' - "$none"
rule 'and so does one with a command of its own' [ "$(value "$own" gate)" = limiter ]

# --- both are closed -----------------------------------------------------------------------------------------

add --hold --agent claude 'mend that'
both=$id
play "$both" 1 codex/401
run sluice release "$both"
rule 'a refused key closes the account of the second agent, not that of the first' soon sh -c '"$SLUICE" limiter list --json | grep -q "\"state\":\"closed\""'
run sluice why "$both"
has 'agents  claude: limited, opens in' 'why has each agent: the one that opens by itself'
has 'codex: closed until cleared' 'and the one that a person must clear'
has 'no agent it fails over to is open (1 named)' 'and the reason says that there is no other'
run sluice why --json "$both"
has '"name":"codex","limiter":"codex","state":"closed","opens_at":null' 'also as JSON'
rule 'the task is ready, and nothing was counted' [ "$(value "$both" state) $(value "$both" failures)" = 'ready 0' ]
kill -9 "$(pid_of_daemon)"
run sluice up
exits 0 'a daemon that was killed meanwhile starts again'
rule 'nothing has started' [ "$(value "$both" state) $(value "$both" attempt)" = 'ready 1' ]

# --- the first is open again -----------------------------------------------------------------------------------

play "$both" 2 claude/limit-oauth 1
play "$both" 3 claude/ok-stream
play "$none" 1 claude/ok-stream
run sluice limiter clear claude
rule 'the first agent is taken again as soon as it is open, also after another limit' becomes "$both" 'done'
rule 'with its own command' grep -q '^[^ ]*/claude -p ' "plays/$both.3.argv"
session=$(session_of "$both" 2)
rule 'and goes on with its own session' grep -qF -- "--resume $session" "plays/$both.3.argv"
rule 'who waited for it has it now' becomes "$none" 'done'
rule 'with a command of its own too' becomes "$own" 'done'

# --- resumes its own session after a run of another agent ---------------------------------------------------------

run sluice limiter clear codex
add --hold --agent claude 'mend all'
back=$id
play "$back" 1 claude/limit-oauth 3600
play "$back" 2 codex/401
play "$back" 3 claude/ok-stream
run sluice release "$back"
soon account codex closed
run sluice limiter clear claude
rule 'after a turn of the other it comes back' becomes "$back" 'done'
session=$(session_of "$back" 1)
rule 'and goes on with the session from before' grep -qF -- "--resume $session" "plays/$back.3.argv"

# --- invalid lists -------------------------------------------------------------------------------------------------

settings '[codx]'
run sluice config reload
exits 2 'a list that names nobody is refused'
complains "there is no agent 'codx'" 'with its name'
settings '[claude]'
run sluice config reload
complains 'cannot take over from itself' 'nor does one take over from itself'
settings '[codex, gemini]'
run sluice config reload
exits 0 'a list can be changed while the daemon runs'
run sluice agent list --json
has '"failover":["codex","gemini"]' 'and is shown'
finish
