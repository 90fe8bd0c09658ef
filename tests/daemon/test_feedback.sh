#!/bin/sh
# A result that is not accepted (a check fails, at once or later; a person rejects it) is repaired in the session that made
# it: the feedback is its next prompt. An agent that cannot resume gets its task with the feedback.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"
. "$here/player.sh"

config "limits: {runs: 4}
retry: {failed: {max: 0}, lost: {delay_s: 0}, unfinished: {max: 5, delay_s: 0}}
runaway: {pause_s: 0}
$(player_agents)"
start
session_of() { # ATTEMPT: what the arguments say
    sed -n 's/.*--\(resume\|session-id\) \([0-9a-f-]*\).*/\1 \2/p' "plays/$id.$1.argv"
}
resumed() { # ATTEMPT: it resumes the session of the first
    [ "$(session_of "$1")" = "resume $(session_of 1 | cut -d' ' -f2)" ]
}

# --- a failed check ---------------------------------------------------------------------------------------------

adding --agent claude --until validate --check "cat '$tmp/state'; test -e '$tmp/good'" 'make it good'
echo 'it is bad' >state
plays 2 "rm -f '$tmp/good'; echo 'it is worse' >'$tmp/state'"
plays 3 ": >'$tmp/good'"
released
becomes "$id" 'done'
rule 'the first run has a session' [ "$(session_of 1 | cut -d' ' -f1)" = session-id ]
rule 'a failed check is repaired in it' resumed 2
rule 'the prompt is the feedback' grep -qxF 'it is bad' "plays/$id.2.prompt"
rule 'it names the check' grep -qF "The check 'cat" "plays/$id.2.prompt"
rule 'and is not the task' not grep -qF 'make it good' "plays/$id.2.prompt"
rule 'the next one, too' resumed 3
rule 'with its own feedback' grep -qxF 'it is worse' "plays/$id.3.prompt"
rule 'and nothing that the session has had' not grep -qF 'it is bad' "plays/$id.3.prompt"
rule 'prompt.md is what the agent got' cmp -s "$home/tasks/$id/iterations/002/prompt.md" "plays/$id.2.prompt"
rule 'each run is an iteration' [ "$(value "$id" iteration)" = 3 ]

# --- a check that answers later ---------------------------------------------------------------------------------

cat >ci <<'END'
#!/bin/sh
read -r code text <"$0.answer"
echo "$text"
exit "$code"
END
chmod +x ci
echo '75 running' >ci.answer
held() {
    [ "$(value "$id" state) $(value "$id" hold)" = 'held check' ]
}
adding --agent claude --until validate --check "$tmp/ci" 'make it pass'
released
soon held
echo '1 lint failed: https://ci/1' >ci.answer
daemon=$(pid_of_daemon)
kill -9 "$daemon"
is_gone "$daemon"
start
"$SLUICE" release "$id" >/dev/null
asked_again() {
    [ -e "plays/$id.3.prompt" ]
}
rule 'a no after a not yet begins the next iteration' soon asked_again
rule 'in the same session, over a kill -9' resumed 3
rule 'with the output of the check' grep -qxF 'lint failed: https://ci/1' "plays/$id.3.prompt"
rule 'and not the task' not grep -qF 'make it pass' "plays/$id.3.prompt"
echo '0 passed' >ci.answer
"$SLUICE" cancel "$id" >/dev/null
ends "$id"

# --- a rejection ------------------------------------------------------------------------------------------------

in_review() { # ITERATION
    [ "$(value "$id" hold) $(value "$id" iteration)" = "review $1" ]
}
adding --agent claude --review 'write it'
released
soon in_review 1
run sluice reject --reason 'shorter, please' "$id"
soon in_review 2
rule 'a rejected result is repaired in its session' resumed 2
rule 'with the reason' grep -qF 'It was rejected: shorter, please' "plays/$id.2.prompt"
run sluice reject "$id"
soon in_review 3
rule 'without a reason a new session begins' [ "$(session_of 3 | cut -d' ' -f1)" = session-id ]
run sluice approve "$id"
becomes "$id" 'done'
run sluice again "$id"
soon in_review 4
rule 'so it does when the task is done again' [ "$(session_of 4 | cut -d' ' -f1)" = session-id ]

# --- no session -------------------------------------------------------------------------------------------------

check="test -e '$tmp/fixed'"
adding --agent claude --resume never --until validate --check "$check" 'fix it'
plays 2 ": >'$tmp/fixed'"
released
becomes "$id" 'done'
rule 'resume: never begins a new session' [ "$(session_of 2 | cut -d' ' -f1)" = session-id ]
rule 'with the task' grep -qF 'fix it' "plays/$id.2.prompt"
rule 'and the feedback' grep -qF "# Feedback on iteration 1" "plays/$id.2.prompt"
rm fixed
adding --agent plain --until validate --check "$check" 'fix it'
plays 2 ": >'$tmp/fixed'"
released
becomes "$id" 'done'
rule 'an agent without sessions gets the task' grep -qF 'fix it' "plays/$id.2.prompt"
rule 'and the feedback' grep -qF "# Feedback on iteration 1" "plays/$id.2.prompt"
rm fixed
adding --agent claude --until validate --check "$check" 'fix it'
plays 2 'echo "No conversation found with session ID: $session" >&2; exit 1'
plays 3 ": >'$tmp/fixed'"
released
becomes "$id" 'done'
rule 'a session that is lost is replaced by a new one' [ "$(session_of 3 | cut -d' ' -f1)" = session-id ]
rule 'which gets the task' grep -qF 'fix it' "plays/$id.3.prompt"
rule 'and the feedback' grep -qF "# Feedback on iteration 1" "plays/$id.3.prompt"
rm fixed

# --- interrupted repairs ----------------------------------------------------------------------------------------

adding --agent claude --until validate --check "$check" 'fix it'
plays 2 'kill -9 $PPID; kill -9 $$'
plays 3 ": >'$tmp/fixed'"
released
becomes "$id" 'done'
rule 'a repair that is lost goes on in the session' resumed 3
rule 'and gets the feedback once more' grep -qF "# Feedback on iteration 1" "plays/$id.3.prompt"
rm fixed

# --- until: done ------------------------------------------------------------------------------------------------

adding --agent claude --until 'done' 'go on'
plays 2 '"$SLUICE_BIN" report --done'
released
becomes "$id" 'done'
rule 'an unfinished loop has no feedback: each iteration has a session of its own' [ "$(session_of 2 | cut -d' ' -f1)" = session-id ]

# --- loop.feedback: file ----------------------------------------------------------------------------------------

sluice_yaml=$home/sluice.yaml
printf 'loop: {feedback: file}\n' >>"$sluice_yaml"
kill -HUP "$(pid_of_daemon)"
run sluice config get loop.feedback
adding --agent claude --until validate --check "$check" 'fix it'
plays 2 ": >'$tmp/fixed'"
released
becomes "$id" 'done'
rule 'with loop.feedback: file the prompt names the file' \
    grep -qF "Read what is wrong: $home/tasks/$id/iterations/002/feedback.md" "plays/$id.2.prompt"
finish
