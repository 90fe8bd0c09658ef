#!/bin/sh
# sluice edit: changes a task that does not run, with options or in an editor. An edit that comes too late changes nothing,
# and the text is not lost.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"
. "$here/player.sh"

config "limits: {runs: 4}
retry: {failed: {max: 1, delay_s: 3600}, lost: {delay_s: 0}}
$(player_agents)"
start
mkfifo go

crash() {
    daemon=$(pid_of_daemon)
    kill -9 "$daemon"
    is_gone "$daemon"
}
prompt_of() { # ID
    "$SLUICE" show --json "$1" | first prompt
}
kept() { # the file that the message names
    sed -n 's/^sluice: your text is in //p' err
}
export TMPDIR="$tmp/edits"
mkdir "$TMPDIR"
no_files() {
    [ -z "$(ls "$TMPDIR")" ]
}
# $EDITOR: does what `does` says to the file.
cat >bin/editor <<'END'
#!/bin/sh
cp "$1" "$PLAYS/shown"
file=$1
. "$PLAYS/../does"
END
chmod +x bin/editor
unset VISUAL
EDITOR=editor
export EDITOR

# --- options ------------------------------------------------------------------------------------------------

adding --agent claude 'write the parser'
run sluice edit "$id" --prompt 'write the lexer' --title 'lexer' --priority 7 --timeout 30m
exits 0 'a held task is edited'
prints "$id edited: held" 'and printed'
run sluice show --json "$id"
has '"prompt":"write the lexer"' 'the prompt is new'
has '"title":"lexer"' 'so is the title'
has '"priority":7' 'the priority'
has '"timeout_s":1800' 'and the time limit'
has '"version":1' 'its version rises'
run sluice events --limit 20 --json
has "\"kind\":\"task.edited\",\"task\":\"$id\",\"attempt\":null,\"data\":{\"members\":[\"prompt\",\"title\",\"timeout_s\"],\"by\":\"$(id -un)\"}" 'the event says what and who'
run sluice edit "$id" --prompt 'write the lexer'
prints "$id is unchanged: held" 'the same prompt changes nothing'
rule 'and not the version' [ "$("$SLUICE" show --json "$id" | first version)" = 1 ]
printf 'write the printer\n\nwith tests' | "$SLUICE" edit "$id" --prompt-file - >out
rule 'a prompt from standard input' [ "$(prompt_of "$id")" = 'write the printer\n\nwith tests' ]
released
becomes "$id" 'done'
rule 'the agent gets the new prompt' [ "$(cat "plays/$id.1.prompt")" = 'write the printer

with tests' ]
run sluice edit "$id" --prompt 'too late'
exits 4 'a finished task is not edited'
complains "task '$id' is done: 'sluice again -m TEXT $id' continues it with a message" 'the message names the command'

add --hold -- sh -c 'exit 3'
run sluice edit "$id" -- sh -c "echo done >'$tmp/said'"
exits 0 'a command is edited'
run sluice edit "$id" --prompt 'write the parser'
exits 2 'but does not become a prompt'
complains "task '$id' is a command" 'with one message'
released
becomes "$id" 'done'
rule 'the new command has run' [ "$(cat said)" = 'done' ]

adding --agent claude --check false 'check it'
run sluice edit "$id" --check true
released
rule 'the new check decides' becomes "$id" 'done'

run sluice pause
add --agent claude 'a draft'
run sluice clear "$id"
run sluice edit "$id" -p 'still a draft'
prints "$id edited: draft" 'a draft is edited'
run sluice sling "$id"
run sluice edit "$id" -p 'queued'
prints "$id edited: ready" 'and a task that waits'
run sluice resume
becomes "$id" 'done'
rule 'its agent has the last one' [ "$(cat "plays/$id.1.prompt")" = 'queued' ]

# --- the editor ---------------------------------------------------------------------------------------------

adding --agent claude 'mend the roof'
task=$id
echo 'echo "mend the door" >"$file"' >does
run sluice edit "$task"
exits 0 'an editor changes the text'
prints "$task edited: held" 'it is stored'
rule 'the editor was given the prompt' [ "$(cat plays/shown)" = 'mend the roof' ]
rule 'and the file is removed' no_files
rule 'the prompt is new, without the newline of the file' [ "$(prompt_of "$task")" = 'mend the door' ]
echo ':' >does
run sluice edit "$task"
exits 0 'an editor that changes nothing'
prints "$task is unchanged: held" 'changes nothing'
rule 'and leaves nothing' no_files
echo 'exit 7' >does
run sluice edit "$task"
exits 1 'an editor that fails'
says "sluice: the editor 'editor' ended with 7: nothing was changed" 'is reported'
rule 'it leaves nothing without a new text' no_files
echo 'echo "half a text" >"$file"; exit 7' >does
run sluice edit "$task"
exits 1 'an editor that fails after a change'
rule 'changes nothing' [ "$(prompt_of "$task")" = 'mend the door' ]
rule 'but the text is kept' [ "$(cat "$(kept)")" = 'half a text' ]
rm -rf "${TMPDIR:?}"/*
echo ': >"$file"' >does
run sluice edit "$task"
exits 2 'an empty text is refused'
rule 'and changes nothing' [ "$(prompt_of "$task")" = 'mend the door' ]
rm -rf "${TMPDIR:?}"/*
EDITOR='' run sluice edit "$task" </dev/null
exits 2 'no editor and no terminal'
complains "no editor is set: set EDITOR" 'is a usage error'
VISUAL='sh -c '\''echo "by visual" >"$1"'\'' -' run sluice edit "$task"
rule 'VISUAL is preferred, and may have arguments' [ "$(prompt_of "$task")" = 'by visual' ]

add --hold -- make 'a b'
echo 'echo "[\"make\", \"c d\"]" >"$file"' >does
run sluice edit "$id"
exits 0 'a command in the editor'
rule 'is a list, with one word per line' [ "$(cat plays/shown)" = '[
  "make",
  "a b"
]' ]
run sluice show "$id"
has "make 'c d'" 'and is stored'
echo 'echo "make c" >"$file"' >does
run sluice edit "$id"
exits 2 'another form is refused'
rule 'and the text is kept' [ "$(cat "$(kept)")" = 'make c' ]
rm -rf "${TMPDIR:?}"/*

# --- too late -----------------------------------------------------------------------------------------------

echo '"$SLUICE" edit "$task" --prompt "by another" >/dev/null; echo "by me" >"$file"' >does
export SLUICE task
run sluice edit "$task"
exits 4 'a task that was edited meanwhile is not'
rule 'the message says so' grep -q "^sluice: task '$task' was edited or started since version" err
rule 'the first edit stays' [ "$(prompt_of "$task")" = 'by another' ]
rule 'the text is kept' [ "$(cat "$(kept)")" = 'by me' ]
rm -rf "${TMPDIR:?}"/*
id=$task
mkfifo began
plays 1 "echo >'$tmp/began'; read -r _ <'$tmp/go'; exit 3"
echo '"$SLUICE" release "$task" >/dev/null; read -r _ <"'"$tmp"'/began"; echo "by me" >"$file"' >does
run sluice edit "$task"
exits 4 'a task that was started meanwhile is not'
rule 'the message says so' grep -q "^sluice: task '$task' is \(starting\|running\): only what waits" err
rule 'the text is kept' [ "$(cat "$(kept)")" = 'by me' ]
rm -rf "${TMPDIR:?}"/*
run sluice edit "$task"
exits 4 'a running task is refused'
rule 'before the editor opens' no_files
unblock go
becomes "$task" held

# --- a task that has run ------------------------------------------------------------------------------------

run sluice edit "$task" --prompt 'the second try'
exits 0 'a task between two attempts is edited'
run sluice release "$task"
rule 'its next attempt' becomes "$task" 'done'
rule 'begins a new session' grep -qF -e --session-id "plays/$task.2.argv"
rule 'with the new prompt' [ "$(cat "plays/$task.2.prompt")" = 'the second try' ]

# --- kill -9 ------------------------------------------------------------------------------------------------

adding --agent claude 'before the crash'
run sluice edit "$id" --prompt 'after the crash' --title 'after it'
crash
run sluice up
rule 'an edit that was acknowledged survives a kill -9' [ "$(prompt_of "$id")" = 'after the crash' ]
run sluice list --state held
has 'after it' 'with its title'
rule 'and its version' [ "$("$SLUICE" show --json "$id" | first version)" = 1 ]
released
becomes "$id" 'done'
rule 'the agent has the new prompt' [ "$(cat "plays/$id.1.prompt")" = 'after the crash' ]

# --- runs ---------------------------------------------------------------------------------------------------

adding --agent claude 'ask for more'
other=$id
adding --agent claude 'change the other'
plays 1 "\"\$SLUICE_BIN\" edit '$other' --prompt mine 2>\"\$run.err\"; echo \$? >\"\$run.code\""
released
becomes "$id" 'done'
rule 'a run cannot edit a task' [ "$(cat "plays/$id.1.code")" = 4 ]
rule 'which stays as it is' [ "$(prompt_of "$other")" = 'ask for more' ]
finish
