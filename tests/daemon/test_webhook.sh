#!/bin/sh
# The webhook: selected notifications arrive, signed, and are not repeated once acknowledged, also with faulty receivers and
# kills of the daemon.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"
. "$here/hook.sh"

hook_start 'a secret of the test'
echo 'a secret of the test' >secret && chmod 600 secret
config "limits: {runs: 4}
projects: {web: }
limiters: {anthropic: {initial_s: 600, max_s: 600}}
breaker: {max: 1, reset_s: 3600}
retry: {failed: {delay_s: 0}}
notify: {webhook: '$url', secret_file: '$tmp/secret', retry_s: 0.1, retry_max_s: 0.2, timeout_s: 3600}"
start

set_to() { # KEY=VALUE...
    "$SLUICE" config set "$@" >/dev/null || echo "# config set $* failed"
}
id_of() { # TEXT: the id of the first request that had it
    grep -F -e "$1" "$hook/log" | head -n 1 | sed 's/.* id=\([^ ]*\) .*/\1/'
}
alert_is() { # KEY: it is open
    "$SLUICE" status --json | sed -e 's/.*"alerts":\[//' -e 's/\],"external":.*//' | grep -qF -e "{\"key\":\"$1\",\"text\""
}
no_alert() {
    ! alert_is "$1"
}

# --- what is sent ---------------------------------------------------------------------------------------

add --project web --title 'paint the "door"' -- true
rule 'a task that is done is posted' posted '"kind":"done"'
rule 'as the schema says' grep -qF -e "\"schema_version\":1,\"id\":\"$(id_of '"kind":"done"')\",\"seq\":" "$hook/log"
rule 'with task, project and title' grep -qF -e "\"task\":\"$id\",\"project\":\"web\",\"title\":\"paint the \\\"door\\\"\"" "$hook/log"
rule 'to the path of the URL, signed with the secret' grep -q '^204 POST /hook HTTP/1.1 good id=' "$hook/log"

add --project web --retries 1 --title broken -- sh -c 'exit 7'
rule 'one that has failed, too' posted '"kind":"failed"'
rule 'with its reason and the end of its last run' grep -q '"kind":"failed".*"attempt":2,"reason":"retries","message":"[^"]*7' "$hook/log"

add --project web --hold -- true
"$SLUICE" cancel "$id" >/dev/null
add --project web --review -- true
rule 'one that waits for review needs a person' posted '"kind":"needs-person"'
rule 'and it says what to do' grep -qF -e "'sluice approve $id'" "$hook/log"
"$SLUICE" approve "$id" >/dev/null
posted "\"kind\":\"done\",\"text\":\"'$id' is done"

add --project web -- /nowhere/at/all
rule 'an open breaker needs a person' posted '"alert":"breaker:'
"$SLUICE" cancel "$id" >/dev/null

add --project web --group release -- true
rule 'a group that is finished is posted' posted '"kind":"group-finished"'
rule 'with its counts' grep -qF -e '"group":{"name":"release","total":1,"done":1,"failed":0,"open":0}' "$hook/log"

mkfifo go told
add --project web --limiter anthropic -- sh -c "'$SLUICE' report --rate-limited 900 && echo told >'$tmp/told'; read -r word <'$tmp/go'"
cat told >/dev/null
rule 'an account in a long backoff is posted' posted '"kind":"limited"'
rule 'with its name and the time' grep -q '"kind":"limited".*"account":"anthropic","until":[0-9]' "$hook/log"
"$SLUICE" limiter clear anthropic >/dev/null
unblock go
ends "$id"
becomes "$id" 'done'
posted "'$id' is done"

rule 'nothing else was: no start, no retry, no cancel, no end of a run' \
    [ "$(grep -oE '"kind":"[a-z-]*"' "$hook/log" | sort | uniq -c | tr -d ' \n')" = \
    '4"kind":"done"1"kind":"failed"1"kind":"group-finished"1"kind":"limited"2"kind":"needs-person"' ]
rule 'each once' [ -z "$(ids '[0-9a-z]*' | sort | uniq -d)" ]
"$SLUICE" config show >shown 2>&1
rule 'the secret is not in the configuration that is shown' [ "$(grep -c 'a secret of the test' shown)" = 0 ]

