#!/bin/sh
# Budgets of runs, tasks and projects, with output of real agents: live runs are stopped, tasks are held, also across
# kills of the daemon; unknown costs are not zero.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"

# Both print the lines of their play; if there is a fifo, they then wait for a line from it.
mkdir bin plays
cat >bin/claude <<'END'
#!/bin/sh
cat >/dev/null
echo "$*" >"$PLAYS/$SLUICE_RUN.argv"
cat "$PLAYS/$SLUICE_RUN" 2>/dev/null
[ ! -p "$PLAYS/$SLUICE_RUN.stay" ] || read -r _ <"$PLAYS/$SLUICE_RUN.stay"
cat "$PLAYS/$SLUICE_RUN.last" 2>/dev/null
[ ! -e "$PLAYS/$SLUICE_RUN.code" ] || exit 1
END
cp bin/claude bin/opencode
chmod +x bin/claude bin/opencode
PATH=$tmp/bin:$(dirname "$SLUICE"):$PATH
export PATH
config "limits: {runs: 8}
projects: {web: , api: , shop: {budget_usd: 1}}
retry: {failed: {max: 5, delay_s: 0}}
capability: {depth: 2}
agents:
  claude: {env: ['PLAYS=$tmp/plays'], slots: 8}
  opencode: {env: ['PLAYS=$tmp/plays'], slots: 8}
  child: {command: [sh, -c, 'cat >/dev/null; sluice report --tokens 100']}"
start

# Claude's final message: TOKENS DOLLARS ERROR; without DOLLARS it reports no cost.
result() {
    printf '{"type":"result","subtype":"%s","is_error":%s,"result":"%s","session_id":"5f0c3a52-9d0e-4a7c-8a51-0c6f2f6d1b11","num_turns":1,"terminal_reason":"%s",%s"usage":{"input_tokens":%s,"output_tokens":0,"cache_read_input_tokens":0,"cache_creation_input_tokens":0}}\n' \
        "$([ "$3" = true ] && echo error_during_execution || echo success)" "$3" "$([ "$3" = true ] && echo broken || echo ok)" \
        "$([ "$3" = true ] && echo error || echo completed)" "${2:+\"total_cost_usd\":$2,}" "$1"
}
# One step of opencode, reported while it runs: TOKENS DOLLARS REASON.
step() {
    printf '{"type":"step_finish","timestamp":1,"sessionID":"ses_1","part":{"type":"step-finish","reason":"%s","cost":%s,"tokens":{"total":%s,"input":%s,"output":0,"reasoning":0,"cache":{"read":0,"write":0}}}}\n' "$3" "$2" "$1" "$1"
}
hold() { # OPTION...: adds a held task, whose plays are written later; sets $id
    add --hold "$@" 'mend it'
}
is_alerted() { # KEY
    "$SLUICE" status --json | grep -oE '"alerts":\[[^]]*\]' | grep -qF "\"key\":\"$1\""
}
not_alerted() {
    ! is_alerted "$1"
}
budget() { # ID PART MEMBER: of `budget`, as the daemon reports it
    "$SLUICE" show --json "$1" | grep -oE "\"$2\":\{\"tokens\":\{[^}]*\},\"usd\":\{[^}]*\}" | head -n 1 |
        grep -oE "\"$3\":\{[^}]*\}" | first used
}

# --- a live run is stopped ------------------------------------------------------------------------------

hold --project web --agent opencode --run-tokens 1000 --on-budget stop
mkfifo "plays/$id.1.stay"
step 1500 0.02 tool-calls >"plays/$id.1"
run sluice release "$id"
rule 'a run that passes its budget is stopped while it runs, and its task held' becomes "$id" held
rule 'for its budget, and nothing is counted' [ "$(value "$id" hold) $(value "$id" failures) $(value "$id" losses)" = 'budget 0 0' ]
run sluice why "$id"
has "its last run has used 1,500 of 1,000 tokens; raise it with \`sluice budget $id --run-tokens N\` to let it continue" \
    'why says how much, and what lets it go on'
run sluice show "$id"
has 'stopped: it has used 1,500 of 1,000 tokens' 'and show why the run has ended'
run sluice status
has "budget:$id" 'a person is told'
step 10 0.001 stop >"plays/$id.2"
run sluice budget "$id" --run-tokens 2000
exits 0 'a person raises it: exit code'
prints "$id budget changed: ready" 'and is told what it is now'
rule 'then it goes on, and is done' becomes "$id" 'done'

# --- all runs of a task, across a kill ----------------------------------------------------------------------

