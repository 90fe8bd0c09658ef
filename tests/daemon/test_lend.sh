#!/bin/sh
# A run that waits for its own child lends its slot: with a limit of one run, both complete.
# shellcheck disable=SC1091,SC2016,SC2154 # kit.sh sets id, home, tmp; the shell of the run expands the rest
. "$(dirname "$0")/kit.sh"
PATH=$(dirname "$SLUICE"):$PATH
export PATH

config 'limits: {runs: 1}
capability: {depth: 4, children: 8, running: 4}
agents:
  child: {command: [sh, -c, "echo $SLUICE_TASK >>begun; read -r _ <go"]}
  quick: {command: ["true"]}
  parent: {command: [sh, middle.sh]}
projects: {web: }'
start
mkfifo go

# The run adds a child and waits for it. Each writes the result of its wait.
cat >top.sh <<'END'
cd "$(dirname "$0")" || exit 1
child=$(sluice add --json --agent "$1" hi | sed 's/.*"tasks":\[{"id":"\([^"]*\)".*/\1/')
echo "$child" >"$2.child"
sluice wait "$child" >"$2.out" 2>"$2.err"
echo $? >"$2.code"
END
cat >middle.sh <<'END'
child=$(sluice add --json --agent quick hi | sed 's/.*"tasks":\[{"id":"\([^"]*\)".*/\1/')
sluice wait "$child" >middle.out 2>&1
echo $? >middle.code
END

# --- one slot, a parent that waits for its child -------------------------------------------------------

add --project web -- sh "$tmp/top.sh" child first
parent=$id
rule 't15 the child starts although the one place is taken' soon [ -s begun ]
child=$(cat first.child)
rule 't15 no limit is exceeded: one place is held' [ "$("$SLUICE" status --json | first used)" = 1 ]
run sluice show --json "$parent"
has '"phase":"waiting"' 'the parent waits'
has "\"lends_to\":\"$child\"" 'and says whom it lends to'
run sluice show --json "$child"
has "\"borrows_from\":\"$parent\"" 'the child says whose place it has'
run sluice list
has "lends to $child" 'so does the list'
run sluice show "$parent"
has "lends its place to $child" 'and the sheet of the task'
add --project web -- true
other=$id
run sluice why "$other"
has 'lease:runs' 'for others the place is taken'
unblock go
rule 't15 both come to their end' becomes "$parent" 'done'
rule 'the wait was answered with the end of the child' [ "$(cat first.code) $(cat first.out)" = "0 $child is done" ]
rule 'and then the next one has its turn' becomes "$other" 'done'

# --- the daemon is killed during the wait --------------------------------------------------------------

rm -f begun
add --project web -- sh "$tmp/top.sh" child second
parent=$id
soon [ -s begun ]
kill -9 "$(pid_of_daemon)"
start
child=$(cat second.child)
run sluice show --json "$child"
has "\"borrows_from\":\"$parent\"" 'the next daemon knows whose place it is'
run sluice wait --timeout 0 "$child"
exits 5 'the child lives'
becomes "$parent" running
unblock go
rule 't15 and both come to their end all the same' becomes "$parent" 'done'
rule 'the wait has outlived the daemon' [ "$(cat second.code) $(cat second.out)" = "0 $child is done" ]

# --- a chain -------------------------------------------------------------------------------------------

add --project web -- sh "$tmp/top.sh" parent third
rule 't15 a child that waits for a child of its own lends what it has borrowed' becomes "$id" 'done'
rule 'each was answered' [ "$(cat third.code) $(cat middle.code)" = '0 0' ]

# --- with the tool of the MCP server ---------------------------------------------------------------------

# An agent that uses MCP: it adds a child, waits for its end, and continues.
cat >tool.sh <<'END'
cd "$(dirname "$0")" || exit 1
child=$(sluice add --json --agent child hi | sed 's/.*"tasks":\[{"id":"\([^"]*\)".*/\1/')
mkfifo to-server from-server
sluice mcp <to-server >from-server 2>tool.err &
exec 3>to-server 4<from-server
printf '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"task_wait","arguments":{"tasks":["%s"],"timeout_s":3600}}}\n' "$child" >&3
while read -r line <&4; do
    echo "$line" >>tool.out
    case $line in *'"id":1'*) break ;; esac
done
exec 3>&-
wait
END
rm -f begun
add --project web -- sh "$tmp/tool.sh"
rule 't15 task_wait lends the place, too' soon [ -s begun ]
unblock go
rule 'and is answered when it is back' becomes "$id" 'done'
rule 'with the end of the child' grep -qF '\"ended\":true' tool.out

# --- which tasks a run may wait for ---------------------------------------------------------------------

add --project web --hold -- true
stranger=$id
cat >stranger.sh <<'END'
cd "$(dirname "$0")" || exit 1
sluice wait "$1" >stranger.out 2>stranger.err
echo $? >stranger.code
sluice wait "$SLUICE_TASK" >self.out 2>self.err
echo $? >self.code
END
add --project web -- sh "$tmp/stranger.sh" "$stranger"
becomes "$id" 'done'
rule 'a run waits for no stranger' [ "$(cat stranger.code)" = 4 ]
rule 'and is told why' grep -qF "is not below '$id'" stranger.err
rule 'nor for itself' [ "$(cat self.code)" = 4 ]
finish