# --- receivers that refuse it ---------------------------------------------------------------------------

for bad in 500 302 404 close half junk; do
    mode $bad
    add --project web --title "meets $bad" -- true
    rule "$bad is no acknowledgement: it is tried again" soon tried 2 $bad "meets $bad"
    mode 204
    rule "$bad: it arrives when the receiver is well again, with the same id" soon grep -qF -e "204 POST /hook HTTP/1.1 good id=$(id_of "meets $bad") " "$hook/log"
done
rule 'and each was acknowledged once' [ -z "$(ids 204 | sort | uniq -d)" ]

mode 503+1
began=$(date +%s%3N)
add --project web --title 'not now' -- true
posted '"title":"not now"'
mode 204
rule 'a receiver that asks for time (Retry-After) gets it: it arrives then' soon grep -q '^204 .*"title":"not now"' "$hook/log"
rule 'and not before' [ $(($(date +%s%3N) - began)) -ge 1000 ]
rule 'nor is it tried in between' [ "$(posts '"title":"not now"')" = 2 ]

mode 503+3600
add --project web --title 'put right' -- true
posted '"title":"put right"'
mode 204
run sluice notify test
exits 0 'while that lasts a test goes through'
rule 'and when it has worked nobody waits any longer' soon grep -q '^204 .*"title":"put right"' "$hook/log"

set_to notify.timeout_s=0.3
mode hang
add --project web --title 'meets hang' -- true
rule 'a receiver that hangs is given up in time, and tried again' soon tried 2 hang 'meets hang'
add --project web --title 'behind it' -- true
rule 'and nothing waits for it: tasks go on' becomes "$id" 'done'
rule 'what is behind it waits for its turn' [ "$(posts 'behind it')" = 0 ]
mode 204
rule 'until the first one was taken' posted '"title":"behind it"'
soon grep -q '^204 .*"title":"behind it"' "$hook/log"

# --- kill -9 --------------------------------------------------------------------------------------------

# On a busy machine a response may come after the short timeout, and the notification is sent again.
set_to notify.timeout_s=3600
add --project web --title 'from now on' -- true
soon grep -q '^204 .*"title":"from now on"' "$hook/log"
: >"$hook/log"
mode hang
before=$(ids 204 | wc -l)
add --project web --title 'killed in between' -- true
posted '"title":"killed in between"'
kill -9 "$(pid_of_daemon)"
mode 204
"$SLUICE" up >/dev/null 2>&1
rule 'killed between the post and its acknowledgement, the next daemon posts it again' soon grep -q '^204 .*"title":"killed in between"' "$hook/log"
rule 'with the same id' [ "$(grep -F 'killed in between' "$hook/log" | sed 's/.* id=\([^ ]*\) .*/\1/' | sort -u | wc -l)" = 1 ]
rule 'and what was acknowledged before is not posted again' [ -z "$(ids 204 | sort | uniq -d)" ]
rule 'nothing else came' [ "$(ids 204 | wc -l)" = $((before + 1)) ]

# The second one is sent when the acknowledgement of the first is on disk.
mode 204
add --project web --title 'first of two' -- true
soon grep -q '^204 .*"title":"first of two"' "$hook/log"
mode hang
add --project web --title 'second of two' -- true
posted '"title":"second of two"'
kill -9 "$(pid_of_daemon)"
mode 204
"$SLUICE" up >/dev/null 2>&1
soon grep -q '^204 .*"title":"second of two"' "$hook/log"
rule 'killed while the second is on its way, the first is not repeated' [ "$(posts 'first of two')" = 1 ]

mode 500
add --project web --title 'over a restart' -- true
soon tried 2 500 'over a restart'
"$SLUICE" down --wait >/dev/null 2>&1
mode 204
start
rule 'what was not acknowledged when the daemon ended is posted by the next one' soon grep -q '^204 .*"title":"over a restart"' "$hook/log"
rule 'still nothing twice' [ -z "$(ids 204 | sort | uniq -d)" ]

# --- giving up ------------------------------------------------------------------------------------------

