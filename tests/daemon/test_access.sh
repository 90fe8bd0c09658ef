#!/bin/sh
# The TCP listener, with the real daemon and curl: opened at run time, TLS, expiring and revoked tokens, no access for runs.
# shellcheck disable=SC1091,SC2154 # kit.sh sets home, root and tmp
. "$(dirname "$0")/kit.sh"

needs curl openssl

# ask ARGS...: writes the response to out; sets $status.
ask() {
    status=$(curl -s -m "$patience" -o "$tmp/out" -w '%{http_code}' "$@" 2>"$tmp/err")
    code=$?
}
is() { # STATUS 'what'
    [ "$status" = "$1" ] || echo "# status $status"
    rule "$2" [ "$status" = "$1" ]
}
url() {
    "$SLUICE" status --json | sed 's/.*"http":{"url":\("\([^"]*\)"\|null\).*/\2/'
}
bearer() {
    "$SLUICE" token add "$@" 2>/dev/null
}

start
rule 'nobody listens until somebody asks' [ -z "$(url)" ]
"$SLUICE" config set http.listen=127.0.0.1:0 >/dev/null
here_url=$(url)
rule 'http.listen opens it at once, and the status says where' [ -n "$here_url" ]
ask "$here_url/"
is 200 'the page needs no token'
ask "$here_url/healthz"
is 200 'nor does health'
rule 'which says nothing else' [ "$(cat out)" = '{"ok":true}' ]
ask "$here_url/v1/status"
is 401 'everything else does'

read_token=$(bearer reader)
submit_token=$(bearer ci --scope submit)
admin_token=$(bearer boss --scope admin --expires 1h)
ask -H "Authorization: Bearer $read_token" "$here_url/v1/status"
is 200 'read: the status'
ask -H "Authorization: Bearer $read_token" --json '{"tasks":[{"argv":["true"]}]}' "$here_url/v1/tasks"
is 403 'read: no tasks'
ask -H "Authorization: Bearer $submit_token" --json '{"tasks":[{"argv":["true"],"title":"by TCP"}]}' "$here_url/v1/tasks"
is 200 'submit: a task'
id=$(field id)
ends "$id"
rule 'and it runs' becomes "$id" 'done'
ask -H "Authorization: Bearer $submit_token" "$here_url/v1/tasks/$id/log"
is 200 'its log'
ask -H "Authorization: Bearer $submit_token" --json '{}' "$here_url/v1/pause"
is 403 'submit: no pause'
ask -H "Authorization: Bearer $admin_token" --json '{}' "$here_url/v1/pause"
is 200 'admin: pause'
run sluice status --json
has '"paused_by":"token boss"' 'who did it is told'
"$SLUICE" resume >/dev/null
ask -H "Authorization: Bearer $admin_token" --json '{"set":{"agents.claude.command":"sh -c true"}}' "$here_url/v1/config"
is 403 'admin: no command of an agent'
for key in tasks.on_end projects.default.on_end; do
    ask -H "Authorization: Bearer $admin_token" --json "{\"set\":{\"$key\":\"sh -c true\"}}" "$here_url/v1/config"
    is 403 "admin: not $key, which decides what program runs"
done
ask -H "Authorization: Bearer $admin_token" --json '{"name":"another","scope":"admin"}' "$here_url/v1/tokens"
is 403 'admin: no tokens'

# MCP requires the same token.
initialize='{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}'
call='{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"queue_task","arguments":{"argv":["true"]}}}'
mcp() {
    ask -H 'Accept: application/json, text/event-stream' -H 'MCP-Protocol-Version: 2025-06-18' "$@" "$here_url/mcp"
}
mcp --json "$initialize"
is 401 'mcp needs a token, too'
mcp -H "Authorization: Bearer $read_token" --json "$initialize"
is 200 'mcp with a token'
mcp -H "Authorization: Bearer $read_token" --json "$call"
rule 'mcp: the scope holds there, too' grep -qF "this token has the scope 'read'" out

# The token of a run is not valid here, and a run cannot get another one.
add -- sh -c "curl -s -o /dev/null -w '%{http_code}\n' -H \"Authorization: Bearer \$SLUICE_TOKEN\" '$here_url/v1/status'; \
SLUICE_HOME='$home' SLUICE_SOCKET= '$SLUICE' dash --print; SLUICE_HOME='$home' SLUICE_SOCKET= '$SLUICE' token add mine --scope admin; true"
ends "$id"
run sluice logs "$id"
has 401 'r11 the token of a run is none'
rule 'r11 a run gets neither a link nor a token' not grep -qE 'sl_|#t=' out

# The code of a page link can be exchanged once, and only programs of the owner can get one.
code_of() {
    "$SLUICE" dash --json 2>/dev/null | sed 's/.*"code":"\([^"]*\)".*/\1/'
}
link=$(code_of)
ask --json "{\"code\":\"$link\"}" "$here_url/v1/session"
is 200 'a link is swapped for a token'
page=$(field token)
ask --json "{\"code\":\"$link\"}" "$here_url/v1/session"
is 401 'once'
ask -H "Authorization: Bearer $page" -H "Origin: $here_url" -H 'Sec-Fetch-Site: same-origin' "$here_url/v1/status"
is 200 'the page asks with it'
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
    link=$(code_of)
    status=$(setpriv --reuid 65534 --clear-groups curl -s -m "$patience" -o /dev/null -w '%{http_code}' \
        --json "{\"code\":\"$link\"}" "$here_url/v1/session")
    is 403 'another user who has seen the link gets nothing by it'
