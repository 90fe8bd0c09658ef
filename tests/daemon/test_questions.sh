#!/bin/sh
# An agent asks a person: its task waits without a slot, the answer is the next prompt in the same session, once, whatever
# crashes in between.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"
. "$here/player.sh"
cat >record.sh <<'END'
printf '%s %s (%s) %s\n' "$SLUICE_NOTIFY_KIND" "$SLUICE_TASK" "$SLUICE_NOTIFY_REASON" "$SLUICE_NOTIFY_TEXT" >>"$1"
END
: >told
config "limiter: {margin_s: 0, jitter_s: 0}
limits: {runs: 1}
retry: {failed: {delay_s: 0}, lost: {delay_s: 0}}
notify: {command: 'sh $tmp/record.sh $tmp/told'}
$(player_agents)"
start

asking() { # ARGUMENTS OF ADD...: a task whose first attempt does $play
    add --hold "$@"
    printf '%s\n' "$play" >"plays/$id.1.do"
    run sluice release "$id"
}
held() { # ID
    [ "$(value "$1" state) $(value "$1" hold)" = 'held question' ]
}
open_question() { # ID
    "$SLUICE" questions | grep -q "^  $1 "
}
crash() {
    daemon=$(pid_of_daemon)
    kill -9 "$daemon"
    is_gone "$daemon"
}
used() { # ID ANSWER: in how many prompts it is
    grep -lF -e "$2" "plays/$1".*.prompt | wc -l
}

# --- ask, end, answer, resume -------------------------------------------------------------------------------

play='"$SLUICE_BIN" ask --choice blue --choice red "Which one?" >"$run.told"; exit 3'
asking --agent claude 'paint the door'
task=$id
rule 'a task that asks is held, whatever its exit code is' soon held "$task"
rule 'nothing is counted' [ "$(value "$task" attempt) $(value "$task" failures) $(value "$task" restarts)" = '1 0 0' ]
rule 'its agent was told to end its turn' grep -qF 'End your turn now' "plays/$task.1.told"
run sluice events --limit 50 --json
has '"outcome":"asked"' 'the outcome of the run'
has '"kind":"task.asked"' 'the event of the question'
rule 'people are notified, with the question' \
    appears "needs-person $task (question) '$task' asks: Which one? (blue, red): 'sluice answer $task TEXT'" told
run sluice why "$task"
has "asks: Which one? (blue, red); answer with: sluice answer $task TEXT" 'why has the question and the command'
run sluice show "$task"
has 'Which one?' 'so has show'
run sluice questions
has 'Which one?' 'so has the list'
run sluice status
add -- true
rule 'it uses no slot: another task runs' becomes "$id" 'done'
session=$("$SLUICE" show --json "$task" | first session)
run sluice answer "$task" green
exits 2 'another answer than a choice is refused'
complains 'is not one of the choices' 'with one message'
run sluice answer "$task" blue
exits 0 'an answer'
rule 'the task goes on and ends' becomes "$task" 'done'
rule 'in the same session' grep -qF -e "--resume $session" "plays/$task.2.argv"
rule 'its prompt is the answer' grep -qF "The answer of $(id -un): blue" "plays/$task.2.prompt"
rule 'and not the task once more' not grep -qF 'paint the door' "plays/$task.2.prompt"
run sluice events --limit 50 --json
has "\"kind\":\"task.answered\",\"task\":\"$task\",\"attempt\":1,\"data\":{\"question\":\"Which one?\",\"answer\":\"blue\",\"by\":\"$(id -un)\"}" 'who answered is recorded'

# --- an agent that cannot resume ----------------------------------------------------------------------------

play='"$SLUICE_BIN" ask "Which one?" >/dev/null'
asking --agent plain 'paint the door'
task=$id
soon held "$task"
printf '%s\n' '"$SLUICE_BIN" ask "And when?" >/dev/null' >"plays/$task.2.do"
run sluice answer "$task" 'the blue one'
appears 'And when?' told
soon held "$task"
rule 'it gets its task' grep -qF 'paint the door' "plays/$task.2.prompt"
rule 'with question and answer' sh -c "grep -A1 -F 'Question: Which one?' 'plays/$task.2.prompt' | grep -qF 'Answer: the blue one'"
run sluice answer "$task" today
becomes "$task" 'done'
rule 'and with all of them the next time' [ "$(grep -c -e 'Answer: the blue one' -e 'Answer: today' "plays/$task.3.prompt")" = 2 ]

# --- a run that waits ---------------------------------------------------------------------------------------

play='"$SLUICE_BIN" ask --wait 1h "Which one?" >"$run.got"'
asking --agent claude 'paint the door'
soon open_question "$id"
run sluice why "$id"
has 'it asks: Which one?' 'why of a run that waits for an answer'
crash
run sluice up
run sluice answer "$id" 'the blue one'
exits 0 'an answer after a crash'
becomes "$id" 'done'
rule 'a call that waits gets the answer, over a crash of the daemon' [ "$(cat "plays/$id.1.got")" = 'the blue one' ]
rule 'and no other attempt is needed' [ "$(value "$id" attempt)" = 1 ]

