#!/bin/sh
# Malformed cron expressions, moments, zones, hours, durations, probes and answers: one clear message on every way in (commands, HTTP,
# task files, the configuration), and nothing is stored.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"
needs curl python3
config 'limits: {runs: 0}
projects: {web: }
schedules:
  good: {cron: "0 2 * * *", paused: true, task: "{\"argv\": [\"true\"]}"}'
start

state() {
    echo "$(last_event) $(cksum <"$home/sluice.yaml") $("$SLUICE" list --state all --ids | wc -l) $("$SLUICE" schedule list --json | cksum)"
}
before=$(state)

# One message, which may be followed by the usage, and contains TEXT; exit code 2 (or 4: a conflict).
refused() { # WHAT TEXT
    case $code in 1 | 2 | 4) ;; *) false ;; esac &&
        [ "$(grep -c '^sluice: ' err)" = 1 ] && ! grep -qv -e '^sluice: ' -e '^usage: ' err && [ ! -s out ] && grep -qF -e "$2" err
    report $? "$1"
}

# A request that is refused with a status from 400 to 499 and one message that contains TEXT.
post() { # WHAT PATH BODY TEXT
    curl -s --max-time "$patience" --unix-socket "$home/sluice.sock" -H 'Content-Type: application/json' -d "$3" -w '\n%{http_code}' \
        "http://sluice$2" >out
    python3 -c '
import json, sys
text, status = open("out").read().rsplit("\n", 1)
message = json.loads(text)["error"]["message"]
assert 400 <= int(status) < 500, status
assert "\n" not in message and sys.argv[1] in message, message' "$4" 2>err
    report $? "$1"
}

# The value as JSON text.
quoted() {
    python3 -c 'import json, sys; print(json.dumps(sys.argv[1]))' "$1"
}

task='"task":"{\"argv\":[\"true\"]}"'

# --- schedules: command, HTTP, setting, configuration file -------------------------------------------------------

# try SETTING VALUE TEXT [OTHER SETTINGS AS JSON, OPTIONS]
try() {
    what="$1 '$2'"
    # shellcheck disable=SC2086 # several words
    run sluice schedule add bad "--$1" "$2" ${5-} -- true
    refused "schedule add: $what" "$3"
    post "POST /v1/schedules: $what" /v1/schedules "{\"name\":\"bad\",\"$1\":$(quoted "$2"),${4-}$task}" "$3"
    run sluice schedule set good "$1=$2"
    refused "schedule set: $what" ''
    cp "$home/sluice.yaml" good.yaml
    printf '  bad: {%s: %s, %s task: "{}"}\n' "$1" "$(quoted "$2")" "${6-}" >>"$home/sluice.yaml"
    run sluice config reload
    refused "sluice.yaml: $what" ''
    cat good.yaml >"$home/sluice.yaml"
}

while IFS='|' read -r value text; do
    try cron "$value" "$text"
done <<'END'
* * * *|5 fields
* * * * * *|5 fields
60 * * * *|minute 60 is out of range
-1 * * * *|minute
0 24 * * *|hour 24 is out of range
0 0 0 * *|day
0 0 32 * *|day
0 0 * 13 *|month
0 0 * * 8|day of the week
0 0 * * mon-|day of the week
0 0 * foo *|month
*/0 * * * *|minute
5-1 * * * *|minute
1,,2 * * * *|minute
0 0 30 2 *|no month has such a day
@never|@never
0 2 * * * ; rm|
END
while IFS='|' read -r value text; do
    try at "$value" "$text"
done <<'END'
tomorrow|tomorrow
2027-02-29 10:00|is not a time
2027-13-01 10:00|is not a time
2027-01-01|is not a time
2027-01-01 24:00|is not a time
2027-01-01 10:00+1|is not a time
2020-01-01 00:00|is never due
END
while IFS='|' read -r value text; do
    try timezone "$value" "$text" '"every":"1h",' '--every 1h' 'every: 1h,'
done <<'END'
Mars/Base|time zone
Europe|time zone
/etc/passwd|time zone
../../etc/passwd|time zone
CET-1CEST|time zone
END
while IFS='|' read -r value text; do
    try every "$value" "$text"
done <<'END'
0|
-1h|
soon|
1 fortnight|
500ms|
99999999999999999999s|
END
rule 'no bad schedule is stored' [ "$(state)" = "$before" ]

# --- hours: setting, HTTP, configuration file --------------------------------------------------------------------

