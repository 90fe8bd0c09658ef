#!/bin/sh
# OpenTelemetry: the daemon receives telemetry of running agents, with one address per run, and sends the usage of runs to a
# collector, which may be slow or faulty. Both are off by default.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"
. "$root/tests/daemon/hook.sh"
: "${OTLP_POST:?is not set: OTLP_POST=build/tests/daemon/otlp_post}"
case $OTLP_POST in
/*) ;;
*) OTLP_POST=$OLDPWD/$OTLP_POST ;;
esac
bodies=$root/tests/fixtures/otel

# An agent that saves its environment, and then prints what the test provides.
mkdir bin plays
cat >bin/claude <<'END'
#!/bin/sh
cat >/dev/null
mkfifo "$PLAYS/$SLUICE_RUN.go"
env >"$PLAYS/$SLUICE_RUN.new" && mv "$PLAYS/$SLUICE_RUN.new" "$PLAYS/$SLUICE_RUN.env"
cat "$PLAYS/$SLUICE_RUN.go"
END
chmod +x bin/claude
PATH=$tmp/bin:$PATH
export PATH
config "limits: {runs: 4}
projects: {web: }
retry: {failed: {max: 0}, lost: {max: 0}}
agents: {claude: {env: ['PLAYS=$tmp/plays']}}"
start

set_to() { # KEY=VALUE...
    "$SLUICE" config set "$@" >/dev/null || echo "# config set $* failed"
}
begin() { # starts a run of the agent, which waits; sets $id
    add --project web --agent claude --retries 0 'mend it'
    soon test -e "plays/$id.1.env"
}
variable() { # NAME: of the run's environment
    sed -n "s/^$1=//p" "plays/$id.1.env"
}
says() { # LINE: the final output of the agent
    timeout "$patience" sh -c 'printf "%s\n" "$1" >"$2"' - "$1" "plays/$id.1.go"
}
post() { # PATH FILE [TYPE]: at the run's address; prints the status
    "$OTLP_POST" "$(variable OTEL_EXPORTER_OTLP_ENDPOINT)$1" "$bodies/$2" ${3+"$3"} 2>&1
}
used() { # in, out and cost of the last run
    runs=$("$SLUICE" show --json "$id")
    for member in tokens_in tokens_out cost_usd; do
        printf '%s ' "$(echo "$runs" | sed 's/.*"runs":\[//' | first $member)"
    done
}
result() { # IN OUT COST: the final message of the agent
    echo "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"ok\",\"session_id\":\"5f0c3a52-9d0e-4a7c-8a51-0c6f2f6d1b11\",\"num_turns\":1,\"terminal_reason\":\"completed\",\"total_cost_usd\":$3,\"usage\":{\"input_tokens\":$1,\"output_tokens\":$2,\"cache_read_input_tokens\":0,\"cache_creation_input_tokens\":0}}"
}

# --- off ------------------------------------------------------------------------------------------------

begin
rule 'off by default: a run gets no address and no trace' \
    [ -z "$(variable OTEL_EXPORTER_OTLP_ENDPOINT)$(variable CLAUDE_CODE_ENABLE_TELEMETRY)$(variable TRACEPARENT)" ]
says "$(result 1 2 0.0001)"
becomes "$id" 'done'
run sluice config set otel.listen=0.0.0.0:4318
complains '127.0.0.1:PORT' 'only addresses of this machine can be listened on'
run sluice config set otel.endpoint=https://collector.example/x?y
complains 'https://' 'and a collector has an address without a query'

# --- received telemetry ---------------------------------------------------------------------------------

set_to otel.listen=127.0.0.1:0
begin
endpoint=$(variable OTEL_EXPORTER_OTLP_ENDPOINT)
case $endpoint in
http://127.0.0.1:*/otlp/*.1/????????????????????????????????) report 0 'a run gets an address of its own' ;;
*) report 1 "a run gets an address of its own, not '$endpoint'" ;;
esac
rule 'and the variables that make its agent use it' \
    [ "$(variable CLAUDE_CODE_ENABLE_TELEMETRY) $(variable OTEL_METRICS_EXPORTER) $(variable OTEL_LOGS_EXPORTER) $(variable OTEL_EXPORTER_OTLP_PROTOCOL)" = '1 otlp otlp http/json' ]
rule 'which has nothing of its token in it' sh -c '! echo "$1" | grep -q "$2"' - "$endpoint" "$(variable SLUICE_TOKEN)"
rule 'events are taken' [ "$(post /v1/logs logs_1.json)" = 200 ]
rule 'and counted while the run goes on' [ "$(used)" = '4312 25 0.001424 ' ]
rule 'counters tell of the same calls' [ "$(post /v1/metrics metrics_delta_1.json) $(used)" = '200 4312 25 0.001424 ' ]
rule 'the next ones are added' [ "$(post /v1/metrics metrics_delta_2.json) $(used)" = '200 8622 125 0.004324 ' ]
rule 'a body that is sent again is not' [ "$(post /v1/metrics metrics_delta_2.json) $(used)" = '200 8622 125 0.004324 ' ]
rule 'what is no OTLP is refused' [ "$(post /v1/metrics ../../unit/meson.build) $(post /v1/metrics logs_1.json text/plain)" = '400 415' ]
rule 'other paths are not there' [ "$(post /v1/traces logs_1.json) $(post / logs_1.json) $(post '' logs_1.json)" = '404 404 404' ]
wrong=${endpoint%????}0000/v1/logs
rule 'nor is any without the secret of the run' [ "$("$OTLP_POST" "$wrong" "$bodies/logs_1.json")" = 404 ]
rule 'nor the API' [ "$("$OTLP_POST" "${endpoint%/otlp/*}/v1/pause" "$bodies/logs_1.json")" = 404 ]
first=$id
"$SLUICE" cancel --now "$first" >/dev/null
becomes "$first" canceled
rule 'a run that was killed keeps what was heard of it' [ "$(used)" = '8622 125 0.004324 ' ]
rule 'after its end nothing is heard of it any more' [ "$("$OTLP_POST" "$endpoint/v1/logs" "$bodies/logs_1.json")" = 404 ]

# --- the final message takes precedence -------------------------------------------------------------------

begin
rule 'numbers that are larger than those of the end' [ "$(post /v1/metrics metrics_cumulative_2.json) $(used)" = '200 8622 125 0.004324 ' ]
says "$(result 4000 100 0.004)"
becomes "$id" 'done'
rule 'yield to what the agent itself says there' [ "$(used)" = '4000 100 0.004000 ' ]

begin
says "$(result 7 8 0.009)"
becomes "$id" 'done'
rule 'and a run that was not heard has its own' [ "$(used)" = '7 8 0.009000 ' ]

# --- a restart of the daemon --------------------------------------------------------------------------------

port=$(variable OTEL_EXPORTER_OTLP_ENDPOINT | sed 's,.*:\([0-9]*\)/.*,\1,')
set_to "otel.listen=127.0.0.1:$port"
begin
rule 'with a port of one'"'"'s own' [ "$(post /v1/metrics metrics_delta_1.json) $(used)" = '200 4312 25 0.001424 ' ]
kill -9 "$(pid_of_daemon)"
run sluice up
exits 0 'the daemon is killed and starts again'
rule 'the run is heard at the same address, and what was known is added to' \
    [ "$(post /v1/metrics metrics_delta_2.json) $(used)" = '200 8622 125 0.004324 ' ]
"$SLUICE" cancel --now "$id" >/dev/null
becomes "$id" canceled

# --- configured variables take precedence ----------------------------------------------------------------

set_to 'agents.claude.env=["PLAYS='"$tmp"'/plays", "OTEL_EXPORTER_OTLP_ENDPOINT=http://collector.example"]'
begin
rule 'a collector of the agent'"'"'s own stays its own' [ "$(variable OTEL_EXPORTER_OTLP_ENDPOINT)" = http://collector.example ]
says "$(result 1 2 0.0001)"
becomes "$id" 'done'
set_to 'agents.claude.env=["PLAYS='"$tmp"'/plays"]'
hook_start ''
set_to "otel.listen=127.0.0.1:$(cat "$hook/port")"
rule 'a port that another program has is said' appears 'otel.listen: cannot listen on' "$home/sluice.log"
begin
rule 'and nothing waits for it' [ -z "$(variable OTEL_EXPORTER_OTLP_ENDPOINT)" ]
says "$(result 1 2 0.0001)"
becomes "$id" 'done'
set_to otel.listen=
begin
rule 'switched off, nobody gets an address' [ -z "$(variable OTEL_EXPORTER_OTLP_ENDPOINT)" ]
rule 'and nobody listens' sh -c '! "$1" "http://127.0.0.1:$2/x" "$3" 2>/dev/null' - "$OTLP_POST" "$port" "$bodies/logs_1.json"
says "$(result 1 2 0.0001)"
becomes "$id" 'done'

# --- the bodies -----------------------------------------------------------------------------------------

printf '# for the collector\nSluice-Id: from-the-file\n' >headers
set_to "otel.endpoint=${url%/hook}/base/" otel.interval_s=0.1 "otel.headers_file=$tmp/headers"
begin
parent=$(variable TRACEPARENT)
trace=$(echo "$parent" | cut -d - -f 2)
span=$(echo "$parent" | cut -d - -f 3)
says "$(result 30 4 0.0123)"
becomes "$id" 'done'
rule 'a run becomes a span, with the ids that the run was given' posted "\"traceId\":\"$trace\",\"spanId\":\"$span\",\"name\":\"invoke_agent claude\""
rule 'at the path of OTLP below that of the configuration, with the headers of the file' \
    grep -q '^204 POST /base/v1/traces HTTP/1.1 none id=from-the-file {"resourceSpans":\[' "$hook/log"
rule 'with what it has used' grep -qF -e '{"key":"gen_ai.usage.input_tokens","value":{"intValue":"30"}}' "$hook/log"
rule 'and its conversation' grep -qF -e '{"key":"gen_ai.conversation.id","value":{"stringValue":"5f0c3a52-9d0e-4a7c-8a51-0c6f2f6d1b11"}}' "$hook/log"
rule 'sums follow' posted '/base/v1/metrics HTTP/1.1'
rule 'with tokens' grep -q '"gen_ai.client.inference.usage.input_tokens".*"gen_ai.provider.name","value":{"stringValue":"anthropic"}.*"asInt":"30"' "$hook/log"
rule 'and durations' grep -q '"gen_ai.invoke_agent.duration".*"unit":"s"' "$hook/log"

add --project web --retries 0 -- sh -c 'exit 7'
becomes "$id" failed
rule 'a plain command is a span, too' posted "{\"key\":\"sluice.task\",\"value\":{\"stringValue\":\"$id\"}}"
rule 'with an error type' grep -qF -e '{"key":"error.type","value":{"stringValue":"failed"}}' "$hook/log"

printf 'a secret without a name\n' >headers
add --project web -- true
rule 'headers that are none are said,' appears 'otel.headers_file: line 1 of' "$home/sluice.log"
rule 'but not shown' sh -c '! grep -q "a secret without" "$1"' - "$home/sluice.log"
rule 'and nothing is sent without them' [ "$(posts "$id\"")" = 0 ]
printf 'Sluice-Id: from-the-file\n' >headers
rule 'until they are right' posted "$id\""

# --- a faulty collector --------------------------------------------------------------------------------------

mode 503
add --project web -- true
missed=$id
becomes "$missed" 'done'
rule 'what is not acknowledged' soon grep -q "^503 .*$missed\"" "$hook/log"
kill -9 "$(pid_of_daemon)"
mode 204
run sluice up
rule 'is sent again, also by the next daemon' soon grep -q "^204 .*$missed\"" "$hook/log"
mode 400
add --project web -- true
refused=$id
becomes "$refused" 'done'
soon grep -q "^400 POST /base/v1/traces.*$refused\"" "$hook/log"
mode 204
add --project web -- true
soon grep -q "^204 .*$id\"" "$hook/log"
rule 'what is refused for good is not' [ "$(grep -c "v1/traces.*$refused\"" "$hook/log")" = 1 ]
mode 503+1
began=$(date +%s%3N)
add --project web -- true
soon grep -q "^503+1 .*$id\"" "$hook/log"
mode 204
soon grep -q "^204 .*$id\"" "$hook/log"
rule 'one that asks for time (Retry-After) gets it' [ $(($(date +%s%3N) - began)) -ge 1000 ]

# --- https ------------------------------------------------------------------------------------------------

needs openssl
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout key.pem -out cert.pem \
    -days 2 -subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1 2>/dev/null
mkfifo answers
openssl s_server -accept 127.0.0.1:0 -cert cert.pem -key key.pem <answers >served 2>&1 &
tls_pid=$!
trap 'stop_daemon; kill "$hook_pid" "$tls_pid" 2>/dev/null; rm -rf "$tmp"' EXIT
exec 9>answers
soon grep -q '^ACCEPT' served
tls=$(sed -n 's/^ACCEPT \(.*:[0-9]*\).*/\1/p' served | head -n 1)
set_to "otel.endpoint=https://$tls/base"
add --project web -- true
https=$id
rule 'a collector that nobody vouches for gets nothing, and the log says why' appears "the certificate of '$tls' is not trusted" "$home/sluice.log"
rule 'really nothing' [ "$(grep -c 'POST /base' served)" = 0 ]
set_to "notify.https_command=curl --cacert $tmp/cert.pem"
rule 'one with a certificate that is trusted gets its spans by https' appears "$https\"" served
rule 'at its path' grep -qF -e 'POST /base/v1/traces HTTP/' served
rule 'with the headers of the file' grep -qF -e 'Sluice-Id: from-the-file' served
printf 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n' >&9
rule 'and its answer is the acknowledgement' appears 'otel.endpoint: it is back' "$home/sluice.log"
exec 9>&-
kill "$tls_pid"
set_to "otel.endpoint=${url%/hook}/base/"

mode hang
add --project web -- true
soon grep -q "^hang .*$id\"" "$hook/log"
add --project web -- true
rule 'one that hangs holds up nothing' becomes "$id" 'done'
rule 'not even the end of the daemon' timeout "$patience" "$SLUICE" down --wait
finish
