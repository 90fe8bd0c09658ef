#!/bin/sh
# Commands on a machine without a daemon: they connect over TCP, with a token, and check the certificate.
# shellcheck disable=SC1091,SC2034,SC2154 # kit.sh sets home, root and tmp
. "$(dirname "$0")/kit.sh"

needs openssl
client=$tmp/client
mkdir -m 700 "$client"

# Runs a command with a home that has no daemon.
from_there() {
    run env "SLUICE_HOME=$client" "$@"
}

there() { # ADDRESS [MORE]
    printf 'daemon: {addresses: ["%s"]%s}\n' "$1" "${2-}" >"$client/sluice.yaml"
}

url() {
    "$SLUICE" status --json | first url
}

openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext 'subjectAltName=DNS:localhost,IP:127.0.0.1' \
    -keyout key.pem -out cert.pem 2>openssl.err
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost \
    -keyout other.key -out other.pem 2>openssl.err
chmod 600 ./*.pem ./*.key

# --- in clear text, on this machine ------------------------------------------------------------

config 'http: {listen: "127.0.0.1:0"}'
start
plain=$(url)
token=$("$SLUICE" token add far --scope submit --json | first token)
there "$plain"
from_there "$SLUICE" list
exits 3 'without a token nothing is asked: code 3'
complains "'$plain' needs a token: set SLUICE_API_TOKEN, or 'daemon.token_file'" 'and what is missing is said'
from_there env "SLUICE_API_TOKEN=$token" "$SLUICE" add -- echo far
exits 0 'with one in the environment it is'
id=$("$SLUICE" list --ids --state starting,running,done --limit 1)
ends "$id"
from_there env "SLUICE_API_TOKEN=$token" "$SLUICE" logs "$id"
prints far 'logs come the same way'
(umask 077 && printf '%s\n' "$token" >far.token)
there "$plain" ", token_file: $tmp/far.token"
from_there "$SLUICE" run -- sh -c 'echo near; exit 7'
exits 7 'with one in a file, too; a run is followed to its end'
prints near 'with all that it prints'
chmod 644 far.token
from_there "$SLUICE" list
exits 3 'a token that others can read is not used'
rule 'and that is said' grep -q "others can read '$tmp/far.token': chmod 600 it" err
chmod 600 far.token
from_there env SLUICE_API_TOKEN=sl_none_0000 "$SLUICE" list
rule 'a token that is none is refused, with the sentence of the daemon' grep -q 'this token is none, or has ended' err
rule 'a client starts no daemon' [ ! -e "$client/sluice.lock" ]
rule 'http: is of this machine alone' sh -c \
    "! '$SLUICE' config set daemon.addresses=http://192.0.2.1:80 2>err && grep -q 'http://127.0.0.1:PORT' err"

# --- TLS ---------------------------------------------------------------------------------------

run sluice config set "http.tls_cert=$tmp/cert.pem" "http.tls_key=$tmp/key.pem" http.listen=127.0.0.1:0
tls_is_there() {
    case $(url) in https://*) ;; *) false ;; esac
}
soon tls_is_there
port=$(url)
port=${port##*:}
there "https://localhost:$port" ", token_file: $tmp/far.token, tls_ca: $tmp/cert.pem"
from_there "$SLUICE" list
exits 0 'https: with a certificate that is trusted, by name'
there "https://127.0.0.1:$port" ", token_file: $tmp/far.token, tls_ca: $tmp/cert.pem"
from_there "$SLUICE" run -- sh -c 'seq 20000'
exits 0 'by address'
rule 'large answers come whole' [ "$(wc -l <out)" = 20000 ]
awk 'BEGIN { for (i = 0; i < 3000; i++) print "- {run: \"true\", draft: true, title: \"" i "\"}" }' >many.yaml
printf 'tasks:\n' | cat - many.yaml >tasks.yaml
from_there "$SLUICE" add -f tasks.yaml
exits 0 'and large requests go'
there "https://localhost:$port" ", token_file: $tmp/far.token, tls_ca: $tmp/other.pem"
from_there "$SLUICE" list
exits 3 'a certificate that is not trusted: nothing is asked'
complains "the certificate of 'https://localhost:$port' is not trusted" 'and what to do is said'
there "https://localhost:$port" ", token_file: $tmp/far.token"
from_there "$SLUICE" list
complains 'is not trusted' 'nor is one that the system does not know'
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=elsewhere -addext subjectAltName=DNS:elsewhere \
    -keyout key.pem -out cert.pem 2>openssl.err
"$SLUICE" config set "http.listen=127.0.0.1:$port" >/dev/null # the same port again, and the new certificate
kill -HUP "$(pid_of_daemon)"
there "https://localhost:$port" ", token_file: $tmp/far.token, tls_ca: $tmp/cert.pem"
is_elsewhere() {
    from_there "$SLUICE" list
    grep -qi 'hostname mismatch' err
}
rule 'a certificate of another host is not good enough' soon is_elsewhere
there "https://localhost:$port" ", token_file: $tmp/far.token, tls_ca: $tmp/nothing.pem"
from_there "$SLUICE" list
complains "the certificates in '$tmp/nothing.pem' cannot be used" 'a file of certificates that is not there is named'

# --- several -----------------------------------------------------------------------------------

printf 'daemon: {addresses: ["https://127.0.0.1:1", "unix:%s/none.sock", "unix:%s/sluice.sock"], token_file: %s/far.token}\n' \
    "$tmp" "$home" "$tmp" >"$client/sluice.yaml"
from_there "$SLUICE" list
exits 0 'addresses where nobody is are passed over'
run sluice down
from_there "$SLUICE" list
exits 3 'nobody is at any of them: code 3'
complains "no daemon answers at 'unix:$client/sluice.sock', 'https://127.0.0.1:1', 'unix:$tmp/none.sock'" 'which are named'
finish
