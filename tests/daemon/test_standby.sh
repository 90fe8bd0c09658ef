#!/bin/sh
# Two daemons of one store: one is active, the other waits, says so, and takes over.
# shellcheck disable=SC1091,SC2034,SC2154 # kit.sh sets home, root and tmp
. "$(dirname "$0")/kit.sh"

b=$tmp/b
mkdir -m 700 "$b" "$tmp/data"
trap 'in_b stop_daemon; stop_daemon; rm -rf "$tmp"' EXIT

store=$tmp/store.db
store_is_file || store="$SLUICE_TEST_STORE?schema=$(schema_of "$b")"

# HOME [LINES]: writes a configuration with the shared store and runs.
configure() {
    cat >"$1/sluice.yaml" <<END
store: {url: "$store"}
data: {folder: $tmp/data}
daemon:
  standby: true
  host: one
  addresses: ["unix:$home/sluice.sock", "unix:$b/sluice.sock"]
${2-}
END
}

# Runs a function or program with the other home.
in_b() {
    (SLUICE_HOME=$b && "$@")
}
run_b() {
    run env "SLUICE_HOME=$b" "$@"
}

ask() { # HOME PATH
    curl -s --max-time "$patience" --unix-socket "$1/sluice.sock" -w ' %{http_code}' "http://sluice$2" >"$tmp/out"
}

is_role() { # HOME ROLE
    ask "$1" /healthz && grep -q "\"role\":\"$2\"" out
}

configure "$home"
configure "$b"

# A command that finds no daemon retries for three seconds; meanwhile the others continue.
mkdir -m 700 "$tmp/nobody"
echo "daemon: {addresses: ['unix:$tmp/nobody/sluice.sock', 'unix:$tmp/none/sluice.sock']}" >"$tmp/nobody/sluice.yaml"
(
    SLUICE_HOME=$tmp/nobody "$SLUICE" add -- true >/dev/null 2>"$tmp/nobody/err"
    echo $? >"$tmp/nobody/code"
) &
nobody=$!

# --- a standby ---------------------------------------------------------------------------------

run sluice up
first=$(pid_of_daemon)
run_b "$SLUICE" up
exits 0 'a daemon that finds the store in use starts as a standby'
second=$(in_b pid_of_daemon)
says "sluice: the daemon is running (pid $second) in '$b', as a standby" 'and up says so'
run_b "$SLUICE" up --json
rule 'up --json tells the role' [ "$(field role)" = standby ]
ask "$b" /v1/daemon
has '"role":"standby"' 'it tells that it is a standby'
has "\"active\":{\"who\":\"one/$first\",\"addresses\":[\"unix:$home/sluice.sock\"]}" 'and who is active, and where'
ask "$home" /v1/daemon
has '"role":"active"' 'the active one answers the same question'
ask "$b" /v1/status
has "\"code\":\"standby\",\"message\":\"this daemon is a standby: one/$first is the active one\"" \
    'everything else is refused with a sentence that names the active one'
has "\"active\":[\"unix:$home/sluice.sock\"]}" 'and with its addresses'
rule 'the status is 503' [ "$(tail -n 1 out)" = ' 503' ]
ask "$b" /metrics
has 'sluice_active 0' 'its metrics say that it does not decide'
ask "$home" /metrics
has 'sluice_active 1' 'those of the active one that it does'
ask "$b" /
has '"code":"standby"' 'it has no dashboard'

# --- clients -----------------------------------------------------------------------------------

run_b "$SLUICE" add -- true
exits 0 'a command of the home of a standby asks the active one'
has ' started' 'which does what was asked for'
run_b "$SLUICE" status
rule 'status tells whose answer it is' grep -q "(answer of 'unix:$home/sluice.sock')" err
run_b "$SLUICE" doctor
has 'a standby' 'doctor knows a standby'
grep -A 1 '^  ok    daemon ' out | grep -qF "unix:$home/sluice.sock; the following checks are its own"
report $? 'and names the active one before it tells what that one says'
mkdir -m 700 "$tmp/client"
cp "$home/sluice.yaml" "$tmp/client/"
run env "SLUICE_HOME=$tmp/client" "$SLUICE" list
exits 0 'a home without a daemon is a client of the addresses'
rule 'and starts none' [ ! -e "$tmp/client/sluice.lock" ]
run env "SLUICE_HOME=$tmp/client" "$SLUICE" doctor
has "unix:$home/sluice.sock; the following checks are its own" 'doctor says there, too, whose answers these are'
rule 'a standby tells the way to who has no list' in_b sh -c \
    "sed -i '/addresses/d' '$b/sluice.yaml' && '$SLUICE' list >/dev/null"
