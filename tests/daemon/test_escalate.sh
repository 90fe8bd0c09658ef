#!/bin/sh
# Models of tasks, and steps to stronger agents and models after results that were not accepted. Fake agents log their arguments
# and prompts.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"
. "$here/player.sh"
# A second agent with sessions: the same program under another name.
cp bin/claude bin/strong
config "retry: {failed: {max: 0}, unfinished: {max: 6, delay_s: 0}}
limiter: {margin_s: 0, jitter_s: 0, initial_s: 1, probe: false, recovery_s: 0}
runaway: {pause_s: 0}
prices: {tiny: {in: 1, out: 10}, huge: {in: 100, out: 1000}}
agents:
  claude: {env: ['PLAYS=$tmp/plays', 'SLUICE_BIN=$SLUICE'], linger_s: 0.2}
  strong: {adapter: claude, command: ['$tmp/bin/strong', '--model', '{model}', '--session-id', '{session}'], model: base, env: ['PLAYS=$tmp/plays'], linger_s: 0.2}
  own: {adapter: plain, command: ['cat']}
  words: {adapter: plain, command: ['sh', '-c', 'cat >/dev/null; echo \$1 >\$PLAYS/\$SLUICE_RUN.model', '-', '{model}'], model: usual, env: ['PLAYS=$tmp/plays']}"
start

model_of() { # ID ATTEMPT
    sed -n 's/.*--model \([^ ]*\).*/\1/p' "plays/$1.$2.argv"
}
ran() { # ID: the models of its attempts
    for file in plays/"$1".[0-9]*.argv; do
        echo "${file#"plays/$1."}"
    done | sort -n | while read -r name; do
        sed -n 's/.*--model \([^ ]*\).*/\1/p' "plays/$1.$name"
    done | tr '\n' ' '
}
escalated() { # ID
    "$SLUICE" events --json --task "$1" | grep -c '"kind":"task.escalated"'
}

# --- a model for one task ------------------------------------------------------------------------------------

add --agent claude --model opus 'mend it'
rule 'a task has a model of its own' becomes "$id" 'done'
rule 'which its agent is given' [ "$(model_of "$id" 1)" = opus ]
rule 'lists have it' [ "$(value "$id" model)" = opus ]
run sluice show "$id"
has 'agent claude, model opus' 'and show'
add --agent claude 'mend it'
rule 'a task without a model' becomes "$id" 'done'
rule 'leaves the choice to its agent' [ -z "$(model_of "$id" 1)" ]
add --agent words --model tiny 'mend it'
rule 'a command with the word {model}' becomes "$id" 'done'
rule 'gets the model of the task' [ "$(cat "plays/$id.1.model")" = tiny ]
add --agent words 'mend it'
rule 'or without one' becomes "$id" 'done'
rule 'that of its agent' [ "$(cat "plays/$id.1.model")" = usual ]

# --- bad input ---------------------------------------------------------------------------------------------------

before=$("$SLUICE" list --all --json | tr '{' '\n' | grep -c '"id":')
refused() { # TEXT 'what' ARGUMENTS...
    text=$1 what=$2
    shift 2
    run sluice add "$@"
    rule "$what" [ $code != 0 ]
    complains "$text" '  the message says what is wrong'
}
refused "'model': model '-x' begins with '-'" 'a model that would be an option' --agent claude --model=-x 'mend it'
refused 'expected' 'a model of two lines' --agent claude --model "$(printf 'a\nb')" 'mend it'
refused "agent 'own' cannot be given a model: put the word {model} into agents.own.command" 'an agent that takes no model' --agent own --model x 'mend it'
refused "'model' needs an 'agent'" 'a model without an agent' --model x --prompt 'mend it'
refused "'escalate': there is no agent 'nobody'" 'a step to an agent that does not exist' --agent claude --escalate nobody:x 'mend it'
refused "'escalate': agent 'own' cannot be given a model" 'a step to a model that its agent does not take' --agent claude --escalate own:x 'mend it'
refused "'escalate': ':' is not a step: write AGENT, AGENT:MODEL or :MODEL" 'a step that is none' --agent claude --escalate : 'mend it'
refused "begins with '-'" 'a step to an option' --agent claude --escalate :-x 'mend it'
run sluice add --model x -- true
complains "'model' is for a 'prompt'" 'a command of its own has no model'
rule 'nothing was stored' [ "$("$SLUICE" list --all --json | tr '{' '\n' | grep -c '"id":')" = "$before" ]
run sluice config set agents.claude.escalate=nobody
rule 'a setting with an unknown agent is refused' [ $code != 0 ]
complains "key 'agents.claude.escalate': there is no agent 'nobody'" '  the message names the setting'
run sluice config set agents.own.model=-x
rule 'and a model that would be an option' [ $code != 0 ]

# --- steps ------------------------------------------------------------------------------------------------------

