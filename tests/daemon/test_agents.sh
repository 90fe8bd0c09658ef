#!/bin/sh
# Recorded runs of real agents: limits, sessions, accounts, and kills of the daemon.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"
mkdir bin plays
for agent in claude codex; do
    ln -s "$root/tests/daemon/replay-agent" "bin/$agent"
done
PATH=$tmp/bin:$PATH
PLAYS=$tmp/plays
export PATH PLAYS
config "limiter: {margin_s: 0, jitter_s: 0}
agents:
  claude: {env: ['PLAYS=$tmp/plays', 'RECORDINGS=$root/tests/fixtures/agents'], linger_s: 0.2}
  codex: {env: ['PLAYS=$tmp/plays', 'RECORDINGS=$root/tests/fixtures/agents']}
prices:
  stub-model: {in: 1, out: 2}"
start

play() { # ID ATTEMPT SCENARIO...
    what=$1.$2
    shift 2
    echo "$*" >"plays/$what"
}

# A held task: its id is known before it runs, so that its recordings can be selected.
hold() {
    add --hold --agent "$1" 'mend it'
}

# --- a limit ------------------------------------------------------------------------------------------

hold claude
limited=$id
play "$limited" 1 claude/limit-oauth 3600
play "$limited" 2 claude/limit-oauth 1
play "$limited" 3 claude/ok-stream
run sluice release "$limited"
rule 'a plan that is used up: its account waits' soon sh -c '"$SLUICE" limiter list --json | grep -q "\"state\":\"backoff\""'
rule 'its task is not running, and nothing was counted' \
    [ "$(value "$limited" state) $(value "$limited" failures) $(value "$limited" gate)" = 'ready 0 limiter' ]
run sluice status
has 'claude' 'status names the account'
run sluice why "$limited"
has 'limiter' 'and why says what it waits for'
session=$("$SLUICE" show --json "$limited" | first session)
kill -9 "$(pid_of_daemon)"
run sluice up
exits 0 'a daemon that was killed meanwhile starts again'
rule 'the account still waits' soon sh -c '"$SLUICE" limiter list --json | grep -q "\"state\":\"backoff\""'
run sluice limiter clear claude # the next limit is short
soon [ -e "plays/$limited.2.prompt" ]
kill -9 "$(pid_of_daemon)"
run sluice up
rule 'when the time has come it goes on by itself' becomes "$limited" 'done'
for attempt in 2 3; do
    rule "attempt $attempt: in the same session" grep -qF -e "--resume $session" "plays/$limited.$attempt.argv"
    rule "attempt $attempt: and is told again what to do" grep -qF 'mend it' "plays/$limited.$attempt.prompt"
done
rule 'it took three attempts and no retry' [ "$(value "$limited" attempt) $(value "$limited" failures)" = '3 0' ]
run sluice show "$limited"
has "limited, exit code 1: You've hit your 5-hour limit" 'show has what the agent said'
has 'session ' 'and its session'
has 'resumed' 'that was gone on with'

# --- a refused account ------------------------------------------------------------------------------------

hold claude
refused=$id
play "$refused" 1 claude/403
play "$refused" 2 claude/ok-stream
run sluice release "$refused"
rule 'an account that is refused is closed' soon sh -c '"$SLUICE" limiter list --json | grep -q "\"state\":\"closed\""'
run sluice limiter list
said=$("$SLUICE" limiter list --json | first said)
rule 'the agent said something' [ -n "$said" ]
has "claude needs a person: claude said: $said" 'limiter list has the words of the agent'
has '-> ' 'and what to do'
rule 'nothing was counted' [ "$(value "$refused" state) $(value "$refused" failures)" = 'ready 0' ]
run sluice limiter clear claude
exits 0 'until a person clears it'
rule 'then its tasks go on' becomes "$refused" 'done'

# --- a process that does not exit -------------------------------------------------------------------------

hold claude
stays=$id
play "$stays" 1 claude/ok-stream 0 stay
run sluice release "$stays"
rule 'a process that stays after its result is asked to go, and its result counts' becomes "$stays" 'done'
run sluice show "$stays"
has 'ok' 'as its result said'

# --- tokens over two runs of one session ----------------------------------------------------------------------

hold codex
counted=$id
play "$counted" 1 codex/resume-1
run sluice release "$counted"
becomes "$counted" 'done'
"$SLUICE" show --json "$counted" >"$tmp/out"
rule 'tokens of an agent are known without a report' [ "$(field tokens_in) $(field tokens_out) $(field tokens_cached)" = '4312 25 4000' ]
rule 'and money by the price of its model, where nobody knows one it is unknown' \
    sh -c 'grep -q "\"cost_usd\":null" out || grep -q "\"model\":\"stub-model\"" out'

# --- the exit code ------------------------------------------------------------------------------------------

add --hold --agent claude --retries 0 'mend it'
quiet=$id
play "$quiet" 1 claude/sigterm
run sluice release "$quiet"
rule 'without a last word there is no success' becomes "$quiet" failed

# --- loops without progress --------------------------------------------------------------------------------

config "loop: {stuck_iterations: 2}
retry: {unfinished: {delay_s: 0}}"
kill -HUP "$(pid_of_daemon)"
git init -q tree && (cd tree && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m one)
soon sh -c '[ "$("$SLUICE" config get --live loop.stuck_iterations)" = 2 ]'
add --until 'done' --cwd "$tmp/tree" -- sh -c '[ "$SLUICE_ITERATION" -gt 3 ] || date +%N >>file'
still=$id
rule 'a loop that changes nothing any more is stopped' becomes "$still" failed
rule 'and says so' [ "$(value "$still" reason)" = stuck ]
rule 'after the iterations that did something, and two that did not' [ "$(value "$still" attempt)" = 5 ]
rule 'nothing of the repository was touched' [ "$(git -C tree status --porcelain)" = '?? file' ]

finish
