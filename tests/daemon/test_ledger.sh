#!/bin/sh
# Every recorded run of every agent, with a real daemon: the booked usage equals the usage that the provider charged
# (tests/fixtures/agents/charged.txt). Also if one run prints several recordings in any order, with unknown events, broken,
# repeated or very long lines between them, or truncated.
# shellcheck disable=SC1091,SC2154 # kit.sh sets home, tmp and root
. "$(dirname "$0")/kit.sh"
needs python3
mkdir bin
for agent in claude codex gemini opencode copilot; do
    ln -s "$root/tests/daemon/recorded-agent" "bin/$agent"
done
PATH=$tmp/bin:$PATH
export PATH
"$root/tests/daemon/ledger.py" plan "$root/tests/fixtures/agents" "$tmp" >plan || { echo 'Bail out! there is no plan' && exit 1; }
read -r tasks attempts <plan
# One account for each: a refusal in one recording must not delay the others.
config "limits: {runs: 8}
limiter: {margin_s: 0, jitter_s: 0}
retry: {failed: {delay_s: 0}}
agents: {claude: {linger_s: 600}}
logs.tail_mb: 16
limiters:
$(seq "$tasks" | sed 's/.*/  account-&: {max_running: 1}/')"
start
run sluice add --file tasks.json
exits 0 "all recordings, as $tasks tasks"
[ $code = 0 ] || exit 1

# Starts the next attempt of each task, whatever the result of the last one.
more() { # prints the tasks with another attempt to come
    python3 - "$1" <<'END'
import json, sys
print(*[one["id"] for one in json.load(open("expected.json")) if len(one["runs"]) > int(sys.argv[1])])
END
}
rests() { # ID ATTEMPT
    [ -n "$(recorded_end "$1" "$2")" ] || return 1
    case $(value "$1" state) in
    starting | running) return 1 ;;
    esac
}
attempt=0
while [ $attempt -lt "$attempts" ]; do
    [ $attempt = 0 ] || for id in $(more $attempt); do
        "$SLUICE" limiter clear "account-${id#t-}"
        "$SLUICE" retry "$id"
        "$SLUICE" release "$id"
    done >again 2>&1
    attempt=$((attempt + 1))
    for id in $(more $((attempt - 1))); do
        soon rests "$id" $attempt || break
    done
done
for id in $(more 0); do
    "$SLUICE" show --json "$id"
done >booked.jsonl
"$root/tests/daemon/ledger.py" compare "$tmp" >out 2>err
report $? 'each books what was charged'
finish
