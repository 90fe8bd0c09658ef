#!/bin/sh
# Take over: a person stops the run of a task, works with its agent in a terminal (tmux), and gives it back; whatever is
# killed meanwhile.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"
. "$here/repository.sh"
needs tmux

# --- agents -----------------------------------------------------------------------------------------------------

# Unattended: prints the events of Claude Code. A prompt that says so waits until the run is ended.
cat >agent.sh <<'END'
session=$2
prompt=$(cat)
printf '%s %s: %s\n' "$1" "$session" "$prompt" >>"$TMP/calls.$SLUICE_TASK"
echo "{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"$session\"}"
echo "$1" >>agent.txt
case $prompt in
*'wait for me'*) echo "$session" >"$TMP/waits.$SLUICE_TASK" && exec sleep 100000 ;;
esac
echo "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"ok\",\"session_id\":\"$session\"}"
END
# At a terminal: does what is typed.
cat >terminal.sh <<'END'
trap 'caught=yes && echo "got Ctrl-C"' INT
echo "$1" >>"$TMP/opened.$SLUICE_TASK"
echo "this is session $1"
[ -t 0 ] && [ -t 1 ] && [ -t 2 ] && (: >/dev/tty) && echo 'this is a terminal'
while :; do
    caught=
    read -r word rest || [ "$caught" ] || break
    [ -z "$caught" ] || continue
    case $word in
    size) stty size ;;
    write) echo "$rest" >person.txt && echo 'has written' ;;
    term) echo "TERM is $TERM" ;;
    look) ls "$rest" 2>&1 | head -n 1 ;;
    quit) exit "$rest" ;;
    esac
done
END
cat >deaf.sh <<'END'
trap '' TERM INT
echo >"$TMP/deaf"
until [ -e "$TMP/heard" ]; do sleep 0.1; done
END
mkdir box
sed '/opened/d' terminal.sh >box/terminal.sh
sed -i "s|\$TMP|$tmp|g" agent.sh deaf.sh terminal.sh
outside=$(mktemp -d /var/tmp/take-XXXXXX)
echo secret >"$outside/secret"
repository repo
config "limits: {runs: 2}
retry: {failed: {max: 0}, lost: {delay_s: 0}}
git: {retries: 1, retry_s: 0.1}
agents:
  fake: {adapter: claude, command: [sh, $tmp/agent.sh, new, '{session}'], resume_command: [sh, $tmp/agent.sh, resume, '{session}'], take_command: [sh, $tmp/terminal.sh, '{session}'], prompt: stdin, sandbox: none}
  deaf: {adapter: claude, command: [sh, $tmp/deaf.sh], take_command: [sh, $tmp/terminal.sh, none], prompt: stdin, sandbox: none}
  boxed: {command: ['true'], take_command: [sh, $tmp/box/terminal.sh], sandbox: bubblewrap, sandbox_read: [$tmp/box]}
projects:
  web: {path: $tmp/repo, workspace_mode: worktree, merge: direct}
  local: {path: $tmp/repo, workspace_mode: worktree, merge: local}
  bare: {path: $tmp/repo}"
start

# --- a person at a terminal -------------------------------------------------------------------------------------

tm() {
    tmux -S "$tmp/mux" -f /dev/null "$@"
}
trap 'tm kill-server 2>/dev/null; stop_daemon; rm -rf "$outside" "$tmp"' EXIT
# A server without sessions ends, and a session that is opened meanwhile is lost: this one stays.
tm new-session -d -s keeper 'exec tail -f /dev/null'
sees() { # TEXT
    tm capture-pane -p -t take 2>/dev/null | grep -qF -e "$1"
}
types() { # TEXT
    tm send-keys -t take -l "$1" && tm send-keys -t take Enter
}
opens() { # ARGS: of sluice take, in a terminal of 100 columns and 30 rows
    tm kill-session -t take 2>/dev/null
    rm -f code
    tm new-session -d -s take -x 100 -y 30 "TERM=screen '$SLUICE' take $* 2>'$tmp/take.err'; echo \$? >'$tmp/code'; exec sleep 100000"
}
held() { # ID
    [ "$(value "$1" state) $(value "$1" hold)" = 'held taken' ]
}
running() { # ID
    [ "$(value "$1" state)" = running ]
}
tree_of() { # ID
    echo "$home/worktrees/$1"
}
exited() { # CODE
    soon test -s code && [ "$(cat code)" = "$1" ]
}
waits_for() { # ID: the unattended agent of the task is at work
    soon test -s "waits.$1"
}
event_count() { # KIND ID
    "$SLUICE" events --limit 1000 --json | grep "\"kind\":\"$1\"" | grep -c "\"task\":\"$2\""
}
ended() { # ID STATE
    [ "$(value "$1" state)" = "$2" ]
}

