#!/bin/sh
# A project that loses its section of the configuration is paused, whatever its caps were; `project delete` ends it.
# shellcheck disable=SC1091,SC2016,SC2154 # kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"
mkfifo "$tmp/gate"
both='projects: {web: {max_running: 1}, api: {max_running: 1}}'
without='projects: {api: {max_running: 1}}'
config "$both"
start
"$SLUICE" project add plain >/dev/null

alerts() {
    "$SLUICE" status --json | sed -e 's/.*"alerts":\[//' -e 's/\],"external":.*//'
}
has_alert() {
    alerts | grep -qF -e '"key":"section:web"'
}
has_no_alert() {
    ! has_alert
}
wait_reason() { # ID TEXT
    "$SLUICE" why "$1" | grep -qF -e "$2"
}
project_state() { # NAME STATE
    "$SLUICE" project list | grep -qE "^ +$1 .* $2\$"
}

# --- the section goes while one runs and two wait ---------------------------------------------------------

add --project web -- sh -c 'read -r line <"$1"' - "$tmp/gate"
live=$id
becomes "$live" running
add --project web -- true
waits=$id
add --project web -- true
waits_too=$id
add --project plain -- true
rule 'a project that never had a section runs' becomes "$id" 'done'

config "$without"
run sluice config reload
exits 0 'the reload without the section is taken'
rule 'the reason names the section that was removed' \
    wait_reason "$waits" "project 'web' is paused: projects.web was removed from the configuration"
rule 'why says how to go on' wait_reason "$waits" 'sluice project set web max_running=N'
rule 'project list shows it' project_state web 'paused, section removed'
rule 'there is an alert' has_alert
rule 'the log has it' grep -q 'alert section:web: projects.web was removed' "$home/sluice.log"
run sluice project show web
has 'web (paused, section removed' 'project show has it'
run sluice events --limit 20
has 'project.paused' 'it is an event'
add --project api -- true
rule 'other projects go on' becomes "$id" 'done'
add --project plain -- true
rule 'so does one that never had a section' becomes "$id" 'done'

unblock "$tmp/gate"
rule 'running tasks continue to its end' becomes "$live" 'done'
rule 'nothing starts after it' in_state "$waits" ready
run sluice project resume web
exits 4 'resume is refused: exit code'
complains "projects.web was removed from the configuration, and its caps with it: put the section back, or set its caps with 'sluice project set web max_running=N'" 'resume is refused, with the fix'

# --- it survives a restart --------------------------------------------------------------------------------

"$SLUICE" down --wait >/dev/null
start
rule 'after a restart it is still paused' wait_reason "$waits" 'projects.web was removed'
rule 'and nothing of it was started' in_state "$waits_too" ready
rule 'the alert is still there' has_alert

# --- it comes back ----------------------------------------------------------------------------------------

config "$both"
"$SLUICE" config reload >/dev/null
rule 'with the section back it goes on' becomes "$waits" 'done'
rule 'all of it' becomes "$waits_too" 'done'
rule 'the alert is over' soon has_no_alert
rule 'project list shows that, too' project_state web active

# --- removed while the daemon is down ---------------------------------------------------------------------

"$SLUICE" pause web >/dev/null
add --project web -- true
"$SLUICE" down --wait >/dev/null
config "$without"
start
rule 'a section that is missing at the start is noticed' wait_reason "$id" 'projects.web was removed'
"$SLUICE" project set web weight=2 >/dev/null
rule 'caps that are set are a section; the pause of the user holds' wait_reason "$id" "project 'web' is paused by"
"$SLUICE" resume web >/dev/null
rule 'which the user ends' becomes "$id" 'done'

# --- project delete ---------------------------------------------------------------------------------------

add --project web -- sh -c 'read -r line <"$1"' - "$tmp/gate"
live=$id
becomes "$live" running
add --project web --hold -- true
held=$id
run sluice project delete web
exits 4 'delete with unfinished tasks: exit code'
complains "project 'web' has 2 unfinished tasks: wait for them, or cancel them with --cancel" 'delete with unfinished tasks is refused'
run sluice project delete --cancel web
prints 'web deleted; 2 tasks canceled' 'delete --cancel'
rule 'what waited is canceled' becomes "$held" canceled
rule 'what ran is stopped' becomes "$live" canceled
run grep -c 'web:' "$home/sluice.yaml"
prints 0 'its section is gone from the file'
run sluice project list
run grep -c ' web ' "$tmp/out"
prints 0 'it is not listed'
run sluice project show web
exits 1 'it cannot be shown'
run sluice project delete web
complains "there is no project 'web'" 'nor deleted twice'
run sluice add --project web -- true
exits 2 'it takes no tasks'
run sluice show "$waits"
exits 0 'its finished tasks are still there'
run sluice retry "$held"
rule 'and do not start again' wait_reason "$held" "project 'web' was deleted; bring it back with: sluice project add web"
"$SLUICE" down --wait >/dev/null
start
run sluice project show web
exits 1 'a restart does not bring it back'
rule 'nor start anything of it' wait_reason "$held" "project 'web' was deleted"
run sluice project add web --prefix other
complains "project 'web' was deleted and has the prefix 'web', which does not change" 'it comes back with its prefix alone'
run sluice project add web --max-running 1
prints 'web added; its tasks are called web-N' 'it can be added again'
rule 'and then its tasks go on' becomes "$held" 'done'
run sluice project delete plain
prints 'plain deleted' 'one without unfinished tasks and without a section is deleted'
config 'projects: {plain: }'
"$SLUICE" config reload >/dev/null
run sluice project show plain
exits 0 'a section brings it back'
finish
