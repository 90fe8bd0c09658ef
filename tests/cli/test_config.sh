#!/bin/sh
# sluice config: which file is used, origins of values, errors. The messages are tested in tests/unit.
# shellcheck disable=SC2154 # lib.sh sets here, root and tmp
. "$(dirname "$0")/lib.sh"

unset SLUICE_HOME XDG_CONFIG_HOME
HOME=$tmp/home
export HOME
mkdir -p home/.config/sluice xdg/sluice own

# Columns are as wide as the longest name.
shows() {
    tr -s ' ' <out | grep -qxF "$1"
    report $? "$2"
}

run sluice config show
exits 0 'show: exit code without a file'
shows 'limits.runs 8 default' 'show: the default'

printf 'limits: {runs: 3}\n' >home/.config/sluice/sluice.yaml
run sluice config show
shows 'limits.runs 3 sluice.yaml:1' 'the file in the home folder'
printf '\nlimits: {runs: 4}\n' >xdg/sluice/sluice.yaml
export XDG_CONFIG_HOME="$tmp/xdg"
run sluice config show
shows 'limits.runs 4 sluice.yaml:2' 'the file in XDG_CONFIG_HOME'
printf 'preset: loopr\n' >own/sluice.yaml
export SLUICE_HOME="$tmp/own"
run sluice config show
shows 'limits.runs 50 preset loopr' 'the file in SLUICE_HOME'
rm own/sluice.yaml
run sluice config show
shows 'limits.runs 8 default' 'a file that is not there is empty'

printf 'limits:\n  rnus: 3\n' >bad.yaml
run sluice config show --file bad.yaml
exits 2 'a bad file: exit code'
says "sluice: bad.yaml:2: unknown key 'limits.rnus'; did you mean 'limits.runs'?" 'a bad file: sentence'
run sluice config show --file missing.yaml
exits 2 'a named file that is not there: exit code'
says "sluice: cannot open 'missing.yaml': No such file or directory" 'a named file that is not there'

run sluice config show --set preset=agency --set limits.runs=5 --json
exits 0 'show --set --json'
has '"resolved": 20,' 'auto follows the runs'
run sluice config show --set limits.runs
exits 2 '--set without a value: exit code'
says "sluice: option '--set': expected KEY=VALUE, got 'limits.runs'" '--set without a value'
run sluice config show --set limits.runs=many
says "sluice: key 'limits.runs': expected a whole number from 0 to 1000000000 or unlimited, got 'many'" \
    '--set with a wrong value'

run sluice config explain kinds.plan.base
has '  now:      100 (score.base)' 'explain: the value now'
run sluice config explain kinds.plan.base --set preset=loopr
has '  now:      40 (preset loopr)' 'explain: the value of a preset'
run sluice config explain limit.runs
exits 2 'explain an unknown key: exit code'
says "sluice: unknown key 'limit.runs'; did you mean 'limits.runs'?" 'explain an unknown key'
run sluice config explain
exits 2 'explain nothing: exit code'
run sluice config keys
has 'limits.runs' 'keys: a key'
run sluice config keys --json
has '"key": "kinds.K.base",' 'keys as JSON'
run sluice config reference
like "$root/docs/reference/settings.md" 'the reference is docs/reference/settings.md'
run sluice config
exits 2 'no subcommand: exit code'
shown docs/reference/cli/config.md config explain retry.failed.delay_s

run sluice config get limits.runs
prints '8' 'get'
run sluice config get order
prints 'guarantee, deficit, overdue, priority, score, created_at, seq' 'get: a list'
run sluice config get --json limits.runs
prints '{"key":"limits.runs","value":8,"origin":"default"}' 'get as JSON'
run sluice config get limit.runs
exits 2 'get an unknown key: exit code'
run sluice config get kinds.K.base
exits 2 'get a pattern: exit code'
says "sluice: 'kinds.K.base' stands for many keys: replace the capital letter with a name
usage: sluice config get [--live] [--file FILE] [--set KEY=VALUE]... KEY" 'get a pattern'
run sluice config get ''
exits 2 'get nothing'

