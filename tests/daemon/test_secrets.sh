#!/bin/sh
# Secrets by reference: only runs get them, and they are visible nowhere else.
#
# Every search is first shown to find the value of a secret that was set with agents.A.env.
# shellcheck disable=SC1010,SC1091,SC2016,SC2154 # "done" is a state; kit.sh sets id, home, tmp; the shell of the run expands the rest
. "$(dirname "$0")/kit.sh"
. "$here/repository.sh"
PATH=$(dirname "$SLUICE"):$PATH
export PATH
umask 077
mkdir keys credentials
# What is searched for is in files, and a part of the value: no command line has it, and how a text is quoted makes no
# difference.
printf 'sk-open-4f8a0c17' >keys/open
printf 'sk-file-4f8a0c18' >keys/file
printf 'sk-command-4f8a0c19' >keys/command
printf 'sk-credential-4f8a0c20' >keys/credential
printf 'sk-project-4f8a0c21' >keys/project
cp keys/credential credentials/key
printf '# for tests\nFILE_KEY="%s \\"quoted\\" \\\\"\nSAME_KEY=weaker-value\n' "$(cat keys/file)" >agent.env
printf 'PROJECT_KEY=%s\nSAME_KEY=stronger-value\n' "$(cat keys/project)" >project.env
printf '#!/bin/sh\necho "COMMAND_KEY=$(cat %s)"\n' "$tmp/keys/command" >print-key
chmod +x print-key
CREDENTIALS_DIRECTORY=$tmp/credentials
export CREDENTIALS_DIRECTORY

# The agent executes its prompt.
agent='command: [sh, -c, "eval \"$(cat)\""]'
config "limits: {runs: 8}
retry: {failed: {max: 0}, launch: {as: failed}}
capability: {depth: 2, children: 8}
notify: {events: failed, command: [sh, -c, 'env >>$tmp/notified']}
agents:
  open:
    $agent
    adapter: claude
    env: [OPEN_KEY=$(cat keys/open)]
  closed:
    $agent
    adapter: claude
    env_file: $tmp/agent.env
    env_command: $tmp/print-key
    env_credential: [CREDENTIAL_KEY=key]
  plain:
    $agent
    env_file: $tmp/agent.env
  missing:
    $agent
    env_file: $tmp/no-such-file
  failing:
    $agent
    env_command: [sh, -c, 'cat $tmp/keys/command; exit 3']
  wrong:
    $agent
    env_file: $tmp/keys/command
  taking:
    $agent
    env_command: [echo, SLUICE_TOKEN=mine]
  slow:
    $agent
    env_command: [sh, -c, 'echo begun >>$tmp/slow; read -r _ <$tmp/go; echo SLOW_KEY=slowly-given']
  unset:
    $agent
    env_credential: [CREDENTIAL_KEY=none]
projects:
  web: {path: $tmp}
  shop: {path: $tmp, env_file: $tmp/project.env}
  tree: {path: $tmp/repo, workspace_mode: worktree, merge: direct, env_file: $tmp/project.env}"
repository repo
start
run true

# --- where is it? --------------------------------------------------------------------------------------

# All that the daemon answers about the tasks, in one file.
answers() {
    for task; do
        for ask in show why logs 'logs --err' 'logs --json' 'show --json' 'why --json' 'bus read --task'; do
            # shellcheck disable=SC2086 # words
            "$SLUICE" $ask "$task" 2>&1
        done
    done
    for ask in list 'list --json' 'events --json --limit 500' status 'status --json' digest 'digest --json' \
        'agent list --json' 'project list --json'; do
        # shellcheck disable=SC2086 # words
        "$SLUICE" $ask 2>&1
    done
}

below_home() { # KEY
    grep -rqaF -f "keys/$1" "$home" 2>/dev/null
}

in_answers() { # KEY TASK…
    key=$1
    shift
    answers "$@" >answered
    grep -qaF -f "keys/$key" answered
}

