#!/bin/sh
# What waits survives a take-over: a schedule, a question, an answer and a pending check. The active daemon is killed twice.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"
needs python3

b=$tmp/b
mkdir -m 700 "$b" "$tmp/data"
trap 'in_b stop_daemon; stop_daemon; rm -rf "$tmp"' EXIT
store=$tmp/store.db
store_is_file || store="$SLUICE_TEST_STORE?schema=$(schema_of "$b")"

for one in "$home" "$b"; do
    cat >"$one/sluice.yaml" <<END
store: {url: "$store"}
data: {folder: $tmp/data}
limits: {runs: 8}
runaway: {pause_s: 0}
probes: {max_every_s: 1}
retry: {lost: {delay_s: 0}, unfinished: {delay_s: 0}}
schedules:
  each: {every: 1s, overlap: queue, catch_up: all, task: '{"argv": ["true"]}'}
daemon:
  standby: true
  host: one
  addresses: ["unix:$home/sluice.sock", "unix:$b/sluice.sock"]
END
done

in_b() {
    (SLUICE_HOME=$b && "$@")
}
is_role() { # HOME ROLE
    curl -s --max-time "$patience" --unix-socket "$1/sluice.sock" http://sluice/healthz | grep -q "\"role\":\"$2\""
}
held() { # ID HOLD
    [ "$(value "$1" state) $(value "$1" hold)" = "held $2" ]
}
fired() {
    "$SLUICE" schedule show each --json | first fired
}
fired_more() { # THAN
    [ "$(fired)" -gt "$1" ]
}
calls_more() { # THAN
    [ "$(wc -l <calls)" -gt "$1" ]
}
takeover() { # FROM TO
    kill -9 "$(SLUICE_HOME=$1 pid_of_daemon)"
    rule 'the standby takes over' soon is_role "$2" active
    (SLUICE_HOME=$1 && "$SLUICE" up >/dev/null 2>&1)
    rule 'and the other one comes back as a standby' soon is_role "$1" standby
}

run sluice up
in_b "$SLUICE" up >/dev/null 2>&1
rule 'there is a standby' is_role "$b" standby
: >calls
: >worked
echo '75 pending' >ci
cat >check <<'END'
#!/bin/sh
echo asked >>"$1/calls"
read -r code text <"$1/ci"
echo "$text"
exit "$code"
END
cat >agent <<'END'
#!/bin/sh
if [ -n "${SLUICE_ANSWER-}" ]; then
    echo "$SLUICE_ANSWER" >>"$2/got"
else
    "$1" ask 'Which one?' >/dev/null
fi
END
chmod +x check agent
add -- "$tmp/agent" "$SLUICE" "$tmp"
question=$id
add -- "$tmp/agent" "$SLUICE" "$tmp"
answered=$id
printf '%s\n' 'tasks:' '  - id: later' "    run: echo worked >>$tmp/worked" '    until: validate' \
    "    checks: [{run: $tmp/check $tmp, every: 1s, pending_timeout: 1h}]" >later.yaml
run sluice add -f later.yaml --json
check=$(field id)
soon held "$question" question
soon held "$answered" question
rule 'a check is pending' soon held "$check" check
soon fired_more 1

# An answer that no run has got yet.
run sluice pause
run sluice answer "$answered" early
takeover "$home" "$b"
run sluice resume
rule 'an answer is used by the daemon that takes over' becomes "$answered" 'done'
rule 'the question is still open' held "$question" question
run sluice questions
has "$question" 'and listed'
rule 'the check is still pending' held "$check" check
rule 'and asked by the new daemon' soon calls_more "$(wc -l <calls)"
rule 'the schedule goes on' soon fired_more "$(fired)"

takeover "$b" "$home"
run sluice answer "$question" late
rule 'a question is answered after two take-overs' becomes "$question" 'done'
rule 'each answer was used once' [ "$(sort got | tr '\n' ' ')" = 'early late ' ]
rule 'the check is still pending' held "$check" check
echo '0 passed' >ci.new
mv ci.new ci
rule 'and ends when it is answered' becomes "$check" 'done'
rule 'its command was not repeated' [ "$(wc -l <worked)" = 1 ]
soon fired_more "$(fired)"
run sluice schedule pause each
"$SLUICE" events --json --after 0 --limit 100000 >events.json
rule 'each due time has exactly one task' python3 -c '
import json
fired = [e for e in json.load(open("events.json"))["items"] if e["kind"] == "schedule.fired"]
due = sorted(e["data"]["due_at"] // 1000 for e in fired)
tasks = {e["task"] for e in fired}
assert len(due) >= 4 and len(tasks) == len(due), (due, tasks)
assert due == list(range(due[0], due[-1] + 1)), due'
run sluice schedule show each --json
rule 'and none is skipped' [ "$(field skipped)" = 0 ]
finish
