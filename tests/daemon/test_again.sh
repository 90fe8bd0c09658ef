#!/bin/sh
# Retries of failed tasks: delays, limits, and manual retries.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"

# --- after a delay ---------------------------------------------------------------------------------

run sluice config get retry.failed.delay_s
prints 30 'what failed runs again after 30 s'
run sluice config get retry.failed.jitter
prints 0.1 'and a tenth of it more or less'
config 'retry: {failed: {delay_s: 3600}}' # never ends during the test
run sluice add -- false
exits 0 'adding a task that will fail is no failure'
ends 1
becomes 1 held
run sluice why 1
has 'waits before the next attempt (opens in ' 'why says when a failed task runs again'
rule 'within the pause and a tenth of it' sh -c \
    '[ "$1" -ge 3200000 ] && [ "$1" -le 4000000 ]' - "$(($(value 1 not_before) - $(value 1 changed_at)))"
run sluice why --json 1
rule 'why names the gate' [ "$(field first)" = held ]
at=$(sed -n 's/.*"gate":"held","open":false,"reason":"waits before the next attempt","opens_at":\([0-9]*\).*/\1/p' out)
rule 'why has the moment, too' [ "${at:-0}" -gt "$(($(date +%s) * 1000))" ]
rule 'a gate that is open gives no reason' [ "$(grep -o '"open":true,"reason":null' out | wc -l)" -gt 5 ]
run sluice show 1
has 'failed, exit code 1' 'show has the code'
has 'held:backoff' 'and the state'
run sluice list
has 'held:backoff' 'list has the state'
before=$(value 1 not_before)
"$SLUICE" down >/dev/null 2>&1
"$SLUICE" up >/dev/null 2>&1
rule 'a restart does not change when' [ "$(value 1 not_before)" = "$before" ]
run sluice release 1
exits 0 'release does not wait for that'
becomes 1 held
rule 'and the second attempt was made' [ "$(value 1 attempt)" = 2 ]
run sluice cancel 1
"$SLUICE" down >/dev/null 2>&1

# --- until the retries are used up -------------------------------------------------------------------

config 'retry: {failed: {max: 2, delay_s: 0, jitter: 0}}
breaker: {max: 2, reset_s: 3600}'
start
cat >flaky.sh <<'END'
echo "attempt $SLUICE_ATTEMPT"
[ -e good ] || exit 5
END
add -- sh ./flaky.sh
becomes "$id" failed
rule 'two retries are three attempts' [ "$(value "$id" attempt)" = 3 ]
run sluice why "$id"
has 'failed  retry it when the cause is gone; its last run: exit code 5' 'a failed task says why, and what to do'
run sluice logs --attempt 1 "$id"
prints 'attempt 1' 'the log of every attempt is kept'
: >good
run sluice retry "$id"
exits 0 'retry'
becomes "$id" 'done'
rule 'retry goes on counting attempts' [ "$(value "$id" attempt)" = 4 ]
run sluice retry "$id"
exits 4 'retry of what is done is refused'
complains 'is done' 'with its state'
run sluice again "$id"
exits 0 'again'
becomes "$id" 'done'
rule 'again is another iteration' [ "$(value "$id" iteration)" = 2 ]
add --retries 0 -- sh -c 'exit 3'
becomes "$id" failed
rule 'no retries: one attempt' [ "$(value "$id" attempt)" = 1 ]

add -- "$tmp/not-there"
becomes "$id" held
run sluice why "$id"
has 'could not be launched several times in a row' 'what cannot be launched opens its breaker'
has '(opens in ' 'which says when it is tried again'
run sluice show "$id"
has "not-there': No such file or directory" 'and show says what was wrong'
rule 'after so many attempts' [ "$(value "$id" attempt)" = 2 ]
cp /bin/true not-there
run sluice release "$id"
rule 'release closes the breaker' becomes "$id" 'done'

# --- until: done -------------------------------------------------------------------------------------

config 'retry: {unfinished: {delay_s: 0, cap_s: 0}}'
run sluice config reload
add --until validate --check 'test -e passes' -- sh -c 'echo "$SLUICE_ITERATION" >>seen; [ "$(wc -l <seen)" -lt 3 ] || : >passes'
becomes "$id" 'done'
rule 'until validate: run again until its checks pass' [ "$(tr '\n' ' ' <seen)" = '1 2 3 ' ]
add --until 'done' -- sh -c '[ "$SLUICE_ITERATION" -lt 2 ] || : >"$SLUICE_DONE"'
becomes "$id" 'done'
rule 'until done: run again until the marker is there' [ "$(value "$id" iteration)" = 2 ]
add --until external -- true
becomes "$id" held
run sluice close "$id"
rule 'until external: somebody says so' becomes "$id" 'done'
add --review -- sh -c 'echo "$SLUICE_ITERATION" >>reviewed'
becomes "$id" held
run sluice why "$id"
has 'waits for review; approve or reject it' 'review: says what it waits for'
run sluice reject "$id"
appears 2 reviewed
becomes "$id" held
run sluice approve "$id"
becomes "$id" 'done'
rule 'reject is another iteration, approve the end' [ "$(tr '\n' ' ' <reviewed)" = '1 2 ' ]
finish