# As it stands in the environment, and not in a file of the test.
in_command_lines() { # KEY
    cat /proc/[0-9]*/cmdline 2>/dev/null | grep -qaF -f "keys/$1"
}

not() {
    ! "$@"
}

# A run that shows what it has in every way that it can, and waits.
loud='echo "out $KEY"; echo "err $KEY" >&2
sluice bus post --type FACT "bus $KEY" >/dev/null
sluice add --agent open --title "title $KEY" --draft "prompt $KEY" >/dev/null
echo begun >>"$SLUICE_TASK.begun"; read -r _ <"$SLUICE_TASK.go"
printf "{\"type\":\"result\",\"subtype\":\"error_during_execution\",\"is_error\":true,\"result\":\"said %s\"}\n" "$KEY"
exit 1'

# --- set in the usual way ------------------------------------------------------------------------------

mkfifo ask web-1.go
add --project web --agent open "KEY=\$OPEN_KEY; $loud"
becomes "$id" running
appears begun "$id.begun"
rule 'the home has a value that was set with env' below_home open
rule 'so do the answers while the run lives' in_answers open "$id" web-2
sh -c 'echo >seen; read -r _ <ask' "$(cat keys/open)" &
soon [ -e seen ]
rule 'a command line that has it is found' in_command_lines open
unblock ask
wait $!
unblock "$id.go"
becomes "$id" failed
rule 'and when it has ended' in_answers open "$id" web-2
rule 'and the log' grep -qF "$(cat keys/open)" "$home/runs/$id/1/out.log"
appears "SLUICE_TASK=$id" notified
rule 'and the notification' grep -qF "$(cat keys/open)" notified

# --- by reference --------------------------------------------------------------------------------------

