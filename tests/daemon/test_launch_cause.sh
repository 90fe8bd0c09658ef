#!/bin/sh
# Failed launches: a problem of a project or a task counts only for that project or task, and never closes the agent.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"
. "$root/tests/daemon/repository.sh"

mkdir bin plain gone
printf '#!/bin/sh\necho works\n' >bin/agent
chmod +x bin/agent
git init -q -b main empty
repository prepared
config "breaker: {max: 2, reset_s: 1800, agent_max: 3}
retry: {launch: {delay_s: 0}}
agents:
  tool: {command: [$tmp/bin/agent, '{prompt}']}
  absent: {command: [$tmp/bin/absent, '{prompt}'], adapter: claude}
projects:
  plain: {path: $tmp/plain, workspace_mode: worktree}
  empty: {path: $tmp/empty, workspace_mode: worktree}
  gone: {path: $tmp/gone}
  prepared: {path: $tmp/prepared, workspace_mode: worktree, prepare: [$tmp/bin/absent]}
  secret: {path: $tmp/bin, env_file: $tmp/absent.env}"
start

held() { # ID
    [ "$(value "$1" state) $(value "$1" hold)" = 'held breaker' ]
}
cause() { # ID: of its last run
    "$SLUICE" events --limit 500 --json | tr '{' '\n' | sed -n 's/.*"outcome":"launch".*"cause":"\([a-z]*\)".*/\1/p' | tail -1
}

for row in 'plain workspace' 'empty workspace' 'gone cwd' 'prepared prepare' 'secret project'; do
    project=${row% *}
    mkdir -p gone
    cwd=
    [ "$project" != gone ] || cwd="--cwd=$tmp/gone"
    # shellcheck disable=SC2086 # an option or nothing
    add --hold --project "$project" --agent tool $cwd 'one'
    first=$id
    # shellcheck disable=SC2086
    add --hold --project "$project" --agent tool $cwd 'two'
    rmdir gone
    run sluice release "$first" "$id"
    soon held "$first" && soon held "$id"
    report $? "$project: its tasks are held after two launches"
    rule "$project: the event has the cause '${row#* }'" [ "$(cause "$id")" = "${row#* }" ]
done
run sluice why "$first"
has 'absent.env' 'why has the message, which names the cause'
printf '[{"agent": "tool", "argv": ["%s"]}]' "$tmp/bin/absent" >own.json
add --file own.json
rule 'a command that the task brings along: the same' soon held "$id"
rule 'its cause is the task' [ "$(cause "$id")" = task ]
rule 'the agent is open' sh -c '! "$SLUICE" agent list --json | grep -q "\"closed_until\":[0-9]"'
add --agent tool 'works'
rule 'and other projects use it' becomes "$id" 'done'

# --- the agent itself -------------------------------------------------------------------------------------

add --agent absent 'one'
first=$id
add --agent absent 'two'
rule 'an agent whose program is missing is closed' soon sh -c '"$SLUICE" agent list --json | grep -q "\"closed_until\":[0-9]"'
rule 'its cause is the program' [ "$(cause "$first")" = program ]
run sluice status
has "cannot run '$tmp/bin/absent': No such file or directory" 'the alert says why'
has 'sluice agent clear absent' 'and how to open it'
run sluice why "$id"
has "cannot run '$tmp/bin/absent'" 'why says it, too'
has 'sluice agent clear absent' 'with the command'
kill -9 "$(pid_of_daemon)"
run sluice up
run sluice why "$id"
has "cannot run '$tmp/bin/absent'" 'also after a crash'
printf '#!/bin/sh\necho "{\\"type\\":\\"result\\",\\"subtype\\":\\"success\\",\\"is_error\\":false,\\"result\\":\\"ok\\"}"\n' >bin/absent
chmod +x bin/absent
run sluice agent clear absent
prints 'absent cleared' 'one command opens it'
rule 'and its tasks go on at once' becomes "$id" 'done'
run sluice status --json
rule 'the alert is over' sh -c '! sed "s/.*\"alerts\"//; s/\].*//" out | grep -q agent:absent'
run sluice agent clear absent
prints 'absent is open already' 'once is enough'
run sluice agent clear nope
exits 1 'there is no such agent'

finish
