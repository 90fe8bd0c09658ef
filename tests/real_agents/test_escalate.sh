#!/bin/sh
# Real agents with a model of the task, and a stronger model after failed checks: claude in the same session, then codex in a new one.
# shellcheck disable=SC1091,SC2154 # kit.sh sets id, work, accounts
. "$(dirname "$0")/kit.sh"
service ok
config "$accounts
retry: {unfinished: {max: 6, delay_s: 0}}
runaway: {pause_s: 0}"
start

models() { # the models that the provider was asked for, one after another
    asked "' '.join(next((word for word in ('haiku', 'opus', 'one', 'two') if word in str(one.get('model'))), '?') for one in r if 'turns' in one)"
}

: >"$stub/requests"
scenes 'ok Not yet.' 'ok Still not.' "tool touch passed" 'ok There it is.'
add --agent claude --model haiku --escalate :opus --escalate-after 2 --until validate --check 'test -e passed' --cwd "$work" 'Make the file passed.'
rule 'claude: done after a step' becomes "$id" 'done'
rule 'claude: two results of haiku, then opus' [ "$(models)" = 'haiku haiku opus opus' ]
rule 'claude: in the same session' [ "$(of "$id" "len({run['session'] for run in t['runs']})")" = 1 ]
rule 'claude: with the feedback in the same conversation' [ "$(asked "r[-1]['turns'] >= 3")" = True ]
rule 'claude: the runs have their models' [ "$(of "$id" "['opus' in run['model'] for run in t['runs']]")" = '[False, False, True]' ]
rule 'claude: every token is booked once' [ "$(booked "$id" in) $(booked "$id" out)" = "$(charged in) $(charged out)" ]

rm "$work/passed"
: >"$stub/requests"
scenes 'ok Not yet.' "tool touch passed" 'ok There it is.'
add --agent codex --model one --escalate :two --escalate-after 1 --until validate --check 'test -e passed' --cwd "$work" 'Make the file passed.'
rule 'codex: done after a step' becomes "$id" 'done'
rule 'codex: one result of the first model, then the second' [ "$(models)" = 'one two two' ]
rule 'codex: in the same session' [ "$(of "$id" "len({run['session'] for run in t['runs']})")" = 1 ]

rm "$work/passed"
: >"$stub/requests"
scenes 'ok Not yet.' "tool touch passed" 'ok There it is.'
add --agent claude --model haiku --escalate codex:two --escalate-after 1 --until validate --check 'test -e passed' --cwd "$work" 'Make the file passed.'
rule 'claude, then codex: done' becomes "$id" 'done'
rule 'with the model of the step' [ "$(models)" = 'haiku two two' ]
rule 'in a new session' [ "$(of "$id" "len({run['session'] for run in t['runs']})")" = 2 ]
rule 'with the prompt and the feedback' [ "$(asked "'Make the file passed.' in r[-2]['prompt'] and 'test -e passed' in r[-2]['prompt']")" = True ]
finish