configure "$b"

# --- taking over -------------------------------------------------------------------------------

"$SLUICE" add --json -- tail -f /dev/null >out
long=$(field id)
becomes "$long" running
mkfifo speak
add -- sh -c 'while read -r _ <"$2/speak"; do n=$((n + 70)); "$1" report --tokens "$n"; echo "$n $?" >>"$2/reported"; done' - \
    "$SLUICE" "$tmp"
speaker=$id
becomes "$speaker" running
SLUICE_HOME=$b "$SLUICE" events -f --json >events 2>events.err &
follower=$!
appears '"kind"' events
"$SLUICE" wait --timeout "$patience" "$long" >waited 2>&1 &
waiter=$!
shim=$(tr '\0\n' '  ' <"$tmp/data/runs/$long/1/lock" | sed -n 's/.*shim \([0-9]*\) .*/\1/p')
kill -9 "$first"
unblock speak
rule 'a run reports to the daemon that takes over from its own' appears '70 0' reported
rule 'which counts it as the run that it is' in_b sh -c '"$SLUICE" show --json "$1" | grep -q ":70[,}]"' - "$speaker"
run sluice add -- true
exits 0 'an add that finds its daemon dead is done by the one that takes over'
rule 'which is the same process' is_role "$b" active
rule 'and has the pid it had' [ "$(in_b pid_of_daemon)" = "$second" ]
rule 'what ran goes on' kill -0 "$shim"
rule 'and is known to it' [ "$(value "$long" state)" = running ]
rule 'its log says when' grep -q 'this daemon is the active one now' "$b/sluice.log"
run sluice up
rule 'the one that died comes back as a standby' is_role "$home" standby
unblock speak
rule 'so it does while its own is a standby' appears '140 0' reported
run sluice cancel --now "$speaker"
run sluice cancel --now "$long"
exits 0 'what the dead one had started is stopped by the living one'
wait "$waiter"
rule 'who waits for a task hears of its end from the other one' grep -q "$long is canceled" waited
"$SLUICE" events --task "$long" --json --after 0 >out
rule 'and it has ended once' [ "$(grep -o '"kind":"run.ended"' out | wc -l)" = 1 ]
appears "\"$long\"" events
rule 'who follows the events goes on with the next one, without a hole' soon sh -c \
    'grep -q "\"to\":\"canceled\"" events && grep -o "^{\"seq\":[0-9]*" events | cut -d: -f2 |
     awk "NR > 1 && \$1 != last + 1 { exit 1 } { last = \$1 }"'
kill "$follower"
wait "$follower"

# --- until done --------------------------------------------------------------------------------

run sluice config set retry.failed.max=0
mkfifo finish
add --until 'done' -- sh -c 'echo "$SLUICE_ITERATION" >>rounds; read -r _ <finish; touch "$SLUICE_DONE"'
becomes "$id" running
kill -9 "$(in_b pid_of_daemon)"
soon is_role "$home" active
unblock finish
rule 'a marker that is made after the takeover is seen by the next daemon' becomes "$id" 'done'
rule 'so nothing is repeated' [ "$(cat rounds)" = 1 ]
in_b "$SLUICE" up >/dev/null 2>&1
in_b "$SLUICE" wait "$id" >/dev/null
kill -9 "$(pid_of_daemon)"
soon is_role "$b" active
second=$(in_b pid_of_daemon)
run sluice up

# --- ends --------------------------------------------------------------------------------------

