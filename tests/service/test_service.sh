#!/bin/sh
# sluice service with a real systemd: a separate manager started by scripts/user-systemd, never that of the user.
# shellcheck disable=SC1091,SC2034,SC2154 # lib.sh and daemon.sh set home, id, root and tmp
here_service=$(cd "$(dirname "$0")" && pwd)
keep_runtime=$XDG_RUNTIME_DIR
. "$here_service/../cli/lib.sh"
here=$here_service
. "$here_service/../cli/daemon.sh"
# The manager looks for units in its home directory.
HOME=/run/home
XDG_RUNTIME_DIR=$keep_runtime
export HOME XDG_RUNTIME_DIR
trap 'stop_daemon; "$SLUICE" service remove >/dev/null 2>&1; rm -rf "$tmp"' EXIT

daemon_pid() { # without starting one
    "$SLUICE" service status --json | first pid
}
main_pid() {
    systemctl --user show --property=MainPID --value "$unit"
}
is_another() { # PID: a daemon answers, and it is not this one
    now=$(daemon_pid)
    [ -n "$now" ] && [ "$now" != null ] && [ "$now" != "$1" ]
}
is_of_service() {
    "$SLUICE" service status >"$tmp/out" 2>"$tmp/err"
}

config 'limits: {runs: 1}'
run sluice service status
exits 1 'not installed: exit code'
has 'not installed' 'not installed'

# A daemon that was started by a command, with a live run and a queue.
# shellcheck disable=SC2016 # for the run
add -- sh -c 'echo $$ >"$1/pid"; while [ ! -e "$1/go" ]; do sleep 0.1; done' sh "$tmp"
long=$id
add -- true
waiting=$id
soon [ -s pid ]
before=$(daemon_pid)

run sluice service install --no-linger
exits 0 'install: exit code'
has 'sluice down' 'the daemon that ran is replaced'
has 'starts again after a crash' 'and says what this is good for'
unit=$("$SLUICE" service status --json | first unit)
rule 'the daemon is that of the service' is_of_service
[ "$(daemon_pid)" != "$before" ] && [ "$(daemon_pid)" = "$(main_pid)" ]
report $? 'it is another process, of the unit'
kill -0 "$(cat pid)" && [ "$(value "$long" state)" = running ]
report $? 'the run goes on'
rule 'and the queue is there' [ "$(value "$waiting" state)" = ready ]
run systemctl --user is-enabled "$unit"
prints enabled 'the unit is enabled'
run sluice service install --no-linger --json
has '"actions":[]' 'a second time there is nothing to do'

# A killed daemon is restarted by systemd.
before=$(daemon_pid)
kill -9 "$before"
rule 'killed, it comes back by itself' soon is_another "$before"
kill -0 "$(cat pid)" && [ "$(value "$long" state)" = running ]
report $? 'with the run'
: >go
rule 'which ends well' becomes "$long" 'done'
rule 'and the queue goes on' becomes "$waiting" 'done'
run sluice service status
exits 0 'status: exit code'
has 'active, enabled, 1 restart' 'status: how often it was started again'

# Runs survive a manual restart, also with another PATH.
rm go pid
# shellcheck disable=SC2016 # for the run
add -- sh -c 'echo $$ >"$1/pid"; while [ ! -e "$1/go" ]; do sleep 0.1; done' sh "$tmp"
soon [ -s pid ]
run systemctl --user restart "$unit"
soon is_of_service
kill -0 "$(cat pid)" && [ "$(value "$id" state)" = running ]
report $? 'a restart of the unit leaves the run alone'
run env PATH="$tmp/50% \"off\":$PATH" "$SLUICE" service status
has 'not up to date' 'another PATH is seen'
run env PATH="$tmp/50% \"off\":$PATH" "$SLUICE" service install --no-linger
exits 0 'and installed'
soon is_of_service
run sluice config set limits.runs=2
# shellcheck disable=SC2016 # for the run
run sluice run -- sh -c 'echo "$PATH"'
prints "$tmp/50% \"off\":$PATH" 'runs have exactly this PATH'
kill -0 "$(cat pid)" && [ "$(value "$id" state)" = running ]
report $? 'and the run goes on'
run sluice service install --no-linger
exits 0 'and back again'

# After 'down' systemd does not restart the daemon; the next command that changes something starts the service.
run sluice down
exits 0 'down: exit code'
is_inactive() {
    [ "$(systemctl --user is-active "$unit" | tee "$tmp/out")" = inactive ]
}
rule 'a daemon that was stopped is not started again' soon is_inactive
run sluice add --draft -- true
exits 0 'add starts it'
rule 'through the service' is_of_service
run sluice down
run sluice up
exits 0 'so does up'
rule 'through the service, too' is_of_service

# A failure to start is reported at once.
run sluice down
cp "$home/sluice.yaml" good.yaml
printf 'limits: {rnus: 3}\n' >"$home/sluice.yaml"
run sluice up
exits 1 'a bad configuration: exit code'
rule 'a bad configuration: where to look' grep -q "could not start the daemon (exit code 1); see 'journalctl --user -u $unit'" err
cp good.yaml "$home/sluice.yaml"
rule 'corrected, it starts by itself' soon is_of_service

run sluice service remove
exits 0 'remove: exit code'
rule 'remove leaves the run alone' kill -0 "$(cat pid)"
rule 'no file is left' [ -z "$(find "$HOME/.config/systemd" -name "$unit")" ]
run sluice service remove
exits 0 'remove twice: exit code'
run sluice up
exits 0 'up works without the service'
rule 'and finds the run' [ "$(value "$id" state)" = running ]
: >go
rule 'which ends well' becomes "$id" 'done'
finish
