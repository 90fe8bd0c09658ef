#!/bin/sh
# sluice config: which file is meant, origins, mistakes. The sentences are tested in tests/unit.
# shellcheck disable=SC2154 # lib.sh sets here, root and tmp
. "$(dirname "$0")/lib.sh"

unset SLUICE_HOME XDG_CONFIG_HOME
HOME=$tmp/home
export HOME
mkdir -p home/.config/sluice xdg/sluice own

run sluice config show
exits 0 'show: exit code without a file'
has 'limits.runs               8          default' 'show: the default'

printf 'limits: {runs: 3}\n' >home/.config/sluice/sluice.yaml
run sluice config show
has 'limits.runs               3          sluice.yaml:1' 'the file in the home folder'
printf '\nlimits: {runs: 4}\n' >xdg/sluice/sluice.yaml
export XDG_CONFIG_HOME="$tmp/xdg"
run sluice config show
has 'limits.runs               4          sluice.yaml:2' 'the file in XDG_CONFIG_HOME'
printf 'preset: loopr\n' >own/sluice.yaml
export SLUICE_HOME="$tmp/own"
run sluice config show
has 'limits.runs               50          preset loopr' 'the file in SLUICE_HOME'
rm own/sluice.yaml
run sluice config show
has 'limits.runs               8          default' 'a file that is not there is empty'

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
has '  now:      40 (preset sluice)' 'explain: the value now'
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
like "$root/docs/config.md" 'the reference is docs/config.md'
run sluice config
exits 2 'no subcommand: exit code'
shown docs/cli/config.md config explain retry.failed.delay_s
finish