add --project shop --agent closed --draft hi # only to learn which numbers follow
next=shop-$((${id#shop-} + 1))
child=shop-$((${id#shop-} + 2))
mkfifo "$next.go"
add --project shop --agent closed 'KEY="$FILE_KEY|$COMMAND_KEY|$CREDENTIAL_KEY|$PROJECT_KEY"
    printf "%s\n" "$KEY" "$SAME_KEY" >"$SLUICE_TASK.seen"; '"$loud"
becomes "$id" running
appears begun "$id.begun"
printf '%s "quoted" \\|%s|%s|%s\nstronger-value\n' "$(cat keys/file)" "$(cat keys/command)" "$(cat keys/credential)" \
    "$(cat keys/project)" >want
rule 'a run has the secrets of its agent and of its project' cmp -s want "$id.seen"
rule 'what it prints is in its log while it runs' grep -qF "$(cat keys/file)" "$home/runs/$id/1/out.log"
mkdir aside && mv "$home/runs/$id/1/out.log" "$home/runs/$id/1/err.log" aside
for key in file command credential project; do
    rule "'$key': no other file of the home has it" not below_home $key
done
mv aside/*.log "$home/runs/$id/1"
for key in file command credential project; do
    rule "'$key': no answer has it while the run lives" not in_answers $key "$id" "$child"
    rule "'$key': nor has a command line" not in_command_lines $key
done
rule 'the answers have its name instead' grep -qF 'redacted PROJECT_KEY' answered
unblock "$id.go"
becomes "$id" failed
for key in file command credential project; do
    rule "'$key': nothing below the home has it when the run has ended" not below_home $key
    rule "'$key': no answer has it" not in_answers $key "$id" "$child"
done
run sluice logs "$id"
has 'out [redacted FILE_KEY]***' 'the log has its name instead'
run sluice show "$id"
has 'said [redacted FILE_KEY]' 'the message of its end, too'
run sluice show --json "$child"
rule 'the title of its child, too' [ "$(field title)" = 'title [redacted FILE_KEY]|[redacted COMMAND_KEY]|[redacted CREDENTIAL_KEY]|[redacted PROJECT_KEY]' ]
run sluice bus read --task "$id"
has 'bus [redacted FILE_KEY]' 'what it has posted, too'
appears "SLUICE_TASK=$id" notified
for key in file command credential project; do
    rule "'$key': a notification does not have it" not grep -qF "$(cat keys/$key)" notified
done

# --- who has them --------------------------------------------------------------------------------------

well='; printf "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"fine\"}\n"'
mine='env | sed -n "s/^\([A-Z]*_KEY\)=.*/\1/p" | sort >"$SLUICE_TASK.keys"'
names() { # ID
    tr '\n' ' ' <"$1.keys"
}
add --project web --agent open "$mine$well"
becomes "$id" done
rule 'a run of another agent and another project has none of them' [ "$(names "$id")" = 'OPEN_KEY ' ]
printf '%s\n' "$mine" >mine.sh
add --project shop --agent plain 'sh mine.sh'
becomes "$id" done
rule 'its own agent has those of the agent' [ "$(names "$id")" = 'FILE_KEY PROJECT_KEY SAME_KEY ' ]
printf 'tasks:\n- {project: shop, agent: plain, argv: [sh, mine.sh]}\n' >own.yaml
add -f own.yaml
becomes "$id" done
rule 'a command that the task brings has those of the project alone' [ "$(names "$id")" = 'PROJECT_KEY SAME_KEY ' ]
add --project shop --agent closed --env SAME_KEY=own 'echo "$SAME_KEY" >"$SLUICE_TASK.same"; echo "$SLUICE_SECRETS" >>"$SLUICE_TASK.same"'"$well"
becomes "$id" done
printf 'own\nFILE_KEY COMMAND_KEY CREDENTIAL_KEY PROJECT_KEY\n' >want
rule 'what a task sets itself is stronger; the run knows which are secret' cmp -s want "$id.same"
add --project shop --check 'echo "check $PROJECT_KEY"' -- true
becomes "$id" done
run sluice logs --check "$id"
prints "check $(tr 'a-z0-9-' '*' <keys/project)" 'a check has them, and its log does not'

# Its checks run again when its base has moved.
mkfifo merge.go
add --project tree --check "test \"\$PROJECT_KEY\" = \"\$(cat $tmp/keys/project)\" && echo \"checked \$PROJECT_KEY\"" -- \
    sh -c "echo new >new; read -r _ <$tmp/merge.go"
becomes "$id" running
commit repo other text
unblock merge.go
becomes "$id" done
run sluice logs --check "$id"
rule 'a check that runs again after a merge has them, too' [ "$(grep -c '^checked ' out)" = 2 ]
rule 'nor does its log show them' not below_home project

printf 'tasks:\n- {project: shop, spawn: more.yaml, argv: [sh, spawn.sh]}\n' >spawn.yaml
echo 'echo "[{argv: [\"true\"], title: \"spawned $PROJECT_KEY\", draft: true}]" >"$SLUICE_SPAWN"' >spawn.sh
add -f spawn.yaml
becomes "$id" done
run sluice list --all
has 'spawned [redacted PROJECT_KEY]' 'what a run writes down for its children is redacted'

# --- what cannot be read -------------------------------------------------------------------------------

fails() { # AGENT TEXT 'what'
    add --project web --agent "$1" "touch ran.$1"
    becomes "$id" failed
    run sluice show "$id"
    has "$2" "$3"
    rule "$1: nothing runs, and nobody sees the value" sh -c '! [ -e "ran.$0" ] && ! grep -qF -f keys/command out' "$1"
}
fails missing "agents.missing.env_file: cannot open '$tmp/no-such-file'" 'a file that is not there is a failed launch'
fails failing 'agents.failing.env_command: it failed with exit code 3' 'so is a command that fails'
fails wrong 'agents.wrong.env_file: line 1 is not NAME=VALUE' 'so is a file with something else in it'
fails taking "agents.taking.env_command: it sets 'SLUICE_TOKEN', which Sluice sets itself" 'so is a name that is not free'
fails unset "agents.unset.env_credential: cannot open '$tmp/credentials/none'" 'so is a credential that is not there'

run sluice doctor
has "agents.missing.env_file '$tmp/no-such-file' does not exist" 'doctor names a file that is not there'
"$SLUICE" config set agents.missing.env_file="$tmp/agent.env" >out 2>&1
run sluice doctor
has 'env_file, readable by their owner only' 'and that all is well'
chmod 644 agent.env
run sluice doctor
has "'$tmp/agent.env' has mode 644" 'and a file that others can read'
chmod 600 agent.env

# --- a command takes its time --------------------------------------------------------------------------

is_doing() { # ID TEXT
    "$SLUICE" show --json "$1" | grep -qF -e "\"doing\":\"$2\""
}
mkfifo go
add --project web --agent slow 'echo "$SLOW_KEY" >"$SLUICE_TASK.key"'
appears begun slow
rule 'show says what it waits for' is_doing "$id" 'reads its secrets'
run timeout "$patience" "$SLUICE" status
exits 0 'the daemon answers meanwhile'
unblock go
becomes "$id" done
rule 'then it runs' [ "$(cat "$id.key")" = slowly-given ]
: >slow
add --project web --agent slow 'touch ran.slow'
appears begun slow
run sluice cancel "$id"
becomes "$id" canceled
rule 'a cancel meanwhile ends the command, and nothing runs' not test -e ran.slow
: >slow
"$SLUICE" config set tasks.env_command_timeout_s=0.2 >out 2>&1
fails slow 'agents.slow.env_command: it took longer than tasks.env_command_timeout_s' 'a command that takes too long is a failed launch'

# --- tokens --------------------------------------------------------------------------------------------

token=$("$SLUICE" token add --scope read ci 2>err)
printf '%s' "$token" | grep -o 'sl_[A-Za-z0-9_-]*' >keys/token
rule 'a new token is shown to its owner' test -s keys/token
cp keys/token for-run
mkfifo token.go
add --project web -- sh -c 'echo "api $(cat for-run) $SLUICE_TOKEN"; printf %s "$SLUICE_TOKEN" >keys/run; read -r _ <token.go'
appears api "$home/runs/$id/1/out.log"
rule 'its log has its token while it runs' grep -qF -f keys/run "$home/runs/$id/1/out.log"
run sluice logs "$id"
rule 'nobody is shown the token of a live run' not grep -qF -f keys/run out
rule 'nor one for the interface' not grep -qF -f keys/token out
has '[redacted SLUICE_TOKEN]' 'its name is shown'
unblock token.go
becomes "$id" done

# --- another daemon ------------------------------------------------------------------------------------

"$SLUICE" config set tasks.env_command_timeout_s=30 >out 2>&1
next=shop-$((${id#*-} + 1))
mkfifo "$next.go"
add --project shop --agent closed 'KEY="$FILE_KEY|$COMMAND_KEY"; '"$loud"
becomes "$id" running
appears begun "$id.begun"
kill -9 "$(pid_of_daemon)"
start
becomes "$id" running
rule 'the log has them' grep -qF -f keys/command "$home/runs/$id/1/out.log"
shows_name() {
    "$SLUICE" logs "$id" | grep -qF 'out [redacted FILE_KEY]'
}
soon shows_name
rule 'after a restart they are known again' not in_answers file "$id"
soon not in_answers command "$id"
rule 'also those of a command' not in_answers command "$id"
kill -9 "$(shim_of "$id" 1)"
becomes "$id" running # again, as its second attempt
rule 'when its shim is killed they are not shown either' sh -c '"$0" logs --attempt 1 "$1" >out; ! grep -qF -f keys/command out' "$SLUICE" "$id"

finish
