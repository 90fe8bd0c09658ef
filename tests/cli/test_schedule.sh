#!/bin/sh
# sluice schedule: adds, lists, shows, changes, pauses, runs and removes schedules.
# shellcheck disable=SC2154 # lib.sh and daemon.sh set home, id, root and tmp
. "$(dirname "$0")/lib.sh"
. "$here/daemon.sh"

run sluice schedule list
exits 3 'no daemon: exit code'
config 'timezone: Europe/Berlin'
start
run sluice schedule list
prints "no schedule yet; 'sluice schedule add NAME' adds one" 'list: none'
run sluice schedule add nightly --cron '0 2 * * 1-5' --title Nightly -- true
exits 0 'add: exit code'
has 'nightly added; next at ' 'add'
rule 'it is in the configuration' grep -q "cron: ['\"]*0 2 \* \* 1-5" "$home/sluice.yaml"
run sluice schedule add nightly --every 1h -- true
exits 1 'add a second time: exit code'
says "sluice: schedule 'nightly' already exists" 'add a second time'
run sluice schedule add often --every 6h --overlap queue --catch-up all --catch-up-max 2d --jitter 10m --paused -- true
exits 0 'add with options: exit code'
prints 'often added, paused' 'add --paused'
echo '- run: "true"' >tasks.yaml
run sluice schedule add once --at '2099-12-24 22:00' --file tasks.yaml
exits 0 'add --at --file: exit code'
prints "once added; next at $(TZ=$(date +%Z) date -d @4101829200 '+%Y-%m-%d %H:%M:%S')" 'the time is in the time zone of the schedule'
run sluice schedule add soon --at 2h -- true
exits 0 'add --at with a span'
run sluice schedule list
exits 0 'list: exit code'
has '0 2 * * 1-5' 'list: the expression'
has 'paused' 'list: the state'
has 'every 6h' 'list: the span'
run sluice schedule show often
exits 0 'show: exit code'
has 'often (paused)' 'show: the state'
has '  overlap    queue' 'show: a setting'
run sluice schedule show once --json
has "\"file\":\"$tmp/tasks.yaml\"" 'a relative path is made absolute'
run sluice schedule next -n 3 nightly
exits 0 'next: exit code'
rule 'next: three times' [ "$(wc -l <out)" = 3 ]
run sluice schedule resume often
has 'often resumed; next at ' 'resume'
run sluice schedule pause often
prints 'often paused' 'pause'
run sluice schedule set often overlap=skip every=12h
prints 'often overlap=skip
often every=12h' 'set'
run sluice schedule set often every= cron='0 5 * * *'
exits 0 'set with an empty value: exit code'
run sluice schedule show often
has '0 5 * * *' 'an empty value removes a setting'
run sluice schedule set often cron= every=12h
exits 0 'set it back'
run sluice schedule run once
exits 0 'run: exit code'
has 't-1 added' 'run'
rule 'its task runs' becomes t-1 'done'
run sluice list --all --schedule once --ids
prints t-1 'list --schedule'
run sluice list --all --schedule often --ids
rule 'list --schedule: of another one' [ ! -s out ]
run sluice down
start
run sluice schedule show often
has 'every 12h' 'it is kept'
run sluice schedule remove often
prints 'often removed' 'remove'
run sluice schedule show often
exits 1 'removed: exit code'
says "sluice: there is no schedule 'often'" 'removed'

# --- formulas ---------------------------------------------------------------------------------------

cat >release.yaml <<'END'
vars: {version: {required: true}, channel: stable}
steps:
  - {id: build, run: "echo build {{version}}"}
  - {id: publish, needs: build, run: "echo publish {{version}} to {{channel}}"}
END
run sluice schedule add release --every 1h --formula release.yaml --var 'version=1.2 beta'
exits 0 'add --formula: exit code'
run sluice schedule run release
exits 0 'run --formula: exit code'
first=$(sed -n '1s/ .*//p' out) second=$(sed -n '2s/ .*//p' out)
run sluice wait "$first" "$second"
run sluice logs "$second"
prints 'publish 1.2 beta to stable' 'the steps have the values'
run sluice show --json "$second"
has '"external_id":"release@run-' 'they have the external id of the firing'
run sluice schedule show release --json
has '"vars":["version=1.2 beta"]' 'show has the values'
sed -i 's/echo publish/echo deliver/' release.yaml
run sluice schedule run release
second=$(sed -n '2s/ .*//p' out)
run sluice wait "$second"
run sluice logs "$second"
prints 'deliver 1.2 beta to stable' 'the formula is read at each firing'
run sluice schedule remove release

# Bad input: one message, nothing stored.
before=$(cat "$home/sluice.yaml")
bad() { # 'TEXT' OPTION...
    text=$1
    shift
    run sluice schedule add bad "$@" -- true
    exits 2 "bad $*: exit code"
    rule "bad $*" grep -qF -e "$text" err
}
bad "exactly one of 'cron', 'every' and 'at' is required" --cron '0 2 * * *' --every 1h
bad "exactly one of 'cron', 'every' and 'at' is required"
bad 'hour 25 is out of range' --cron '0 25 * * *'
bad 'it has 4 of 5 fields' --cron '0 2 * *'
bad 'no month has such a day' --cron '0 2 31 2 *'
bad 'use @hourly' --cron @noon
bad 'expected seconds' --every 0s
bad 'expected seconds' --every often
bad 'is not a time' --at '2027-02-30 10:00'
bad 'is never due' --at '2020-01-01 10:00'
bad 'there is no time zone' --every 1h --timezone Mars/Base
bad 'the name of a time zone' --every 1h --timezone ../../etc/passwd
bad 'expected one of skip, queue, replace' --every 1h --overlap maybe
bad 'expected one of last, all, none' --every 1h --catch-up some
bad "there is no project 'nowhere'" --every 1h --project nowhere
run sluice schedule add bad --every 1h --file "$tmp/missing.yaml"
exits 2 'a missing file: exit code'
echo '- nonsense: 1' >wrong.yaml
run sluice schedule add bad --every 1h --file wrong.yaml
exits 2 'a bad file: exit code'
rule 'a bad file: with its line' grep -qF 'wrong.yaml:1' err
echo 'steps: [{id: only, run: "true {{what}}"}]
vars: {what: {required: true}}' >steps.yaml
formula() { # 'message' OPTIONS...
    message=$1
    shift
    run sluice schedule add bad --every 1h "$@"
    exits 2 "$message: exit code"
    rule "$message: message" grep -qF -e "$message" err
}
formula "variable 'what' has no value" --formula steps.yaml
formula "has no variable 'who'" --formula steps.yaml --var what=1 --var who=2
formula 'expected words KEY=VALUE' --formula steps.yaml --var what
formula '--var needs --formula' --var what=1 -- true
formula '--file and --formula cannot be used together' --file steps.yaml --formula steps.yaml
formula "unexpected argument 'true' with --formula" --formula steps.yaml --var what=1 -- true
run sluice schedule add bad --every 1h
exits 2 'no task: exit code'
rule 'nothing was stored' [ "$before" = "$(cat "$home/sluice.yaml")" ]
for verb in show next pause resume run remove; do
    run sluice schedule "$verb" nope
    exits 1 "$verb an unknown schedule: exit code"
    says "sluice: there is no schedule 'nope'" "$verb an unknown schedule"
done
run sluice schedule set nightly cron='x'
exits 2 'set a bad value: exit code'
run sluice schedule set nightly speed=1
exits 2 'set an unknown setting: exit code'
run sluice schedule
exits 2 'no subcommand'
finish
