#!/bin/sh
# sluice token: created once, listed without the secret, revoked.
# shellcheck disable=SC2154 # lib.sh and daemon.sh set home, id, root and tmp
. "$(dirname "$0")/lib.sh"
. "$here/daemon.sh"

start
run sluice token list
exits 0 'list, none: exit code'
prints "there are no tokens; 'sluice token add' makes one" 'list, none'

run sluice token add phone --expires 30d
exits 0 'add: exit code'
token=$(cat out)
secret=${token#sl_*_} # it may hold a _, or begin with a -
expr "$token" : 'sl_[a-z2-7]\{10\}_[A-Za-z0-9_-]\{43\}$' >/dev/null
report $? 'the token alone is on stdout'
rule 'what it is goes to stderr' grep -q "^sluice: this token is shown only once; to revoke it: sluice token revoke [a-z2-7]*$" err
grep -rqF -e "$secret" "$home"
[ $? = 1 ]
report $? 'the secret is in no file of the home'

run sluice token list
has 'phone' 'list: its name'
rule 'list: read is the default, and when it expires' grep -q '^  phone .* read .* token .* in 29 d\|in 30 d$' out
grep -qF -e "$secret" out
[ $? = 1 ]
report $? 'list: no secret'
run sluice token add phone
exits 1 'the same name again: exit code'
says "sluice: there is a token 'phone' already: choose another name, or revoke it" 'the same name again'
run sluice token add 'a b'
exits 2 'a bad name: exit code'
run sluice token add x --scope owner
exits 2 'a bad scope: exit code'
run sluice token add x --expires soon
exits 2 'a bad time: exit code'
says "sluice: option '--expires': expected a time like 30d, 12h or never, got 'soon'
usage: sluice token add [--scope read|submit|admin] [--expires TIME] NAME" 'a bad time'
run sluice token add ci --scope submit --json
has '"name":"ci","scope":"submit","session":false' 'add as JSON'
has '"expires_at":null' 'for ever when not said'

# Tokens survive a restart of the daemon.
"$SLUICE" down --wait >/dev/null 2>&1
start
run sluice token list --json
has '"name":"phone","scope":"read"' 'a token outlives the daemon'
run sluice token revoke phone ci
exits 0 'revoke: exit code'
prints 'phone revoked
ci revoked' 'revoke'
run sluice token revoke phone
exits 1 'revoke again: exit code'
says "sluice: there is no token 'phone': 'sluice token list' shows those that there are" 'revoke again'
run sluice token list --json
prints '{"items":[],"next":null}' 'nothing is left'
run sluice events --json
has '"kind":"token.ended"' 'it is in the events, with who did it'
run sluice token
exits 2 'no subcommand'
run sluice token add
exits 2 'no name'
finish
