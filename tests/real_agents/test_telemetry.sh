#!/bin/sh
# What a run has cost is known while it works, and when it is killed in the middle: its agent says so by
# OpenTelemetry, to an address of its own.
# shellcheck disable=SC1091,SC2154 # kit.sh sets id, work, accounts
. "$(dirname "$0")/kit.sh"
service ok
config "$accounts
otel: {listen: '127.0.0.1:0'}"
start

# Its events have tokens, too, but only telemetry has the money.
heard() { [ "$(of "$id" "(t['runs'][0]['cost_usd'] or 0) > 0")" = True ]; }
: >"$work/tool.wait"
scenes 'tool tail -f tool.wait' ok
add --agent claude --retries 0 --cwd "$work" 'Wait for something.'
rule 'claude: while its tool works, its tokens and money are known' soon heard
rule 'claude: as many as were charged' [ "$(booked "$id" in) $(booked "$id" out)" = "$(charged in) $(charged out)" ]
"$SLUICE" cancel --now "$id" >/dev/null
rule 'claude: killed' becomes "$id" canceled
rule 'claude: they stay known' [ "$(booked "$id" in) $(booked "$id" out)" = "$(charged in) $(charged out)" ]

in=$(charged in) out=$(charged out)
scenes ok
add --agent claude --retries 0 --cwd "$work" 'Say something.'
rule 'claude: a run that ends by itself' becomes "$id" 'done'
rule 'claude: is not counted twice' \
    [ "$(booked "$id" in) $(booked "$id" out)" = "$(($(charged in) - in)) $(($(charged out) - out))" ]
finish
