#!/bin/sh
# Rate limits with the real daemon: shared by all users of an account, how long they last, what ends them.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"
PATH=$(dirname "$SLUICE"):$PATH
export PATH
config 'preset: loopr
projects: {web: , api: }
agents: {caller: {limiter: account}, other: {limiter: second}}'
start
mkfifo first second limited

now_ms() {
    date +%s%3N
}

# MEMBER: of the account
account() {
    "$SLUICE" limiter list --json | grep -o '{"name":"account"[^}]*}' | first "$1"
}

# SECONDS: asserts that the account opens this long after the report, which was sent between $before and $after
opens_after() {
    opens=$(account opens_at)
    [ "$opens" -ge $((before + $1 * 1000)) ] && [ "$opens" -le $((after + $1 * 1000)) ]
}

# FIFO: a run that uses the account and reports each line from the fifo; an empty line ends it successfully
add --project web --until exit --limiter account -- sh -c \
    'exec 3<>limited; while read -r s <&3 && [ "$s" ]; do sluice report --rate-limited $s && echo "$s" >>told; done'
talker=$id
becomes "$talker" running
limit() { # SECONDS
    : >told
    before=$(now_ms)
    timeout "$patience" sh -c 'echo "$1" >limited' - "$1"
    appears "$1" told
    after=$(now_ms)
}
add --project web --until exit --limiter account -- sh -c 'read -r _ <first'
user=$id
becomes "$user" running

# --- loopr ---------------------------------------------------------------------------------------------

limit 0
rule 'f070 f071 the first hit is counted and backs off 2 seconds' [ "$(account hits)" = 1 ]
rule 'f071 t03 two seconds, exactly, as the code of the document has it' opens_after 2
limit 0
rule 'f071 the second hit' [ "$(account hits)" = 2 ]
rule 'f071 doubles them' opens_after 4
limit 1000
rule 'f071 the longer of what the provider says and the own delay' opens_after 1000
add --project api --until exit --limiter account -- true
waiting=$id
rule 'f070 f073 another project with the same account waits for it' [ "$(value "$waiting" gate)" = limiter ]
add --project api --until exit --limiter second -- true
rule 'f070 another account is another state' becomes "$id" 'done'
rule 'f073 running tasks continue' [ "$(value "$talker" state) $(value "$user" state)" = 'running running' ]
run sluice why "$waiting"
has 'account' 'f073 why names the account'
opens=$(account opens_at)
"$SLUICE" down >/dev/null 2>&1
start
rule 'f070 the state outlives the daemon' [ "$(account hits) $(account opens_at)" = "3 $opens" ]
rule 'f073 nothing has started meanwhile' [ "$(value "$waiting" attempt)" = 0 ]
unblock first
becomes "$user" 'done'
rule 'f072 a success of any user lets the others go' becomes "$waiting" 'done'
rule 'f072 and clears hits and backoff' [ "$(account hits) $(account state)" = '0 open' ]
rule 'f070 f072 when it last worked is kept' [ "$(account last_success)" -ge "$after" ]
limit 0
rule 'f072 counting begins again at one' [ "$(account hits)" = 1 ]
unblock limited
becomes "$talker" 'done'
worked=$(account last_success)
"$SLUICE" down >/dev/null 2>&1
start
rule 'f070 also over a restart' [ "$(account last_success)" = "$worked" ]

# --- the default, with the numbers of the document's configuration ------------------------------------

"$SLUICE" down >/dev/null 2>&1
config 'projects: {web: , api: }
agents: {caller: {limiter: account}}'
start
for pair in limiter.initial_s=5 limiter.max_s=120 limiter.recovery_s=30 limiter.max_running=10; do
    rule "f074 ${pair%=*} is ${pair#*=}" [ "$("$SLUICE" config get --live "${pair%=*}")" = "${pair#*=}" ]
done
"$SLUICE" limiter clear account >/dev/null
add --project web --limiter account -- sh -c \
    'exec 3<>limited; while read -r s <&3 && [ "$s" ]; do sluice report --rate-limited $s && echo "$s" >>told; done'
becomes "$id" running
talker=$id
limit 0
rule 'f074 t03 default: the first pause is 5 seconds, as its configuration has it' opens_after 5
"$SLUICE" cancel --now "$talker" >/dev/null
becomes "$talker" canceled

"$SLUICE" limiter clear account >/dev/null
add --project web --limiter account --retries 0 -- sh -c 'sluice report --rate-limited 3600; exit 1'
limited=$id
waits_for_account() {
    [ "$(value "$limited" gate)" = limiter ]
}
rule 'f071 who gives up because of a limit waits for the account' soon waits_for_account
rule 'f071 and has lost no retry' [ "$(value "$limited" failures)" = 0 ]
rule 'f071 one run is one hit' [ "$(account hits)" = 1 ]
"$SLUICE" cancel "$limited" >/dev/null

"$SLUICE" limiter clear account >/dev/null
"$SLUICE" config set limiters.account.initial_s=0.2 limiters.account.recovery_s=3600 >/dev/null
add --project web --limiter account -- sh -c 'sluice report --rate-limited 0; read -r _ <first'
talker=$id
hit() {
    [ "$(account hits)" = 1 ]
}
soon hit
for _ in 1 2 3; do
    add --project web --limiter account -- sh -c 'read -r _ <second'
done
last=$id
unblock first
becomes "$talker" 'done'
rule 'f074 after the pause one goes ahead' becomes "web-$((${last#web-} - 2))" running
run sluice tick
rule 'f074 and the others wait until it has succeeded' [ "$(value "$last" gate)" = lease:limiter:account ]
finish
