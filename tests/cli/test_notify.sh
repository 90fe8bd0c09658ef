#!/bin/sh
# sluice notify: sends a test notification over each configured channel.
# shellcheck disable=SC2154 # lib.sh and daemon.sh set home, id, root and tmp
. "$(dirname "$0")/lib.sh"
. "$here/daemon.sh"

config 'limits: {runs: 1}'
start
run sluice notify test
exits 4 'nothing is configured: exit code'
says "sluice: no notifications are configured: set 'notify.webhook', 'notify.command' or 'notify.desktop'" 'nothing is configured'
run sluice notify test --json
prints '{"ways":[]}' 'nothing is configured, as JSON'

# shellcheck disable=SC2016 # for the command's shell
"$SLUICE" config set "notify.command=sh -c 'echo \"\$SLUICE_NOTIFY_KIND\" >>$tmp/told'" >/dev/null
run sluice notify test
exits 0 'a command that works: exit code'
prints 'ok      notify.command: ended with exit code 0' 'a command that works'
rule 'it was told that this is a test' [ "$(cat told)" = test ]

"$SLUICE" config set alerts.notify=false groups.notify=/nowhere/command >/dev/null
run sluice notify test
exits 1 'one of three works: exit code'
prints 'failed  alerts.notify: ended with exit code 1
failed  groups.notify: No such file or directory
ok      notify.command: ended with exit code 0' 'each says what happened'
"$SLUICE" config set alerts.notify= groups.notify= notify.command= "notify.webhook=unix:$tmp/nobody.sock" >/dev/null
run sluice notify test
exits 1 'a webhook that nobody answers: exit code'
prints "failed  notify.webhook: '$tmp/nobody.sock' could not be reached: No such file or directory" 'and why'
run sluice notify test --json
prints "{\"ways\":[{\"way\":\"notify.webhook\",\"ok\":false,\"text\":\"'$tmp/nobody.sock' could not be reached: No such file or directory\"}]}" 'the same as JSON'
exits 1 'with the same exit code'

run sluice notify
exits 2 'no subcommand'
run sluice notify test now
exits 2 'an argument too many'
finish
