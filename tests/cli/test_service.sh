#!/bin/sh
# sluice service: written files and calls of systemctl, with a fake systemctl that records them. `make test-service`
# uses a real one.
# shellcheck disable=SC1091,SC2034,SC2154 # lib.sh and daemon.sh set home, root and tmp
. "$(dirname "$0")/lib.sh"
. "$here/daemon.sh"

mkdir bin
unset XDG_CONFIG_HOME XDG_RUNTIME_DIR
ln -s "$root/tests/cli/fakes/systemctl" "$root/tests/cli/fakes/loginctl" bin
FAKE=$tmp
PATH=$tmp/bin:$PATH
export FAKE PATH
echo 252 >version
calls() { # prints the calls since the last time, without queries
    sed '/ show/d' "$tmp/calls" >"$tmp/out"
    : >"$tmp/calls"
}
: >calls
unit=$("$SLUICE" service status --json | first unit)
file=$HOME/.config/systemd/user/$unit

# A dry run changes nothing.
run env ANTHROPIC_API_KEY=sk-secret CODEX_HOME=/data/codex "$SLUICE" service install --dry-run
exits 0 'dry run: exit code'
has "ExecStart=\"$(dirname "$SLUICE")/sluiced\"" 'the unit runs the program beside this one'
has 'KillMode=process' 'only the daemon is stopped'
has 'Restart=on-failure' 'it is started again'
has "Environment=\"SLUICE_HOME=$home\"" 'for this home'
has "Environment=\"PATH=$PATH\"" 'with this PATH'
has 'Environment="CODEX_HOME=/data/codex"' 'with the folders of agents'
rule 'and without secrets' not grep -q sk-secret out
has "systemctl --user enable $unit" 'what would be done'
rule 'nothing that this systemd does not know' not grep -q RestartSteps out
[ ! -e "$file" ] && calls && [ ! -s out ]
report $? 'nothing is done'
echo 257.1-1 >version
run sluice service install --dry-run --json
has 'RestartSteps=6' 'a newer systemd waits longer each time'
echo 252 >version

# Installing while a daemon runs stops that daemon first.
start
old=$(pid_of_daemon)
run sluice service install
exits 0 'install: exit code'
[ "$(pid_of_daemon)" = "$(cat pid)" ] && [ "$(cat pid)" != "$old" ]
report $? 'the daemon is that of the service'
rule 'of this home' grep -qx "SLUICE_HOME=$home" environment
calls
prints "systemctl --user daemon-reload
systemctl --user enable $unit
systemctl --user start $unit
loginctl --no-ask-password enable-linger $(id -un)" 'install: what systemd is asked for'
run sluice service install
exits 0 'install twice: exit code'
has 'is installed and runs' 'install twice: nothing to do'
calls
rule 'install twice: nothing is asked for' [ ! -s out ]
run sluice service status
exits 0 'status: exit code'
has "unit     $unit, installed" 'status: the unit'
has "daemon   pid $(cat pid), of the service" 'status: the daemon'
run sluice service status --json
has '"installed":true,"current":true,"enabled":true,"active":"active"' 'status --json'

# Commands that need a daemon start the service.
run sluice down
exits 0 'down'
: >calls
run sluice add --draft -- true
exits 0 'add starts the service'
calls
sort -u -o out out # there are two calls if the old daemon was still shutting down
prints "systemctl --user start $unit" 'and no daemon of its own'
run sluice service status
exits 0 'it is the daemon of the service'
run sluice down
: >refuses
run sluice up
exits 1 'a service that does not start: exit code'
says "sluice: systemctl --user start $unit: Job for $unit failed." 'a service that does not start'
rm refuses

# Without a systemd manager the daemon is started directly, with a message.
: >absent
run sluice up
exits 0 'no manager: up works'
rule 'no manager: it says so' grep -q "the service '$unit' is not used: the systemd manager of this user does not answer" err
run sluice service status
exits 1 'no manager: status'
has 'started without the service: a crash ends it' 'no manager: what this means'
run sluice service install
exits 4 'no manager: install is refused'
grep -q "'@reboot sluice up'" err && [ "$(wc -l <err)" = 1 ]
report $? 'no manager: what to do instead'
run env PATH=/nowhere "$SLUICE" service install
exits 4 'no systemctl: install is refused'
rm absent
run env -u SLUICE_HOME "$SLUICE" service install --dry-run
exits 4 'the socket of the default home needs XDG_RUNTIME_DIR: exit code'
rule 'the socket of the default home needs XDG_RUNTIME_DIR' grep -q 'XDG_RUNTIME_DIR is not set' err
run env -u SLUICE_HOME XDG_RUNTIME_DIR="$tmp" "$SLUICE" service install --dry-run --json
has '"unit":"sluice.service"' 'the default home has the plain name'

# The user may not be allowed to enable lingering: a hint, not a failure.
rm linger
: >no-linger
run sluice service install
exits 0 'no right to linger: exit code'
rule 'no right to linger: a hint' grep -q "run 'sudo loginctl enable-linger $(id -un)'" err
run sluice service install --no-linger
[ "$code" = 0 ] && [ ! -s err ]
report $? 'not wanted: no hint'

# Runs get the variables of tasks.env; those that the service does not have are reported.
config 'tasks: {env: [PATH, HOME, ANTHROPIC_API_KEY]}'
run env ANTHROPIC_API_KEY=sk-secret "$SLUICE" service install --no-linger
rule 'a variable that runs will miss' grep -q 'tasks.env names ANTHROPIC_API_KEY, which the service does not have' err
rule 'its value is nowhere' not grep -q sk-secret "$file" err out

: >calls
run sluice service remove --dry-run
exits 0 'remove --dry-run'
rule 'changes nothing' [ -e "$file" ]
: >calls
run sluice service remove
exits 0 'remove: exit code'
rule 'the unit is gone' [ ! -e "$file" ]
calls
prints "systemctl --user disable --now $unit
systemctl --user daemon-reload" 'remove: what systemd is asked for'
run sluice service remove --json
has '"installed":false' 'remove twice'
rm -f "$home/sluice.yaml"
run sluice init --service
exits 0 'init --service: exit code'
rule 'init --service installs it' [ -e "$file" ]
: >absent
run sluice init --force --service
exits 4 'init --service without a manager'
rm absent
run sluice service remove
run sluice service
exits 2 'a subcommand is needed'
run sluice service install now
exits 2 'an argument too many'
finish
