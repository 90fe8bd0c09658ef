# play.sh: the rules of a client in any language. The test defines how its programs are run: rules, example, find_socket, add_in_run.
# shellcheck shell=sh disable=SC2154 # lib.sh and daemon.sh set the variables
needs openssl
"$SLUICED" --api openapi >"$tmp/openapi.json"
rule 'the client is the one of this table of operations' "$root/scripts/generate-clients" --check --openapi "$tmp/openapi.json"

openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext 'subjectAltName=DNS:localhost,IP:127.0.0.1' \
    -keyout "$tmp/key.pem" -out "$tmp/cert.pem" 2>"$tmp/openssl.err"
chmod 600 "$tmp/key.pem"
mkfifo "$tmp/fifo"
config 'http: {listen: "127.0.0.1:0"}
retry.failed.max: 0'
start
rules "$tmp/openapi.json" "$tmp/fifo"
report_rules 'the Unix socket and TCP'

"$SLUICE" config set "http.tls_cert=$tmp/cert.pem" "http.tls_key=$tmp/key.pem" http.listen=127.0.0.1:0 >"$tmp/set"
url() {
    "$SLUICE" status --json | first url
}
has_tls() {
    case $(url) in https://*) ;; *) false ;; esac
}
soon has_tls
rules "$tmp/openapi.json" "$(url)" "$tmp/cert.pem"
report_rules 'TLS'

# --- examples ----------------------------------------------------------------------------------
example add_and_wait sh -c 'echo "from a task"'
exits 0 'add_and_wait: a task that succeeds'
prints 'from a task' 'add_and_wait: prints its output'
example add_and_wait false
exits 1 'add_and_wait: a task that fails'
example add_and_wait
exits 2 'add_and_wait: a task without a command'
rule 'add_and_wait: the message of the API' grep -q '^not added: ' "$tmp/err"

add echo one
ends "$id"
before=$("$SLUICE" events --limit 1 --json | first seq)
add echo two
example follow_events "$id" "$before"
exits 0 'follow_events: ends with the task'
rule 'follow_events: the first event is the one behind the number' sh -c 'read -r number kind task <"$1" && [ "$number $kind $task" = "$2 task.added $3" ]' - "$tmp/out" "$((before + 1))" "$id"
example follow_events "$id"
exits 0 'follow_events: of a task that has ended there is nothing to follow'

# shellcheck disable=SC2016 # for the shell of the task
add -- sh -c '"$0" ask --wait 10m --choice yes --choice no "Go on?"' "$SLUICE"
asks() {
    "$SLUICE" questions --json | grep -q "\"task\":\"$id\""
}
soon asks || "$SLUICE" logs --err "$id" | sed 's/^/# /'
printf 'yes\n' >"$tmp/answers"
example answer_questions <"$tmp/answers"
exits 0 'answer_questions: answers the open question'
has "$id asks: Go on? (yes, no)" 'answer_questions: which it has shown'
ends "$id"
rule 'the task has the answer' [ "$("$SLUICE" logs "$id")" = yes ]

# --- where the daemon is -------------------------------------------------------------------------
add_in_run
ends "$id"
rule 'inside a run the client is that of the run' [ "$("$SLUICE" logs "$id")" = running ]
"$SLUICE" down --wait >"$tmp/down" 2>&1
mkdir -m 700 "$tmp/runtime"
unset SLUICE_HOME
export XDG_RUNTIME_DIR="$tmp/runtime"
export XDG_CONFIG_HOME="$tmp/settings" XDG_DATA_HOME="$tmp/data"
"$SLUICE" up >"$tmp/up" 2>&1
find_socket
prints True 'the daemon is found through XDG_RUNTIME_DIR'
"$SLUICE" down --wait >"$tmp/down" 2>&1
unset XDG_RUNTIME_DIR
"$SLUICE" up >"$tmp/up" 2>&1
find_socket
prints True 'and without it through XDG_DATA_HOME'
"$SLUICE" down --wait >"$tmp/down" 2>&1
SLUICE_HOME=$tmp/a-long-path-of-a-home-that-has-no-room-in-the-address-of-a-socket/which-is-at-most-107-bytes-long-on-linux/home
export SLUICE_HOME
mkdir -p "$SLUICE_HOME"
short=/tmp/sluice-$(id -u) # where the program puts the socket of a long path
had_short=$([ -e "$short" ] && echo yes || echo no)
"$SLUICE" up >"$tmp/up" 2>&1
find_socket
prints True 'and with a long path, whose socket is in /tmp'
"$SLUICE" down --wait >"$tmp/down" 2>&1
[ "$had_short" = yes ] || rmdir "$short" 2>"$tmp/err" || : # others may use it
find_socket
not_found=$code
rule 'without a daemon it fails' [ "$not_found" != 0 ]
rule 'and says how to start one' grep -q "sluice up" "$tmp/err"
finish
