#!/bin/sh
# sluice again -m: a finished task continues in the session of its last run, with the message as its prompt. The message is used
# once, whatever crashes in between.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"
. "$here/repository.sh"
. "$here/player.sh"

repository repo
config "limits: {runs: 4}
limiter: {margin_s: 0, jitter_s: 0}
retry: {failed: {max: 0, delay_s: 0}, lost: {delay_s: 0}}
$(player_agents)
projects:
  web: {path: $tmp/repo, workspace_mode: worktree, merge: direct}"
start
mkfifo go

session_of() { # ATTEMPT: what the arguments say
    sed -n 's/.*--\(resume\|session-id\) \([0-9a-f-]*\).*/\1 \2/p' "plays/$id.$1.argv"
}
resumed() { # ATTEMPT: it resumes the session of the first
    [ "$(session_of "$1")" = "resume $(session_of 1 | cut -d' ' -f2)" ]
}
crash() {
    daemon=$(pid_of_daemon)
    kill -9 "$daemon"
    is_gone "$daemon"
}
used() { # MESSAGE: in how many prompts it is
    grep -lF -e "$1" "plays/$id".*.prompt | wc -l
}
prompt_is() { # ATTEMPT TEXT
    [ "$(cat "plays/$id.$1.prompt")" = "$2" ]
}
ran() { # ATTEMPT STATE: the task has this many attempts, and is in this state
    [ "$(value "$id" attempt) $(value "$id" state)" = "$1 $2" ]
}

# --- a task that is done ------------------------------------------------------------------------------------

add --agent claude 'write the parser'
becomes "$id" 'done'
run sluice pause
run sluice again -m 'Now document it.' "$id"
exits 0 'a finished task is continued'
prints "$id again: ready" 'it waits for its next attempt'
run sluice show "$id"
has 'Now document it.' 'show has the message'
has "the next attempt, by $(id -un)" 'who gets it, and who wrote it'
run sluice events --limit 50 --json
has "\"kind\":\"task.followed_up\",\"task\":\"$id\",\"attempt\":null,\"data\":{\"message\":\"Now document it.\",\"by\":\"$(id -un)\"}" 'the event'
run sluice resume
rule 'it ends again' soon ran 2 'done'
rule 'in the same session' resumed 2
rule 'its prompt is the message alone' prompt_is 2 'Now document it.'
rule 'it is a new iteration' [ "$(value "$id" iteration)" = 2 ]
rule 'prompt.md is what the agent got' cmp -s "$home/tasks/$id/iterations/002/prompt.md" "plays/$id.2.prompt"
run sluice show --json "$id"
has '"follow_up":{"message":"Now document it."' 'the finished task still shows the message'
has '"used":true,"attempt":2}' 'and the attempt that has used it'
printf 'First line.\n- second line\n' >review
"$SLUICE" again -m - "$id" <review >out
rule 'a message from standard input' soon ran 3 'done'
rule 'with all its lines' cmp -s review "plays/$id.3.prompt"
rule 'goes to the same session' resumed 3
run sluice again "$id"
rule 'again without a message' soon ran 4 'done'
rule 'begins a new session' [ "$(session_of 4 | cut -d' ' -f1)" = session-id ]
rule 'with the task alone' prompt_is 4 'write the parser'

# --- what failed, and what was canceled ---------------------------------------------------------------------

adding --agent claude 'write the lexer'
plays 1 'exit 3'
released
becomes "$id" failed
run sluice again -m 'The file is in src.' "$id"
exits 0 'a failed task is continued'
rule 'and can be done' soon ran 2 'done'
rule 'in its session' resumed 2
rule 'with the message' prompt_is 2 'The file is in src.'
rule 'its iteration stays, as after a retry' [ "$(value "$id" iteration)" = 1 ]

adding --agent claude 'write the printer'
plays 1 "echo ready; read -r _ <'$tmp/go'"
released
appears ready "$home/runs/$id/1/out.log"
run sluice again -m 'too early' "$id"
exits 4 'a running task is not'
complains "task '$id' is running: only a task that is done, failed or canceled can be continued with a message" 'with one message'
run sluice cancel --now "$id"
becomes "$id" canceled
run sluice again -m 'Print to a file.' "$id"
rule 'a canceled task is continued' soon ran 2 'done'
rule 'in its session' resumed 2
rule 'with the message' prompt_is 2 'Print to a file.'

# --- no session ---------------------------------------------------------------------------------------------

add --agent plain 'paint the door'
becomes "$id" 'done'
run sluice again -m 'Now the window.' "$id"
rule 'an agent without sessions is continued' soon ran 2 'done'
rule 'with its task' grep -qxF 'paint the door' "plays/$id.2.prompt"
rule 'and the message' grep -qxF 'Now the window.' "plays/$id.2.prompt"