mode 410
add --project web --title 'gone' -- true
rule '410: a person is told at once' soon alert_is webhook
mode 204
set_to "notify.webhook=$url/new"
rule 'a new URL is tried at once' soon grep -q '^204 POST /hook/new .*"title":"gone"' "$hook/log"
rule 'and the alert is over' soon no_alert webhook

mode 410
i=0
while [ $((i += 1)) -le 100 ]; do
    echo "- {argv: ['true'], project: web, title: 'many $i'}"
done >many.yaml
"$SLUICE" add -f many.yaml >/dev/null
posted '"title":"many ' # whichever has ended first
becomes "web-$((${id#web-} + 100))" 'done'
mode 204
set_to "notify.webhook=$url/newer"
rule 'also when hundreds of events wait' soon grep -q '^204 POST /hook/newer .*"title":"many 1"' "$hook/log"
soon grep -q '^204 POST /hook/newer .*"title":"many 100"' "$hook/log"
soon no_alert webhook

mode '500=too late' # only this one: the report about it has its own age
set_to notify.give_up_s=1
add --project web --title 'too late' -- true
rule 'what nobody takes for notify.give_up_s is given up, with an alert' soon alert_is webhook:given-up
set_to notify.give_up_s=3600
mode 204
add --project web --title 'in time' -- true
rule 'what comes later is posted' soon grep -q '^204 .*"title":"in time"' "$hook/log"
rule 'what was given up is not' [ "$(ids 204 | grep -cxF -e "$(id_of 'too late')")" = 0 ]
rule 'and that alert is over, too' soon no_alert webhook:given-up
rule 'the receiver learns that it has missed something' soon grep -q '^204 .*"alert":"webhook:given-up"' "$hook/log"

mode 422
add --project web --title 'bad one' -- true
soon tried 8 422 'bad one'
rule 'a message that is refused as such is given up after some tries' soon alert_is webhook:given-up
mode 204
add --project web --title 'good one' -- true
rule 'and holds up nobody for longer' soon grep -q '^204 .*"title":"good one"' "$hook/log"

# --- secrets and other ways to reach it -----------------------------------------------------------------

rm secret
add --project web --title 'unsigned' -- true
rule 'a secret that cannot be read is said' appears 'cannot read the secret' "$home/sluice.log"
rule 'and nothing goes out without a signature' [ "$(posts unsigned)" = 0 ]
set_to notify.secret_file=
rule 'without a secret it goes out unsigned' posted '"title":"unsigned"'
rule 'which the receiver sees' grep -q '^204 POST .* none id=.*"title":"unsigned"' "$hook/log"

set_to "notify.webhook=unix:$hook/hook.sock:/by/socket"
add --project web --title 'by a socket' -- true
rule 'unix: posts to a socket' soon grep -q '^204 POST /by/socket .*"title":"by a socket"' "$hook/log"

set_to notify.webhook=
add --project web --title 'to nobody' -- true
becomes "$id" 'done'
rule 'without a URL nothing is posted' [ "$(posts 'to nobody')" = 0 ]

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
set_to "notify.webhook=https://$tls/secret-path"
add --project web --title 'by https' -- true
says_why() { # TEXT: why nothing reaches the webhook
    "$SLUICE" notify test 2>&1 | grep -qF -e "$1"
}
rule 'https needs a certificate that is trusted' says_why "the certificate of '$tls' is not trusted"
rule 'else nothing is sent' [ "$(grep -c 'POST /secret' served)" = 0 ]
set_to 'notify.https_command=curl --insecure'
rule 'an option of the former program that cannot be kept is refused' says_why "notify.https_command: '--insecure' is not supported any more"
set_to notify.https_command=curl "notify.ca_file=$tmp/cert.pem" "notify.webhook=https://localhost:${tls##*:}/secret-path"
rule 'nor is the certificate of another host' says_why "the certificate of 'localhost:${tls##*:}' is not trusted"
set_to "notify.webhook=https://$tls/secret-path"
rule 'one that is trusted gets it' appears '"title":"by https"' served
rule 'at its path' grep -qF -e 'POST /secret-path HTTP/1.1' served
printf 'HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n' >&9
add --project web --title 'by https again' -- true
rule 'its status is the acknowledgement' appears '"title":"by https again"' served
exec 9>&-
finish
