#!/bin/sh
# A problem that only a person can fix is reported with the agent's message and a remedy, and blocks no other task.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"
mkdir bin plays
cat >bin/claude <<'END'
#!/bin/sh
cat >/dev/null
if [ -e "$PLAYS/in" ]; then
    echo '{"type":"result","subtype":"success","is_error":false,"session_id":"s-1","result":"Done."}'
    exit 0
fi
echo '{"type":"system","subtype":"init","session_id":"s-1"}'
echo '{"type":"result","subtype":"success","is_error":true,"session_id":"s-1","result":"Not logged in · Please run /login"}'
exit 1
END
chmod +x bin/claude
PATH=$tmp/bin:$PATH
export PATH
config "agents:
  claude: {env: ['PLAYS=$tmp/plays']}
  failing: {command: [sh, -c, 'echo broken >&2; exit 7']}
retry: {failed: {delay_s: 3600}}"
start

words='Not logged in · Please run /login'
run sluice run --agent claude 'mend it'
exits 123 'run returns when its account needs a person'
[ "$(grep -c '^sluice: ' err)" = 2 ] && ! grep -qv '^sluice: ' err && tail -n 1 err | grep -qF -e "$words"
report $? 'with the words of the agent, after the warning that it is not logged in'
run sluice list --ids
task=$(cat "$tmp/out")
run sluice wait "$task"
exits 6 'so does wait, with a code of its own'
has "it needs a person: account 'claude' is closed; claude said: \"$words\"" 'and says what for'
run sluice wait --keep-waiting --timeout 0 "$task"
exits 5 'unless it is to keep waiting'
run sluice wait --json --timeout 0 "$task"
has '"needs_person":true' 'JSON says it, too'
run sluice why "$task"
has "claude said: \"$words\"" 'why quotes the agent'
has "claude # log in once; or put ANTHROPIC_API_KEY=... in a file and run: sluice config set agents.claude.env_file=FILE" \
    'and says how to log in'
has '; then: sluice limiter clear claude' 'and what goes on then'
run sluice status
has "claude said: \"$words\"" 'status has it in its alert'
run sluice digest
has "claude said \"$words\"" 'the digest, too'
has 'sluice limiter clear claude' 'with the command'
run sluice limiter list --json
has "\"agent\":\"claude\",\"said\":\"$words\",\"fix\":\"claude # log in once" 'and the list of accounts'
kill -9 "$(pid_of_daemon)"
run sluice up
run sluice why "$task"
has "$words" 'all that after a crash'
: >plays/in
run sluice limiter clear claude
rule 'after the login one command goes on' becomes "$task" 'done'
run sluice limiter list --json
rule 'and nothing more is said of it' sh -c '! grep -q "\"said\"" out'

# --- how its last run ended -------------------------------------------------------------------------------

add --agent failing 'try'
held() {
    [ "$(value "$id" hold)" = backoff ]
}
soon held
run sluice why "$id"
has 'its last run: exit code 7' 'why says how the last attempt failed'

# --- secrets ----------------------------------------------------------------------------------------------

add --hold -e API_KEY=sesame -- true
run sluice show "$id"
rule 'show does not print the values of variables' sh -c '! grep -q sesame out'
run sluice show --json "$id"
rule 'nor does its JSON' sh -c '! grep -q sesame out'
has 'API_KEY' 'the name is there'

finish