fi

# A token that is revoked while a client follows events.
mkfifo stream
curl -sN -H "Authorization: Bearer $page" -H 'Accept: text/event-stream' "$here_url/v1/events" >stream &
follower=$!
exec 3<stream
read -r line <&3
rule 'it follows the events' [ "$line" = : ]
"$SLUICE" token revoke "$("$SLUICE" token list --json | grep -o '"id":"[a-z2-7]*","name":"dashboard"' | cut -d'"' -f4)" >/dev/null
rule 'a revoked page is cut off' is_gone $follower
exec 3<&-
ask -H "Authorization: Bearer $page" "$here_url/v1/status"
is 401 'and is nobody any more'

# After a kill of the daemon the tokens are still valid, and it listens on the same port.
port=${here_url##*:}
"$SLUICE" config set "http.listen=127.0.0.1:$port" >/dev/null
kill -9 "$(pid_of_daemon)"
start
ask -H "Authorization: Bearer $submit_token" "http://127.0.0.1:$port/v1/status"
is 200 'after a kill the same token at the same port'

# TLS, with a certificate made here.
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost,DNS:sluice.test \
    -keyout key.pem -out cert.pem >/dev/null 2>&1
chmod 644 key.pem
run sluice config set http.listen=0.0.0.0:0 http.hosts=sluice.test "http.tls_cert=$tmp/cert.pem" "http.tls_key=$tmp/key.pem"
exits 0 'TLS can be set'
run sluice status --json
has "\"http\":{\"url\":null,\"problem\":\"others can read the key '$tmp/key.pem': chmod o-rwx '$tmp/key.pem'\"}" \
    'a key that others can read is not used, and the status says so'
chmod 600 key.pem
kill -HUP "$(pid_of_daemon)"
listens() {
    tls_url=$(url)
    [ -n "$tls_url" ]
}
rule 'SIGHUP reads it again' soon listens
port=${tls_url##*:}
tls() {
    ask --cacert cert.pem --resolve "sluice.test:$port:127.0.0.1" "$@"
}
tls "https://localhost:$port/healthz"
is 200 'TLS: this machine'
tls -H "Authorization: Bearer $read_token" "https://sluice.test:$port/v1/status"
is 200 'TLS: by the name that was given'
tls -H "Authorization: Bearer $read_token" "https://localhost:$port/v1/events?limit=1000"
is 200 'TLS: a large answer'
ask "http://127.0.0.1:$port/healthz"
rule 'TLS: nothing is said without' [ "$code" != 0 ]
tls --tls-max 1.1 "https://localhost:$port/healthz"
rule 'TLS: nothing older than 1.2' [ "$code" != 0 ]
# CIPHER PORT: succeeds if a TLS 1.2 client with only this cipher gets a connection.
offers() {
    timeout "$patience" openssl s_client -connect "127.0.0.1:$2" -tls1_2 -cipher "$1@SECLEVEL=0" </dev/null >out 2>err &&
        grep -q "Cipher is $1" out
}
mkfifo server.in
openssl s_server -accept 127.0.0.1:0 -cert cert.pem -key key.pem -cipher ALL@SECLEVEL=0 <server.in >server.out 2>&1 &
server=$!
exec 4>server.in
appears ACCEPT server.out
other=$(sed -n 's/^ACCEPT .*:\([0-9]*\)$/\1/p' server.out | head -n 1)
rule 'control: a server that allows it takes a key exchange by RSA' offers AES128-GCM-SHA256 "$other"
kill $server
exec 4>&-
for cipher in AES128-GCM-SHA256 AES256-SHA; do
    rule "TLS 1.2: a key exchange by RSA is refused: $cipher" not offers $cipher "$port"
done
rule 'TLS 1.2: one that is new for each connection is taken' offers ECDHE-RSA-AES128-GCM-SHA256 "$port"
tls -k -H 'Host: 0.0.0.0' "https://localhost:$port/healthz"
is 403 'TLS: 0.0.0.0 is no name'
: >cert.pem
kill -HUP "$(pid_of_daemon)"
refuses() {
    "$SLUICE" status --json | grep -qF "the certificate '$tmp/cert.pem' cannot be used"
}
rule 'a broken certificate is told' soon refuses
ask -k "https://localhost:$port/healthz"
is 200 'and the one before goes on'

# The dashboard served from a folder.
"$SLUICE" config unset http.listen http.tls_cert http.tls_key http.hosts >/dev/null
"$SLUICE" down --wait >/dev/null 2>&1
mkdir dist && echo 'a page of mine' >dist/index.html
run "$SLUICED" --web-dir "$tmp/nothing"
exits 1 'no such folder: exit code'
rule 'no such folder' grep -qF "'$tmp/nothing' is not a directory: --web-dir wants that of the built dashboard" err
"$SLUICED" --web-dir "$tmp/dist" >/dev/null 2>&1 &
rule 'the daemon serves a folder' soon test -S "$home/sluice.sock"
link=$("$SLUICE" dash --print 2>/dev/null)
ask "${link%%#*}"
rule 'and the page comes from there' [ "$(cat out)" = 'a page of mine' ]
finish