run sluice down
exits 0 'a standby can be stopped'
says 'sluice: the standby has stopped; the active daemon keeps running' 'down says that it was one'
rule 'the active one goes on' is_role "$b" active
run sluice up
rule 'and it comes again' is_role "$home" standby
kill -TERM "$second"
rule 'an active daemon that is stopped in good order makes room, too' soon is_role "$home" active
rule 'and has gone' is_gone "$second"
run sluice down
wait "$nobody"
code=$(cat "$tmp/nobody/code")
cp "$tmp/nobody/err" err
exits 3 'with addresses no command starts a daemon by itself: code 3'
complains "no daemon answers at 'unix:$tmp/nobody/sluice.sock', 'unix:$tmp/none/sluice.sock'" 'and says where none was'

# --- over TCP ----------------------------------------------------------------------------------

run sluice up
configure "$b" 'http: {listen: "127.0.0.1:0"}'
run_b "$SLUICE" up
url=$(sed -n 's|.*standby: TCP listener at \(http://[0-9.:]*\).*|\1|p' "$b/sluice.log" | tail -n 1)
tcp() {
    curl -s --max-time "$patience" -w ' %{http_code}\n' "$@" >"$tmp/out"
}
tcp "$url/healthz"
prints '{"ok":true,"role":"standby"}
 200' 'by TCP anybody hears that it is a standby'
tcp "$url/v1/status"
prints '{"error":{"code":"standby","message":"this daemon is a standby: ask the active one"}}
 503' 'and nothing else'
tcp "$url/v1/daemon"
rule 'not who is active' sh -c '! grep -q one/ out && grep -q 503 out'
tcp -X POST -H 'Content-Type: application/json' -d '{}' "$url/v1/shutdown"
rule 'nobody ends it from there' sh -c 'grep -q 503 out' && is_role "$b" standby
tcp -H 'Host: evil.example' "$url/healthz"
rule 'the gate is that of every door' grep -q 403 out
tcp "$url/metrics"
has 'sluice_active 0' 'a monitor hears that it does not decide'
run sluice down
rule 'when it is active, tokens are asked for there' soon is_role "$b" active
url=$(in_b "$SLUICE" status --json | first url)
tcp "$url/v1/status"
rule 'again' grep -q 401 out
run_b "$SLUICE" down
configure "$b"

# --- without the setting -----------------------------------------------------------------------

run sluice up
sed -i 's/standby: true/standby: false/' "$b/sluice.yaml"
run_b "$SLUICED"
exits 4 'without the setting a daemon that finds the store in use ends: code 4'
rule 'and says who has it' grep -q "one/$(pid_of_daemon) unix:" err
sed -i 's/standby: false/standby: nearly/' "$b/sluice.yaml"
run_b "$SLUICED"
exits 1 'a value that is none is refused'
configure "$b" 'limits: {runs: 3}'
run_b "$SLUICE" up
in_b sh -c 'echo "limits: {runs: nothing}" >>"$SLUICE_HOME/sluice.yaml"'
run sluice down
rule 'a standby whose configuration was broken meanwhile takes over with the one it has' soon is_role "$b" active
rule 'and complains' grep -q 'the configuration was not changed' "$b/sluice.log"
run_b "$SLUICE" down
run sluice up
configure "$b"
run_b "$SLUICE" up
other=$tmp/other.db
store_is_file && other=postgresql://127.0.0.1:1/none
sed -i "s|^store: .*|store: {url: \"$other\"}|" "$b/sluice.yaml"
run sluice down
rule 'one that is told of another store meanwhile takes over the one it waited for' soon is_role "$b" active
rule 'and says that the other has to wait' grep -q 'store.url has changed' "$b/sluice.log"
configure "$b"
run_b "$SLUICE" config set daemon.addresses=ftp://there
exits 2 'an address that is none is refused'
complains 'unix:/PATH' 'and what one looks like is said'
run_b "$SLUICE" config set daemon.addresses='unix:/a/sluice.sock, unix:/b/sluice.sock'
exits 2 'a comma behind an address is not taken for a part of its path'
complains 'unix:/PATH without a comma' 'and that is said, too'
finish