hold --project web --agent claude --tokens 1000 --usd 0.5 --run-usd 2
result 600 0.2 true >"plays/$id.1"
: >"plays/$id.1.code"
mkfifo "plays/$id.2.stay"
result 500 '' true >"plays/$id.2.last"
: >"plays/$id.2.code"
run sluice release "$id"
rule 'claude is told what its task has left' appears '--max-budget-usd 0.3' "plays/$id.2.argv"
rule 'the first run is counted' [ "$(budget "$id" task tokens) $(budget "$id" task usd)" = '600 0.200000' ]
kill -9 "$(pid_of_daemon)"
run sluice up
exits 0 'a daemon that was killed meanwhile starts again'
rule 'what was used is known' [ "$(budget "$id" task tokens)" = 600 ]
unblock "plays/$id.2.stay"
rule 'when all is used the task is held, and not repeated' becomes "$id" held
run sluice why "$id"
has "it has used 1,100 of 1,000 tokens; raise it with \`sluice budget $id --tokens N\` to let it continue" 'for its own budget'
run sluice budget "$id"
exits 0 'budget shows it: exit code'
has '1,100' 'what was used'
has '1 run of unknown cost' 'and that one run told no cost'
has 'at least $0.20' 'so that what was used is a least'
kill -9 "$(pid_of_daemon)"
run sluice up
rule 'a second kill changes nothing' [ "$(value "$id" state) $(value "$id" hold) $(budget "$id" task tokens)" = 'held budget 1100' ]
run sluice release "$id"
rule 'to release it is not enough' [ "$(value "$id" state)" = held ]
result 50 0.01 false >"plays/$id.3"
run sluice budget "$id" --tokens 5000
rule 'with more it goes on' becomes "$id" 'done'

# --- an agent that enforces its own limit ---------------------------------------------------------------

hold --project web --agent claude --run-usd 2
result 900 2.000000 true | sed -e s/error_during_execution/error_max_budget_usd/ -e 's/"terminal_reason":"error"/"terminal_reason":"budget_exhausted"/' >"plays/$id.1"
: >"plays/$id.1.code"
run sluice release "$id"
becomes "$id" held
rule 'an agent that stops at the budget it was told leaves a task that is held without a time' \
    [ "$(value "$id" hold) $(value "$id" not_before)" = 'budget null' ]
run sluice why "$id"
has 'its last run has used $2.00 of $2.00' 'and why says so'

# --- the window of a project ------------------------------------------------------------------------------

hold --project shop --agent opencode
live=$id
mkfifo "plays/$live.1.stay"
step 100 1.25 tool-calls >"plays/$live.1"
step 100 0.25 stop >"plays/$live.1.last"
run sluice release "$live"
rule 'a window that is used up is told to a person, by what live runs have told' soon is_alerted window:shop
add --project shop -- true
waiting=$id
rule 'new work of the project waits' [ "$(value "$waiting" gate)" = project-budget ]
run sluice why "$waiting"
has "project 'shop' has used \$1.25 of \$1.00 in 24 h" 'and why names the dollars'
add --project api -- true
rule 'that of others does not' becomes "$id" 'done'
rule 'running tasks continue' [ "$(value "$live" state)" = running ]
unblock "plays/$live.1.stay"
rule 'to its end' becomes "$live" 'done'
kill -9 "$(pid_of_daemon)"
run sluice up
rule 'the window is the same after a kill' [ "$(value "$waiting" gate)" = project-budget ]
run sluice project show shop
has '$1.50' 'project show has the sum'
run sluice config set projects.shop.budget_usd=10
rule 'with more it goes on' becomes "$waiting" 'done'
rule 'and nobody is told of it any more' not_alerted window:shop

# --- optionally stops live runs --------------------------------------------------------------------------

run sluice config set projects.shop.budget_usd=2 budget_stops_runs=true
hold --project shop --agent opencode
mkfifo "plays/$id.1.stay"
step 100 3 tool-calls >"plays/$id.1"
run sluice release "$id"
soon sh -c '[ "$("$SLUICE" show --json '"$id"' | grep -oE "\"outcome\":\"[a-z]*\"" | head -n 1)" = "\"outcome\":\"budget\"" ]'
report $? 'with budget_stops_runs a live run is stopped, too'
rule 'its task waits for the window, and nothing is counted' \
    [ "$(value "$id" gate) $(value "$id" failures) $(value "$id" losses)" = 'project-budget 0 0' ]

# --- children --------------------------------------------------------------------------------------------

mkfifo go
add --project web --tokens 1000 -- sh -c "cd '$tmp' && sluice add --agent child --tokens 600 go >added && read -r _ <go"
parent=$id
soon test -s added
child=$(cut -d ' ' -f 1 added)
becomes "$child" 'done'
rule 'what a child did not use goes back to its parent' \
    [ "$("$SLUICE" show --json "$parent" | grep -oE '"handed":\{[^}]*\}' | first tokens)" = 100 ]
unblock go
becomes "$parent" 'done'

# --- output of other commands ----------------------------------------------------------------------------

run sluice status --all
has 'budget_usd:project:shop' 'status has the money of a window'
has '##########' 'with a bar'
finish