# --- a task that runs -------------------------------------------------------------------------------------------

add -p web -a fake 'wait for me'
task=$id
waits_for "$task"
session=$(cat "waits.$task")
opens "$task"
rule 'take stops the run and opens the agent with its session' soon sees "this is session $session"
rule 'at a terminal of its own' soon sees 'this is a terminal'
rule 'as a run of the task' running "$task"
types 'size'
rule 'the size of the window arrives' soon sees '30 100'
tm resize-window -t take -x 90 -y 20
types 'size'
rule 'and its changes' soon sees '20 90'
types 'term'
rule 'the kind of the terminal too' soon sees 'TERM is screen'
tm send-keys -t take C-c
rule 'Ctrl-C reaches the agent' soon sees 'got Ctrl-C'
types 'write by a person'
rule 'what is typed arrives' soon sees 'has written'
run sluice show "$task"
has 'taken over' 'show says that it is taken over'
run sluice why "$task"
has 'taken over' 'and why does'
run sluice take "$task"
exits 4 'a second take is refused'
complains 'already' 'with the reason'
types 'quit 3'
rule 'when the agent has ended, the person chooses' soon sees 'done, continue unattended, or keep it held? [d/c/H]'
rule 'the task is held, whatever the exit code' held "$task"
types ''
rule 'keep it held' exited 0
rule 'is what Enter means' held "$task"
rule 'nothing is counted' [ "$(value "$task" failures 2>/dev/null || echo 0)" != 1 ]
rule 'nothing is merged' [ -z "$(in_main repo person.txt)" ]
run sluice why "$task"
has "sluice take $task" 'why says how to go on'
run sluice wait "$task"
exits 6 'wait: it needs a person'

# --- continue ---------------------------------------------------------------------------------------------------

opens "$task"
rule 'take again opens the same session' soon sees "this is session $session"
rule 'in the worktree with the work' [ "$(cat "$(tree_of "$task")/person.txt")" = 'by a person' ]
types 'quit 0'
soon sees '[d/c/H]'
types 'c'
rule 'continue' exited 0
rule 'lets the agent finish' soon ended "$task" 'done'
rule 'in the same session' grep -q "^resume $session: A person has worked in this session" "calls.$task"
rule 'its work is merged with that of the person' [ "$(in_main repo person.txt)" = 'by a person' ]
rule 'there are events' [ "$(event_count task.taken "$task") $(event_count task.returned "$task")" = '2 1' ]

# --- done -------------------------------------------------------------------------------------------------------

add -p web -a fake 'wait for me'
waits_for "$id"
opens "$id"
soon sees 'this is a terminal'
types 'write finished by hand'
soon sees 'has written'
types 'quit 0'
soon sees '[d/c/H]'
types 'd'
rule 'done' exited 0
rule 'makes the task done' ended "$id" 'done'
rule 'with a reason of its own' [ "$(value "$id" reason)" = taken ]
rule 'and merges what was left' [ "$(in_main repo person.txt)" = 'finished by hand' ]
add -p local -a fake 'wait for me'
waits_for "$id"
run sh -c "echo 'write on a branch' | '$SLUICE' take $id --then done"
exits 0 'a script answers with --then'
rule 'merge: local leaves it on its branch' [ "$(git -C repo show "sluice/$id:person.txt")" = 'on a branch' ]

# --- other states -----------------------------------------------------------------------------------------------

run sh -c "echo 'write once more' | '$SLUICE' take $id --then continue --message 'Tidy up.'"
exits 0 'a task that is done can be taken over'
rule 'and continued' soon ended "$id" 'done'
rule 'with a message' grep -q '^resume .*: Tidy up.' "calls.$id"
add -p bare -a fake 'not yet' --hold
run sh -c ": | '$SLUICE' take $id --then hold"
exits 0 'and one that is held, before its first run'
rule 'it is held afterwards' held "$id"
run sluice release "$id"
rule 'release gives it to its agent' soon ended "$id" 'done'
rule 'in the session of the person' grep -q "^resume $(cat "opened.$id"): " "calls.$id"
add -p bare --draft -a fake 'a draft'
run sluice take "$id"
exits 4 'a draft is refused'
complains 'only what was queued can be taken over' 'with the reason'
add -p bare -- sleep 100000
soon running "$id"
run sh -c "echo 'echo in the shell >$tmp/shell' | SHELL=/bin/sh '$SLUICE' take $id --then hold"
exits 0 'a command opens a shell'
rule 'in its place' [ "$(cat shell)" = 'in the shell' ]
run sluice cancel "$id"
exits 0 'a task that is held afterwards can be canceled'

