#!/bin/sh
# permissions: ask. What an agent that speaks the Agent Client Protocol may do is a question of its task: the agent waits for
# the person, or ends its turn and gets the answer when it asks again, over kills of the daemon and of the run.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets id, home and tmp
. "$(dirname "$0")/kit.sh"
needs python3
agent=$root/tests/acp/agent
mkdir -p work
common="adapter: acp, permissions: ask, sandbox: none"
command='echo made >>$ACP_MADE'
config "retry: {lost: {delay_s: 0}}
limits: {runs: 1}
agents:
  patient: {$common, command: ['$agent', insist], env: ['ACP_COMMAND=$command', 'ACP_MADE=$tmp/made', 'ACP_SEEN=$tmp/seen']}
  hasty: {$common, ask_wait_s: 1, command: ['$agent', insist], env: ['ACP_COMMAND=$command', 'ACP_MADE=$tmp/made', 'ACP_SEEN=$tmp/seen']}
  forgetful: {$common, ask_wait_s: 1, command: ['$agent'], env: ['ACP_SEEN=$tmp/seen']}
  late: {$common, ask_deadline_s: 1, command: ['$agent', insist], env: ['ACP_COMMAND=$command', 'ACP_MADE=$tmp/made']}
  talker: {$common, command: ['$agent']}"
start

open_question() { # ID
    "$SLUICE" questions | grep -q "^  $1 "
}
held() { # ID
    [ "$(value "$1" state) $(value "$1" hold)" = 'held question' ]
}
asking() { # AGENT PROMPT...: its question is open
    : >made
    : >seen
    name=$1
    shift
    add --agent "$name" --retries 0 --cwd "$tmp/work" -- "$*"
    soon open_question "$id"
}
asked() { # ID: how many questions it has asked
    "$SLUICE" events --limit 1000 --json | grep -c "\"kind\":\"task.asked\",\"task\":\"$1\""
}
log() { # ID ATTEMPT
    cat "$home/runs/$1/$2/out.log"
}

# --- the agent waits ---------------------------------------------------------------------------------------------

asking patient go
task=$id
run sluice questions --json
has "\"question\":\"May the agent do this? execute: Run it\\nsh -c $command\"" 'the question has the complete command'
has '"choices":["allow_once","allow_always","reject_once"],"default":"reject_once"' 'the options are the choices, a denial the default'
run sluice why "$task"
has 'May the agent do this?' 'why has it'
add -- true
other=$id
rule 'a run that waits keeps its slot' [ "$(value "$other" state)" = ready ]
run sluice answer "$task" perhaps
exits 2 'another answer is refused'
run sluice answer "$task" allow_once
exits 0 'an answer'
rule 'the agent goes on' becomes "$task" 'done'
rule 'the command ran' [ "$(cat made)" = made ]
rule 'in the same attempt' [ "$(value "$task" attempt)" = 1 ]
log "$task" 1 >out
has "{\"acp\":\"allowed\",\"tool\":\"execute\",\"argument\":\"$command\",\"by\":\"$(id -un)\"}" 'the log of the run says who allowed it'
run sluice logs "$task"
has "allowed by $(id -un): execute" 'and so does its transcript'
rule 'its option was selected' grep -q '"outcome":"selected","optionId": *"do-allow_once"' seen
becomes "$other" 'done'

asking patient go
run sluice answer "$id" reject_once
rule 'a denial by a person is a decision: the agent ends its turn as it likes' becomes "$id" 'done'
rule 'and the command did not run' [ ! -s made ]
log "$id" 1 >out
has '"acp":"rejected"' 'the log says that it was rejected'

asking patient go
crash=$(pid_of_daemon)
kill -9 "$crash"
is_gone "$crash"
run sluice up
rule 'after a kill of the daemon the question is open' soon open_question "$id"
run sluice answer "$id" allow_once
rule 'and the waiting agent gets the answer' becomes "$id" 'done'
rule 'in the same attempt, once' [ "$(value "$id" attempt) $(cat made) $(asked "$id")" = '1 made 1' ]

asking talker both one two
run sluice answer "$id" Yes
second() { "$SLUICE" questions | grep -q '[^a-z]two'; }
rule 'a second request is the next question' soon second
run sluice answer "$id" No
rule 'each gets its own answer' becomes "$id" 'done'
run sluice show "$id"
has 'yes no' 'in its order'

asking patient go
run sluice cancel "$id"
rule 'a cancel ends the wait' becomes "$id" canceled
rule 'the request was answered before' grep -q '"outcome":"cancelled"' seen
run sluice questions
prints 'no open questions' 'and the question is gone'

: >made
add --agent late --retries 0 --cwd "$tmp/work" -- go
ends "$id"
rule 'without an answer it is denied' [ ! -s made ]
run sluice show "$id"
has 'denied' 'and the outcome says so'

# --- the agent ends its turn -----------------------------------------------------------------------------------

asking hasty go
rule 'after ask_wait_s the task is held' soon held "$id"
rule 'nothing is counted' [ "$(value "$id" failures) $(value "$id" restarts)" = '0 0' ]
rule 'its agent was canceled properly' grep -q '"method":"session/cancel"' seen
log "$id" 1 >out
has '{"acp":"end","reason":"asked"' 'and the log says why'
task=$id
add -- true
rule 'it uses no slot' becomes "$id" 'done'
run sluice answer "$task" allow_once
rule 'the task goes on' becomes "$task" 'done'
rule 'in the same session' grep -q '"method":"session/load".*"sessionId":"sess-1"' seen
rule 'where the same request has its answer: nobody is asked again' [ "$(value "$task" attempt) $(asked "$task") $(cat made)" = '2 1 made' ]

asking forgetful run touch "$tmp/by-forgetful"
appears '"acp":"waits"' "$home/runs/$id/1/out.log"
[ "$(value "$id" state)" = running ] && ! grep -q session/cancel seen
report $? 'an agent that cannot resume is not interrupted after ask_wait_s'
run sluice answer "$id" allow_once
rule 'it waits on' becomes "$id" 'done'
rule 'and does it' [ -e by-forgetful ]

# --- the run is killed -------------------------------------------------------------------------------------------

asking patient go
shim=$(shim_of "$id" 1)
kill -9 "$shim"
second_attempt() { [ "$(value "$id" attempt)" = 2 ] && [ "$(grep -c session/prompt seen)" = 2 ]; }
rule 'a run that is killed is started again' soon second_attempt
rule 'its question stays open, and is not asked twice' open_question "$id"
run sluice answer "$id" allow_once
rule 'the next attempt gets the answer' becomes "$id" 'done'
rule 'once' [ "$(asked "$id") $(cat made)" = '1 made' ]

# --- what it says ------------------------------------------------------------------------------------------------

asking talker "run $(printf 'echo \033[2K\342\200\256x')"
run sluice questions --json
rule 'controls in a command are visible' grep -qF 'echo \\u001b[2K\\u202ex' out
run sluice cancel "$id"
finish