# Changing a file without a daemon: only the requested keys change.
# The mode becomes private if the file holds a secret or Sluice created it; otherwise it is kept.
(umask 022 && SLUICE_HOME=$tmp/own "$SLUICE" config set limits.runs=3 >/dev/null)
rule 'a file that is made here is private' [ "$(stat -c %a own/sluice.yaml)" = 600 ]
chmod 644 own/sluice.yaml
SLUICE_HOME=$tmp/own "$SLUICE" config set limits.runs=4 >/dev/null
rule 'control: a file without a secret keeps its mode' [ "$(stat -c %a own/sluice.yaml)" = 644 ]
SLUICE_HOME=$tmp/own "$SLUICE" config set agents.claude.env=KEY=1 >/dev/null
rule 'with a secret it is private' [ "$(stat -c %a own/sluice.yaml)" = 600 ]
rm own/sluice.yaml

printf '# mine\nlimits:\n  runs: 3 # few\n' >own/sluice.yaml
run sluice config set limits.runs=5 kinds.plan.max_running=1
exits 0 'f126: set: exit code'
prints "limits.runs changed in $tmp/own/sluice.yaml
kinds.plan.max_running changed in $tmp/own/sluice.yaml" 'f126: set'
grep -q '^  runs: 5 # few$' own/sluice.yaml && grep -q '^# mine$' own/sluice.yaml
report $? 'comments stay'
run sluice config get kinds.plan.max_running
prints '1' 'f126: and it holds'
run sluice config unset kinds.plan.max_running
exits 0 'unset: exit code'
run sluice config get kinds.plan.max_running
prints 'unlimited' 'unset: the default holds again'
run sluice config unset kinds.plan.max_running
exits 0 'unset a second time'
cp own/sluice.yaml before.yaml
for pair in limits.runs=many limits.rnus=1 preset=nope =1 limits.runs; do
    run sluice config set limits.roots=1 "$pair"
    exits 2 "set $pair: exit code"
    compare before.yaml own/sluice.yaml "set $pair: the file is as it was"
done
run sluice config set limits.runs
says "sluice: expected KEY=VALUE, got 'limits.runs'
usage: sluice config set [--file FILE] KEY=VALUE..." 'set without a value'
run sluice config set limits.runs=1 limits.runs=2
exits 2 'set a key twice'
run sluice config unset limits.rnus
exits 2 'unset an unknown key'
run sluice config set
exits 2 'set nothing'
rm -r own
run sluice config set limits.runs=5
exits 0 'set makes the file and its folder: exit code'
run sluice config get limits.runs
prints '5' 'set makes the file and its folder'
printf 'limits: {runs: 1}\n' >other.yaml
run sluice config set --file other.yaml limits.runs=2 --json
prints '{"changed":["limits.runs"]}' 'set --file, as JSON'
run sluice config get --file other.yaml limits.runs
prints '2' 'set --file changes that file'
run sluice config reload
exits 3 'reload without a daemon'
run sluice config get --live limits.runs
exits 3 'get --live without a daemon'
run sluice config get --live --set limits.runs=1 limits.runs
exits 2 '--live with --set'

# With a daemon: a change applies to the file and to the daemon at once.
. "$here/daemon.sh"
config 'limits: {runs: 0}'
start
add -- true
run sluice config set limits.runs=2
exits 0 'f126: set with a daemon: exit code'
prints 'limits.runs changed' 'f126: set with a daemon'
rule 'f126: raising a cap starts work at once' becomes "$id" 'done'
run sluice config get limits.runs
prints '2' 'the file has it'
run sluice config get --live limits.runs
prints '2' 'the daemon has it'
run sluice config show --live
has 'limits.runs' 'show --live'
run sluice config set limits.runs=many
exits 2 'a value that is refused: exit code'
run sluice config get --live limits.runs
prints '2' 'a value that is refused changes nothing'
config 'limits: {runs: 7}'
run sluice config get --live limits.runs
prints '2' 'a change by hand is not in force'
run sluice config reload
exits 0 'reload: exit code'
prints 'configuration reloaded' 'reload'
run sluice config get --live limits.runs
prints '7' 'until reload'
config 'limits: {rnus: 7}'
run sluice config reload
exits 2 'reload of a bad file: exit code'
run sluice config get --live limits.runs
prints '7' 'reload of a bad file changes nothing'
config 'limits: {runs: 7}'
run sluice config unset limits.runs
run sluice config get --live limits.runs
prints '8' 'unset with a daemon'
finish