# --- an answer before the end of the run --------------------------------------------------------------------

mkfifo go
play="\"\$SLUICE_BIN\" ask 'Which one?' >/dev/null; read -r word <'$tmp/go'"
asking --agent claude 'paint the door'
soon open_question "$id"
run sluice answer "$id" early
exits 0 'an answer while it runs'
unblock go
rule 'it is used by the next attempt' becomes "$id" 'done'
rule 'once' [ "$(used "$id" early)" = 1 ]

# --- deadlines ----------------------------------------------------------------------------------------------

play='"$SLUICE_BIN" ask --deadline 1s --default red "Which one?" >/dev/null'
asking --agent claude 'paint the door'
rule 'after the deadline the default is used' becomes "$id" 'done'
rule 'and the agent knows it' grep -qF 'so your default is the answer: red' "plays/$id.2.prompt"
play='"$SLUICE_BIN" ask --deadline 1s "Which one?" >/dev/null'
asking --agent claude 'paint the door'
rule 'without a default the task fails' becomes "$id" failed
rule 'with the reason' [ "$(value "$id" reason)" = unanswered ]
run sluice answer "$id" late
exits 4 'and there is nothing to answer any more'

# --- release, cancel, hold ----------------------------------------------------------------------------------

play='"$SLUICE_BIN" ask "Which one?" >/dev/null'
asking --agent claude 'paint the door'
soon held "$id"
run sluice release "$id"
becomes "$id" 'done'
rule 'a release withdraws the question, and the agent knows it' grep -qF 'withdrawn without an answer' "plays/$id.2.prompt"
asking --agent claude 'paint the door'
soon held "$id"
run sluice cancel "$id"
run sluice questions
prints 'no open questions' 'a canceled task asks nothing'

# --- who may answer -----------------------------------------------------------------------------------------

play='"$SLUICE_BIN" ask "Which one?" >/dev/null; "$SLUICE_BIN" answer "$SLUICE_TASK" mine 2>"$run.err"; echo $? >"$run.code"'
asking --agent claude 'paint the door'
rule 'a run cannot answer its own question' soon held "$id"
rule 'and is told so' [ "$(cat "plays/$id.1.code")" = 4 ]
run sluice cancel "$id"

# --- kill -9 at every step ----------------------------------------------------------------------------------

play="\"\$SLUICE_BIN\" ask 'Which one?' >/dev/null; read -r word <'$tmp/go'"
for step in asked ended-down ended answered; do
    asking --agent claude "paint door $step"
    soon open_question "$id"
    [ "$step" != asked ] || { crash && run sluice up; }
    if [ "$step" = ended-down ]; then
        shim=$(shim_of "$id" 1)
        crash
        unblock go
        is_gone "$shim"
        run sluice up
    else
        unblock go
    fi
    rule "$step: it is held" soon held "$id"
    [ "$step" != ended ] || { crash && run sluice up; }
    run sluice questions
    has "$id" "$step: its question is open"
    run sluice answer "$id" "answer $step"
    exits 0 "$step: it is answered"
    [ "$step" != answered ] || { crash && run sluice up; }
    rule "$step: it goes on" becomes "$id" 'done'
    rule "$step: the answer is used once" [ "$(used "$id" "answer $step")" = 1 ]
done

play="echo ready >>'$tmp/ready'; read -r word <'$tmp/go'; \"\$SLUICE_BIN\" ask 'Which one?' >/dev/null"
asking --agent claude 'paint the last door'
appears ready ready
crash
unblock go
run sluice up
rule 'a question that is asked while the daemon is being restarted is not lost' soon held "$id"
rule 'and the run has not failed' [ "$(value "$id" failures)" = 0 ]
run sluice cancel "$id"

# --- in a loop --------------------------------------------------------------------------------------------

"$SLUICE" config set capability.questions=2 >/dev/null
play='for n in 1 2 3; do "$SLUICE_BIN" ask --default no --deadline 1s --wait 1m "Is it $n?" 2>>"$run.refused" || echo "$?" >>"$run.codes"; done'
asking --agent claude 'paint no door'
rule 'a run that asks in a loop goes on' becomes "$id" 'done'
rule 'people are asked only a few times' [ "$("$SLUICE" events --task "$id" --json | grep -o '"kind":"task.asked"' | wc -l)" = 2 ]
rule 'then the question is refused' [ "$(cat "plays/$id.1.codes")" = 4 ]
rule 'and the agent is told why' grep -qF 'has asked 2 questions, and no person has answered' "plays/$id.1.refused"
finish