adding --agent claude 'paint the roof'
plays 2 'echo "No conversation found with session ID: $session" >&2; exit 1'
released
becomes "$id" 'done'
run sluice again -m 'Green, please.' "$id"
rule 'a lost session is replaced by a new one' soon ran 3 'done'
rule 'after it was tried' resumed 2
rule 'the new one' [ "$(session_of 3 | cut -d' ' -f1)" = session-id ]
rule 'has the task' grep -qxF 'paint the roof' "plays/$id.3.prompt"
rule 'and the message' grep -qxF 'Green, please.' "plays/$id.3.prompt"

add --agent claude --resume never 'paint the wall'
becomes "$id" 'done'
run sluice again -m 'White, please.' "$id"
rule 'resume: never' soon ran 2 'done'
rule 'begins a new session' [ "$(session_of 2 | cut -d' ' -f1)" = session-id ]
rule 'with task and message' [ "$(grep -cxF -e 'paint the wall' -e 'White, please.' "plays/$id.2.prompt")" = 2 ]

# --- a failed attempt ---------------------------------------------------------------------------------------

adding --agent claude --retries 1 'paint the fence'
plays 2 'exit 3'
released
becomes "$id" 'done'
run sluice again -m 'Blue, please.' "$id"
rule 'an attempt that fails is retried' soon ran 3 'done'
rule 'the first one has the message alone' prompt_is 2 'Blue, please.'
rule 'a new session has the task and the message' [ "$(grep -cxF -e 'paint the fence' -e 'Blue, please.' "plays/$id.3.prompt")" = 2 ]

# --- a worktree ---------------------------------------------------------------------------------------------

adding --project web --agent claude --title 'two files' 'write two files'
plays 1 'pwd >"$run.pwd"; echo one >one; git add one; git commit -qm one'
plays 2 'pwd >"$run.pwd"; cat one >"$run.one"; echo two >two; git add two; git commit -qm two'
released
becomes "$id" 'done'
run sluice again -m 'The second one is missing.' "$id"
rule 'merged work is continued' soon ran 2 'done'
rule 'in the same folder' cmp -s "plays/$id.1.pwd" "plays/$id.2.pwd"
rule 'which has the first result' [ "$(cat "plays/$id.2.one")" = one ]
rule 'in the same session' resumed 2
rule 'and the new work is merged, too' [ "$(in_main repo one) $(in_main repo two)" = 'one two' ]

# --- refusals -----------------------------------------------------------------------------------------------

add -- true
becomes "$id" 'done'
run sluice again -m 'and now?' "$id"
exits 2 'a command is refused'
complains "task '$id' is a command: it has no prompt that a message could follow; 'sluice again $id' runs it again without one" 'with one message'
rule 'and stays as it is' [ "$(value "$id" state)" = 'done' ]
add --hold --agent claude 'wait'
run sluice again -m 'and now?' "$id"
exits 4 'what waits is refused'
complains "use 'sluice edit' to change the prompt of a waiting task" 'and the message names the command'

# --- kill -9, losses and limits -----------------------------------------------------------------------------

adding --agent claude 'survive'
released
becomes "$id" 'done'
run sluice pause
run sluice again -m 'after the crash' "$id"
crash
run sluice up
run sluice show --json "$id"
has '"message":"after the crash"' 'a kill -9 after the request: the message is there'
run sluice resume
rule 'it is used' soon ran 2 'done'
rule 'in the same session' resumed 2
rule 'once' [ "$(used 'after the crash')" = 1 ]

adding --agent claude 'survive more'
plays 2 "echo ready; read -r _ <'$tmp/go'"
released
becomes "$id" 'done'
run sluice again -m 'during the run' "$id"
appears ready "$home/runs/$id/2/out.log"
crash
run sluice up
unblock go
rule 'a kill -9 during the run: it goes on' soon ran 2 'done'
rule 'the message is used once' [ "$(used 'during the run')" = 1 ]

adding --agent claude 'survive a loss'
plays 2 'echo ready; kill -9 $PPID; exec sleep 1000'
released
becomes "$id" 'done'
run sluice again -m 'once more' "$id"
rule 'an attempt that is lost is repeated' soon ran 3 'done'
rule 'in the same session' resumed 3
rule 'with the message' prompt_is 3 'once more'

adding --agent claude 'survive a limit'
plays 2 '"$SLUICE_BIN" report --rate-limited 1; printf "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":true,\"api_error_status\":429,\"session_id\":\"%s\",\"result\":\"limited\"}\n" "$session"; exit 1'
released
becomes "$id" 'done'
run sluice again -m 'within the limit' "$id"
rule 'an attempt that was limited is repeated' soon ran 3 'done'
rule 'in the same session' resumed 3
rule 'with the message' prompt_is 3 'within the limit'
finish
