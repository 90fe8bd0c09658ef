#!/bin/sh
# The reserve of an account: at the configured use nothing more starts until the window ends, live runs finish, and others take
# over. With a fake agent that prints what Claude Code prints, and with recorded runs of two real agents.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"
mkdir bin plays
for agent in claude codex; do
    ln -s "$root/tests/daemon/replay-agent" "bin/$agent"
done

# Prints its use at once, and its result when the fifo `go` is written, or at once without one.
cat >bin/fake <<'END'
#!/bin/sh
cat >/dev/null
read -r used left <"$PLAYS/used"
printf '{"type":"system","subtype":"init","session_id":"%s","claude_code_version":"2.1.325"}\n' "$SLUICE_SESSION"
reset=$(($(date +%s) + left))
echo "$reset" >"$PLAYS/reset"
printf '{"type":"rate_limit_event","rate_limit_info":{"status":"allowed","unifiedWindows":{"five_hour":{"utilization":%s,"resetsAt":%s}}}}\n' \
    "$used" "$reset"
[ ! -e "$PLAYS/go" ] || read -r _ <"$PLAYS/go"
printf '{"type":"result","subtype":"success","is_error":false,"result":"Done.","session_id":"%s"}\n' "$SLUICE_SESSION"
END

# Prints what Codex prints, and writes the file of its thread, which has its use.
cat >bin/fake-codex <<'END'
#!/bin/sh
cat >/dev/null
thread=01a1e551-0000-0000-0000-00000000000${SLUICE_RUN##*.}
printf '{"type":"thread.started","thread_id":"%s"}\n{"type":"turn.started"}\n' "$thread"
mkdir -p "$HOME/.codex/sessions/2026/11/16"
printf '{"timestamp":"2026-11-16T17:06:57.641Z","type":"event_msg","payload":{"type":"token_count","info":null,"rate_limits":{"limit_id":"codex","primary":{"used_percent":12.0,"window_minutes":300,"resets_at":%s},"secondary":{"used_percent":95.0,"window_minutes":10080,"resets_at":%s}}}}\n' \
    "$(($(date +%s) + 3300))" "$(($(date +%s) + 300000))" >"$HOME/.codex/sessions/2026/11/16/rollout-2026-11-16T17-06-57-$thread.jsonl"
printf '{"type":"item.completed","item":{"type":"agent_message","text":"Done."}}\n'
printf '{"type":"turn.completed","usage":{"input_tokens":10,"cached_input_tokens":0,"output_tokens":5}}\n'
END
chmod +x bin/fake bin/fake-codex
mkdir homes
PATH=$tmp/bin:$PATH
export PATH
settings() { # RESERVE
    config "limiter: {margin_s: 0, jitter_s: 0}
limits: {runs: 1}
limiters:
  plan: {$1}
  other: {reserve: 20}
  chatgpt: {reserve_weekly: 10}
agents:
  fake: {command: [$tmp/bin/fake], adapter: claude, env: ['PLAYS=$tmp/plays'], limiter: plan}
  weekly: {command: [$tmp/bin/fake-codex], adapter: codex, env: ['HOME=$tmp/homes'], limiter: chatgpt}
  claude: {env: ['PLAYS=$tmp/plays', 'RECORDINGS=$root/tests/fixtures/agents'], failover: [codex], limiter: other}
  codex: {env: ['PLAYS=$tmp/plays', 'RECORDINGS=$root/tests/fixtures/agents']}"
}
settings 'reserve: 20'
start
state_is() { # LIMITER STATE
    "$SLUICE" limiter show --json "$1" | grep -q "\"state\":\"$2\""
}
window() { # LIMITER MEMBER: of its 5-hour window
    "$SLUICE" limiter show --json "$1" | tr '{' '\n' | grep '"window":"five_hour"' | first "$2"
}

# --- it parks, survives a kill, and opens at the reset ------------------------------------------------------

run sluice limiter show plan
has '5-hour unknown, 20 % reserved' 'before the first report the use is unknown'
echo '0.82 3300' >plays/used
mkfifo plays/go
add --agent fake 'first'
first=$id
add --agent fake 'second'
second=$id
rule 'a live run reports how much is used' soon state_is plan reserved
rule 'and goes on' [ "$(value "$first" state)" = running ]
unblock plays/go
rule 'to its end' becomes "$first" 'done'
rule 'nothing else starts' [ "$(value "$second" state) $(value "$second" attempt)" = 'ready 0' ]
run sluice why "$second"
has "account 'plan' has used 82 % of its 5-hour window; 20 % is reserved for you" 'why says what is used and what is reserved'
has 'opens in 5' 'and when it opens'
run sluice limiter list
has 'reserved' 'limiter list has the state'
has '5-hour 82 %, 20 % reserved, resets in 5' 'and the window'
run sluice status
has '5-hour 82 %, 20 % reserved, resets in 5' 'and so does status'
run sluice events --json
has '"kind":"limiter.used"' 'the use is an event'
has '"window":"five_hour","used":82,"reserve":20,"resets_at":1' 'with use, reserve and reset time'
rule 'one of them' [ "$(grep -c limiter.used out)" = 1 ]

before=$(window plan resets_at)
kill -9 "$(pid_of_daemon)"
run sluice up
exits 0 'a daemon that was killed meanwhile starts again'
rule 'the account is still reserved, until the same time' [ "$(state_is plan reserved && window plan resets_at)" = "$before" ]
rule 'and nothing has started' [ "$(value "$second" state) $(value "$second" attempt)" = 'ready 0' ]

# --- a person opens it ---------------------------------------------------------------------------------------

rm plays/go
echo '0.82 3' >plays/used
run sluice limiter clear plan
exits 0 'a person may open it'
rule 'what waited starts' becomes "$second" 'done'

# --- it opens at the reset -----------------------------------------------------------------------------------

# The second run has reported an end of the window that is near.
reset=$(cat plays/reset)
echo '0.01 3600' >plays/used
add --agent fake 'third'
third=$id
kill -9 "$(pid_of_daemon)"
run sluice up
rule 'it opens by itself' becomes "$third" 'done'
rule 'at the reset, not before' [ "$(value "$third" started_at)" -ge "${reset}000" ]
rule 'and the next window counts' [ "$(window plan used_percent)" = 1 ]

# --- the setting ----------------------------------------------------------------------------------------------

echo '0.5 3600' >plays/used
add --agent fake 'fourth'
becomes "$id" 'done'
rule 'with enough left it is open' state_is plan open
settings 'reserve: 20, reserve_five_hour: 50'
run sluice config reload
rule 'a larger reserve for this window closes it at once' state_is plan reserved
settings 'reserve: 20, reserve_weekly: 50'
run sluice config reload
rule 'one for the other window opens it' state_is plan open
for bad in 'reserve: 101' 'reserve: -1' 'reserve: some' 'reserve: 1.5' 'reserve: 20%' 'reserve_weekly: 200' 'reserve_five_hour: never'; do
    settings "$bad"
    run sluice config reload
    exits 2 "'$bad' is refused"
    complains "limiters.plan.${bad%%:*}" 'with its name'
done
run sluice config set limiters.plan.reserve=101
exits 2 'nor can it be set'
complains 'limiters.plan.reserve' 'with its name'
settings 'reserve: 20'
run sluice config reload
run sluice limiter show plna
exits 1 'an account that does not exist is not shown'
complains "did you mean 'plan'" 'with the one that was meant'

# --- the weekly window, from the file of a thread --------------------------------------------------------------

add --agent weekly 'one'
rule 'a run of Codex ends well' becomes "$id" 'done'
rule 'and its file closes the account' state_is chatgpt reserved
add --agent weekly 'two'
run sluice why "$id"
has "account 'chatgpt' has used 95 % of its weekly window; 10 % is reserved for you" 'why names the window'
has 'opens in 3 d' 'and its end'
run sluice limiter show chatgpt
has '5-hour 12 %, resets in 5' 'the other window is shown, too'
run sluice cancel "$id"

# --- recorded runs, and another agent ---------------------------------------------------------------------------

play() { # ID ATTEMPT SCENARIO...
    what=$1.$2
    shift 2
    echo "$*" >"plays/$what"
}
add --hold --agent claude 'mend it'
fifth=$id
add --hold --agent claude 'mend that'
sixth=$id
add --hold --agent claude --failover none 'only you'
seventh=$id
play "$fifth" 1 claude/allowed-oauth 3600
play "$sixth" 1 codex/ok-json
play "$seventh" 1 claude/warn-oauth 4
run sluice release "$fifth"
rule 'a recorded run at 93 % ends well' becomes "$fifth" 'done'
rule 'and leaves its account reserved' state_is other reserved
run sluice release "$sixth" "$seventh"
rule 'the next agent of the list takes the next task' becomes "$sixth" 'done'
rule 'with its own command' grep -q '^[^ ]*/codex exec ' "plays/$sixth.1.argv"
rule 'a task that stays with its agent waits' [ "$(value "$seventh" attempt) $(value "$seventh" gate)" = '0 limiter' ]
run sluice limiter clear other
rule 'until somebody opens it' becomes "$seventh" 'done'
add --agent claude --hold --failover none 'and you'
play "$id" 1 claude/ok-stream
reset=$(cat "plays/$seventh.1.reset")
run sluice release "$id"
rule 'after a recorded run the account opens by itself' becomes "$id" 'done'
rule 'at the recorded reset' [ "$(value "$id" started_at)" -ge "${reset}000" ]
finish