# --- limits -----------------------------------------------------------------------------------------------------

add -p bare -- sleep 100000
one=$id
add -p bare -- sleep 100000
two=$id
soon running "$two"
add -p bare -a fake 'first in the queue'
add -p bare -a fake 'second in the queue' --hold
opens "$id"
rule 'while it waits, the reason is printed' appears 'the limit of runs is reached' take.err
rule 'and it is not started' ended "$id" ready
run sluice cancel --now "$one"
rule 'it starts before all others' soon sees 'this is a terminal'
types 'quit 0'
soon sees '[d/c/H]'
types 'h'
exited 0
opens "$id"
soon ended "$id" running
tm kill-session -t take
soon held "$id"
run sluice cancel "$id" "$two"

# --- the terminal is closed -------------------------------------------------------------------------------------

add -p web -a fake 'wait for me'
waits_for "$id"
opens "$id"
soon sees 'this is a terminal'
types 'write before the end'
soon sees 'has written'
shim=$(shim_of "$id" 2)
tm kill-session -t take
rule 'the agent ends with the terminal' is_gone "$shim"
rule 'the task is held' soon held "$id"
rule 'its work is there' [ "$(cat "$(tree_of "$id")/person.txt")" = 'before the end' ]
rule 'no other attempt has started' [ "$(value "$id" attempt)" = 2 ]
opens "$id"
rule 'take again opens the same session' soon sees "this is session $(cat "waits.$id")"

# --- the daemon is killed ---------------------------------------------------------------------------------------

kill -9 "$(pid_of_daemon)"
types 'write without a daemon'
rule 'the person works on while the daemon is dead' soon sees 'has written'
start
rule 'the next daemon adopts the run' soon running "$id"
types 'term'
rule 'which goes on' soon sees 'TERM is screen'
types 'quit 0'
rule 'and ends as always' soon sees '[d/c/H]'
types 'd'
rule 'done' exited 0
rule 'with all of the work' [ "$(in_main repo person.txt)" = 'without a daemon' ]

add -p bare -a deaf 'does not hear'
soon test -e deaf
opens "$id"
rule 'a run that does not end at once is waited for' appears 'its run is being stopped' take.err
kill -9 "$(pid_of_daemon)"
start
touch heard
rule 'the next daemon stops it, and opens it for the person who waits' soon sees 'this is a terminal'
kill -9 "$(shim_of "$id" 2)"
rule 'a person whose shim is killed is told' soon sees '[d/c/H]'
rule 'and the task is held, not tried again' held "$id"
types 'h'
exited 0
add -p bare -- sleep 100000
one=$id
add -p bare -- sleep 100000
two=$id
soon running "$two"
add -p bare -a fake 'in the queue'
opens "$id"
appears 'the limit of runs is reached' take.err
kill -9 "$(pid_of_daemon)"
start
run sluice cancel --now "$one" "$two"
rule 'one that waits for its turn gets it from the next daemon' soon sees 'this is a terminal'
tm kill-session -t take
soon held "$id"

# --- in a sandbox -----------------------------------------------------------------------------------------------

add -p bare -a boxed 'in a sandbox' --hold --cwd "$tmp/repo"
opens "$id"
rule 'in a sandbox it is a terminal, too' soon sees 'this is a terminal'
types "look $outside/secret"
rule 'and sees only what the run sees' soon sees 'No such file'
tm send-keys -t take C-c
rule 'Ctrl-C arrives there' soon sees 'got Ctrl-C'
tm resize-window -t take -x 70 -y 25
types 'size'
rule 'and the size' soon sees '25 70'
tm kill-session -t take
rule 'it ends with the terminal' soon held "$id"

# --- Ctrl-C before it is opened ---------------------------------------------------------------------------------

add -p bare -- sleep 100000
one=$id
add -p bare -- sleep 100000
two=$id
soon running "$two"
add -p bare -a fake 'never opened'
opens "$id"
appears 'the limit of runs is reached' take.err
tm send-keys -t take C-c
rule 'Ctrl-C gives up' exited 6
rule 'and leaves the task held' held "$id"
run sluice cancel --now "$one" "$two"

finish