# A check that the task passes when its agent has made the file.
adding --agent claude --model haiku --escalate :sonnet,strong:opus --escalate-after 2 --until validate --check "test -e $tmp/made" 'make it'
first=$id
plays 5 "touch '$tmp/made'"
released
rule 'a task whose check fails is done in the end' becomes "$first" 'done'
rule 'each step has its failures, and the model of its own' [ "$(ran "$first")" = 'haiku haiku sonnet sonnet opus ' ]
rule 'another model of the same agent goes on in its session' grep -q -e '--resume' "plays/$first.3.argv"
rule 'and gets the feedback alone' not grep -qx 'make it' "plays/$first.3.prompt"
rule 'another agent begins a new session' not grep -q -e '--resume' "plays/$first.5.argv"
rule 'with the complete prompt' grep -qx 'make it' "plays/$first.5.prompt"
rule 'and the feedback of the iterations before' grep -q 'test -e' "plays/$first.5.prompt"
rule 'the task is at the second step' [ "$(value "$first" step) $(value "$first" agent) $(value "$first" model)" = '2 strong opus' ]
run sluice show "$first"
has 'step 2 of 2: strong:opus after 2 failures (the last one: failed checks)' 'show says which one, and why'
run sluice why "$first"
has 'step 2 of 2: strong:opus after 2 failures' 'so does why'
run sluice events --json --task "$first"
has '"from":"claude:haiku","to":"claude:sonnet","step":1,"steps":2,"reason":"validation","failures":2' 'there is an event for each step'
has '"from":"claude:sonnet","to":"strong:opus","step":2' 'also for the second'
run sluice show --json "$first"
rule 'a run has the agent that it ran with' grep -q '"attempt":5,[^{}]*"agent":"strong"' out
rule 'there is a counter of steps' sh -c 'curl -s --unix-socket "$1" http://localhost/metrics | grep -qx "sluice_escalations_total 2"' - "$home/sluice.sock"

# --- what resets it -----------------------------------------------------------------------------------------------

rm "$tmp/made"
plays 6 "touch '$tmp/made'"
run sluice again "$first"
rule 'again goes on at the same step' becomes "$first" 'done'
rule 'with its agent' [ "$(ran "$first")" = 'haiku haiku sonnet sonnet opus opus ' ]
rm "$tmp/made"
plays 7 "touch '$tmp/made'"
run sluice again --own-agent "$first"
rule 'a person may ask for its own agent' becomes "$first" 'done'
rule 'and model' [ "$(ran "$first")" = 'haiku haiku sonnet sonnet opus opus haiku ' ]
rule 'then it is not escalated' [ "$(value "$first" step) $(value "$first" agent)" = '0 claude' ]

# --- limits, crashes and launches do not escalate ------------------------------------------------------------------

adding --agent claude --model haiku --escalate :opus --escalate-after 1 --retries 3 'make it'
limited=$id
plays 1 'printf "%s\n" "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":true,\"api_error_status\":429,\"session_id\":\"$session\",\"result\":\"API Error: Request rejected (429) · rate limited\",\"usage\":{\"input_tokens\":0,\"output_tokens\":0}}"; exit 1'
plays 2 'exit 3'
plays 3 'kill -9 $$'
released
rule 'limits, failures and crashes' becomes "$limited" 'done'
rule 'take no step' [ "$(escalated "$limited") $(value "$limited" step)" = '0 0' ]
rule 'and change no model' [ "$(ran "$limited" | tr ' ' '\n' | sort -u | tr -d '\n')" = haiku ]

# --- rejections, and a default of the agent --------------------------------------------------------------------

run sluice config set 'agents.claude.escalate=[":opus"]' agents.claude.escalate_after=1
exits 0 'an agent has a default list'
add --agent claude --review 'write it'
review=$id
rule 'work that waits for review' soon sh -c '"$SLUICE" show --json "$1" | grep -q "\"hold\":\"review\""' - "$review"
run sluice reject --reason 'too short' "$review"
rule 'a rejection is a verified failure' soon sh -c '[ -e "$1" ]' - "plays/$review.2.argv"
rule 'the list of its agent applies' [ "$(model_of "$review" 2)" = opus ]
rule 'the reason is in the prompt' grep -q 'too short' "plays/$review.2.prompt"
run sluice events --json --task "$review"
has '"reason":"rejected"' 'and the event says why'

# A stop of the daemon in between changes nothing.
daemon=$(pid_of_daemon)
kill -9 "$daemon"
is_gone "$daemon"
start
rule 'a step survives the death of the daemon' [ "$(value "$review" step) $(value "$review" model)" = '1 opus' ]
soon sh -c '"$SLUICE" show --json "$1" | grep -q "\"hold\":\"review\""' - "$review"
run sluice approve "$review"
rule 'and the task is done' becomes "$review" 'done'

add --agent claude --failover none --until validate --check 'false' --hold 'stay'
run sluice show "$id"
rule 'a task that is bound to its agent has no default list' not grep -q 'escalation' out
add --agent claude --escalate-after 0 --until validate --check 'false' --hold 'stay'
run sluice show "$id"
rule 'nor one that asks for none' not grep -q 'escalation' out

# --- a failure for want of restarts counts ------------------------------------------------------------------------

run sluice config set retry.unfinished.max=0
adding --agent claude --model haiku --escalate :opus --escalate-after 1 --until validate --check "test -e $tmp/late" 'make it'
plays 2 "touch '$tmp/late'"
released
rule 'the last failure' becomes "$id" 'failed'
run sluice retry "$id"
rule 'leaves the next step to a retry' becomes "$id" 'done'
rule 'which begins there' [ "$(ran "$id")" = 'haiku opus ' ]
finish