for key in projects.web.hours agents.claude.hours limiters.claude.hours; do
    for value in 25:00-07:00 22:00 mon-foo 22:00-22:60 'mon 22:00-07:00 tue' '22:00-07:00;;' 'always'; do
        run sluice config set "$key=$value"
        refused "config set $key='$value'" "$key"
        post "POST /v1/config: $key '$value'" /v1/config "{\"set\":{\"$key\":$(quoted "$value")}}" "$key"
    done
done
rule 'no bad hours are stored' [ "$(state)" = "$before" ]

# --- probes and their durations: command, HTTP, task file -------------------------------------------------------

for option in gate-every gate-timeout; do
    for value in soon -5s '' 1x; do
        run sluice add --gate true "--$option=$value" -- true
        refused "add --$option='$value'" ''
    done
done
run sluice add --gate '' -- true
refused "add --gate=''" "expected a command"
run sluice add --gate-every 5s -- true
refused 'add --gate-every without --gate' "needs '--gate'"

while IFS='|' read -r member value text; do
    post "POST /v1/tasks: $member $value" /v1/tasks "{\"tasks\":[{\"argv\":[\"true\"],\"$member\":$value}]}" "${text#*:}"
    [ "${text%%:*}" != typed ] || continue # in a file the number is a text
    printf '{"tasks": [{"argv": ["true"], "%s": %s}]}\n' "$member" "$value" >bad.yaml
    run sluice add -f bad.yaml
    refused "a task file: $member $value" "$text"
    grep -q 'bad.yaml:1' err
    report $? 'with file and line'
done <<'END'
gate|{}|gate
gate|5|typed:gate
gate|[]|gate
gate|{"run":""}|gate
gate|{"run":5}|typed:gate
gate|{"argv":[]}|gate
gate|{"argv":["a",1]}|typed:gate
gate|{"run":"true","argv":["true"]}|gate
gate|{"every_s":5}|gate
gate|{"run":"true","often":1}|often
gate|{"run":"true","every_s":"soon"}|every_s
gate|{"run":"true","every_s":-1}|every_s
gate|{"run":"true","every_s":"10ms"}|every_s
gate|{"run":"true","timeout_s":"later"}|timeout_s
gate|{"run":"true","timeout_s":-1}|timeout_s
checks|[{"run":"true","every_s":0}]|every_s
checks|[{"run":"true","every_s":"soon"}]|every_s
checks|[{"run":"true","pending_timeout_s":"soon"}]|pending_timeout_s
checks|[{"run":"true","pending_timeout_s":-1}]|pending_timeout_s
checks|[{"run":"true","sometimes":1}]|sometimes
checks|[{"every_s":5}]|checks
END
rule 'no task with a bad probe is stored' [ "$(state)" = "$before" ]

# --- questions and answers ---------------------------------------------------------------------------------------

run sluice config set limits.runs=1
mkfifo go
add -p web -- sh -c '"$1" ask --choice blue --choice red "Which one?" >/dev/null; read -r _ <"$2"' - "$SLUICE" "$tmp/go"
asks() {
    "$SLUICE" questions | grep -q "^  $id "
}
soon asks
before=$(state)
long=$(python3 -c 'print("x" * 20000)')
for value in '' ' ' green 'blue ' BLUE "$long"; do
    short=$(printf %.10s "$value")
    run sluice answer "$id" "$value"
    refused "answer '$short'" ''
    post "POST /v1/tasks/ID/answer: '$short'" "/v1/tasks/$id/answer" "{\"text\":$(quoted "$value")}" ''
done
for body in '{}' '{"text":5}' '{"text":null}' '{"text":["blue"]}' '{"text":"blue","colour":1}' '[]' '"blue"' '{"text":"blue"'; do
    post "POST /v1/tasks/ID/answer: $body" "/v1/tasks/$id/answer" "$body" ''
done
run sluice answer web-99 blue
refused 'answer: a task that does not exist' web-99
post 'POST /v1/tasks/web-99/answer' /v1/tasks/web-99/answer '{"text":"blue"}' web-99
rule 'no bad answer is stored' [ "$(state)" = "$before" ]
run sluice answer "$id" blue
exits 0 'the question is still open'
before=$(state)
run sluice answer "$id" red
refused 'a second answer' 'is answered already'
post 'a second answer' "/v1/tasks/$id/answer" '{"text":"red"}' 'is answered already'
rule 'and changes nothing' [ "$(state)" = "$before" ]
unblock go
"$SLUICE" cancel --now "$id" >/dev/null 2>&1
finish
