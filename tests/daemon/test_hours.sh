#!/bin/sh
# Opening hours: outside them nothing starts, `why` says when they open, and a configuration that closes or opens takes effect
# at once. docs/guide/hours.md. The days are chosen so that midnight may pass during the test.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"
needs curl
far=$(LC_ALL=C TZ=UTC date -d '+3 days' +%a | tr '[:upper:]' '[:lower:]')
mkdir bin
printf '#!/bin/sh\ncat >/dev/null\n' >bin/agent
chmod +x bin/agent
settings() { # PROJECT AGENT ACCOUNT
    config "timezone: UTC
projects:
  other: {weight: 1}
  web: {$1}
agents:
  one: {command: [$tmp/bin/agent], limiter: plan, failover: [two], $2}
  two: {command: [$tmp/bin/agent]}
  alone: {command: [$tmp/bin/agent], limiter: plan, $2}
limiters:
  plan: {$3}"
}
reload() {
    "$SLUICE" config reload >/dev/null
}
is_done() {
    [ "$("$SLUICE" show "$1" --json 2>/dev/null | first state)" = 'done' ]
}

settings "hours: '$far 10:00-12:00'" 'timeout_s: 60' 'max_running: 4'
start
"$SLUICE" add -p web -- true >/dev/null
"$SLUICE" add -p other -- true >/dev/null
soon is_done other-2
rule 'another project is not affected' is_done other-2
run sluice why web-1
has "project 'web' is outside its opening hours" 'why names the project'
has 'opens in' 'and when it opens'
run sluice why --json web-1
has '"gate":"hours"' 'as the gate hours'
run sluice project list
has 'off hours, opens in' 'the list of projects shows it'
run sluice project show web
has "$far 10:00-12:00 UTC; closed, opens in" 'a project shows its hours'
run sluice project show --json web
has '"hours":{"when":"'"$far"' 10:00-12:00","timezone":"UTC","open":false,"until":' 'in JSON, too'
run sluice status
has 'hours:project:web' 'the status shows what is closed'
run curl -s --unix-socket "$home/sluice.sock" http://localhost/metrics
has 'sluice_hours_open{scope="project",name="web"} 0' 'and so do the metrics'

# --- over a crash, and with another configuration ----------------------------------------------------

daemon=$(pid_of_daemon)
kill -9 "$daemon"
is_gone "$daemon"
start
run sluice show web-1 --json
has '"state":"ready"' 'nothing starts after a crash'
run sluice config set projects.web.hours=mon-sun
exits 0 'hours may change'
soon is_done web-1
rule 'and a task starts when they open' is_done web-1
run sluice events --json --after 0
has '"kind":"hours.opened"' 'with an event'
run sluice config set 'projects.web.hours=mon-sun 25:00-07:00'
exits 2 'hours that cannot be read are refused'
complains 'projects.web.hours' 'with their key'
complains 'days and times, such as: mon-fri 22:00-07:00; sat,sun' 'and what is expected'
run sluice config set projects.web.timezone=Mars/Olympus
complains "there is no time zone 'Mars/Olympus'" 'so is a time zone that does not exist'
rule 'and nothing is stored' grep -q 'hours: mon-sun\>' "$home/sluice.yaml"
rule 'of either' not grep -q Mars "$home/sluice.yaml"

# --- forecasts and snapshots -------------------------------------------------------------------------

settings "hours: '$far 10:00-12:00'" 'timeout_s: 60' 'max_running: 4'
reload
late=$("$SLUICE" add -p web --json -- true | first id)
opens=$("$SLUICE" project show --json web | first until)
forecast() {
    starts=$("$SLUICE" why --json "$late" | first starts_at)
    [ "${starts:-0}" -ge "$opens" ] && [ "$starts" -lt $((opens + 1000)) ]
}
soon forecast
rule 'a forecast does not start a task before its project opens' forecast
"$SLUICE" schedule add hourly --every 1h -p other -- true >/dev/null
"$SLUICE" snapshot >live.json
run sluice sim live.json --json
exits 0 'a live snapshot is played'
start=$(tr '{' '\n' <out | grep "\"$late\"" | first start_ms)
now=$(first now <live.json)
rule 'and opens the hours later on' [ "$start" -ge $((opens - now - 1000)) ]
rule 'with the tasks that a schedule will add' [ "$(grep -c '"arrives_at"' live.json)" -ge 700 ]
run sluice sim live.json --json --set 'projects.web.hours='
rule 'with other hours it starts at once' grep -q "\"$late\"" out
"$SLUICE" schedule remove hourly >/dev/null
"$SLUICE" cancel "$late" >/dev/null

# --- agents and accounts -----------------------------------------------------------------------------

settings '' "hours: '$far'" 'max_running: 4'
reload
alone=$("$SLUICE" add --agent alone -p web --json wait | first id)
run sluice why "$alone"
has "agent 'alone' is outside its opening hours" 'an agent has hours'
one=$("$SLUICE" add --agent one -p web --json go | first id)
soon is_done "$one"
run sluice show "$one" --json
has '"agent":"two"' 'another agent takes over, as with a limit'
run sluice agent list
has 'off hours, in' 'the list of agents shows it'
settings '' 'timeout_s: 60' "hours: '$far'"
reload
run sluice why "$alone"
has "account 'plan' is outside its opening hours" 'an account has hours'
run sluice limiter show plan
has 'off_hours' 'its state says so'
run curl -s --unix-socket "$home/sluice.sock" http://localhost/metrics
has 'sluice_limiter_open{limiter="plan"} 0' 'it takes no runs'
settings '' 'timeout_s: 60' 'max_running: 4'
reload
soon is_done "$alone"
rule 'without hours it starts' is_done "$alone"
finish
