#!/bin/sh
# sluice mcp with a real daemon: what an agent sees when it starts it.
# shellcheck disable=SC2034,SC2154 # lib.sh and daemon.sh set home, id, root and tmp, and use code
SLUICE_TESTS=$(cd "$(dirname "$0")/../cli" && pwd)
. "$SLUICE_TESTS/lib.sh"
. "$SLUICE_TESTS/daemon.sh"

# One message a line, all at once; the answers are in the file out.
speak() {
    printf '%s\n' "$@" >"$tmp/in"
    timeout -k 10 "$patience" "$SLUICE" mcp <"$tmp/in" >"$tmp/out" 2>"$tmp/err"
    code=$?
}

meta='"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}'
call() { # ID TOOL ARGUMENTS
    printf '{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"%s","arguments":%s,%s}}' "$1" "$2" "$3" "$meta"
}

# Without a daemon: the protocol needs none.
speak '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{}}}' \
    '{"jsonrpc":"2.0","method":"notifications/initialized"}' \
    '{"jsonrpc":"2.0","id":2,"method":"tools/list"}'
exits 0 'the end of the input ends it'
rule 'one line for each request, none for a notification' [ "$(wc -l <out)" -eq 2 ]
has '"protocolVersion":"2025-06-18"' 'initialize'
has '"name":"queue_task"' 'tools/list'
[ ! -s err ] && [ ! -S "$home/sluice.sock" ]
report $? 'no daemon was started for it'

speak "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/discover\",\"params\":{$meta}}" 'junk' ''
has '"resultType":"complete"' 'discover'
has '"code":-32700' 'a line that is not JSON'
rule 'an empty line is nothing' [ "$(wc -l <out)" -eq 2 ]

printf '{"jsonrpc":"2.0","id":7,"method":"ping"}' | timeout "$patience" "$SLUICE" mcp >out 2>err
has '"id":7,"result":{}' 'the last line needs no newline'

head -c 1200000 /dev/zero | tr '\0' 'x' >"$tmp/long"
{
    cat "$tmp/long"
    printf '\n%s\n' '{"jsonrpc":"2.0","id":1,"method":"ping"}'
} | timeout "$patience" "$SLUICE" mcp >out 2>err
has '"code":-32600' 'a line that is too long'
has '"id":1,"result":{}' 'and the next one'

# With a daemon.
start
run sluice project add web
speak "$(call 1 queue_task '{"argv":["sh","-c","echo hello; exit 0"],"project":"web","title":"first"}')"
has '\"id\":\"web-1\"' 'queue_task'
rule 'the task runs' becomes web-1 'done'
speak "$(call 1 task_wait '{"tasks":["web-1"]}')" "$(call 2 task_status '{"task":"web-1"}')" \
    "$(call 3 task_log '{"task":"web-1"}')" "$(call 4 why '{"task":"1"}')" \
    "$(call 5 list_tasks '{"state":"done","limit":5}')" "$(call 6 status '{}')" \
    "$(call 7 post_message '{"task":"web-1","text":"well done"}')" \
    "$(call 8 task_status '{"task":"web-99"}')" "$(call 9 queue_task '{"argv":[]}')" \
    "$(call 10 report_done '{}')" \
    "{\"jsonrpc\":\"2.0\",\"id\":11,\"method\":\"resources/read\",\"params\":{\"uri\":\"sluice://task/web-1/log\",$meta}}" \
    "{\"jsonrpc\":\"2.0\",\"id\":12,\"method\":\"resources/read\",\"params\":{\"uri\":\"sluice://task/web-99\",$meta}}"
exits 0 'many tools'
line() { # ID TEXT 'what'
    grep "\"id\":$1,\"result\"" "$tmp/out" | grep -qF -e "$2"
    report $? "$3"
}
line 1 '"ended":true' 'task_wait of one that has ended'
line 1 '"exit_code":0' 'and its last run'
line 2 '"state":"done"' 'task_status'
line 3 '"text":"hello\n"' 'task_log'
line 4 '"isError":false' 'why, by its number alone'
line 5 '"title":"first"' 'list_tasks'
line 6 '"counts"' 'status'
line 7 '"isError":false' 'post_message'
line 8 "there is no task 'web-99'" 'a failure is a result'
line 8 '"isError":true' 'that says so'
line 9 '"isError":true' 'bad input'
line 10 'this is not a run of Sluice' 'report_done outside of a run'
line 11 '"text":"hello\n"' 'the log as a resource'
rule 'a resource that is not there' grep -q '"id":12,"error":{"code":-32602' out
run sluice bus read --task web-1
has 'well done' 'the message is on the bus'

# Waiting: woken by an event, with progress.
told() { # TEXT 'what'
    rule "$2" grep -qF -e "$1" answers
}
mkfifo to-server go
"$SLUICE" mcp <to-server >answers 2>err &
server=$!
exec 3>to-server
add --project web -- sh -c "read -r word <'$tmp/go'"
printf '%s\n' "{\"jsonrpc\":\"2.0\",\"id\":\"w\",\"method\":\"tools/call\",\"params\":{\"name\":\"task_wait\",\"arguments\":{\"tasks\":[\"$id\"],\"timeout_s\":3600},\"_meta\":{\"progressToken\":\"t\"}}}" >&3
rule 'progress' appears "$id is" answers
told '"progressToken":"t"' 'with its token'
echo >go
rule 'the end of the task is told' appears '"id":"w","result"' answers
told '\"ended\":true' 'as such'

# An older client subscribes.
updates() { # N: at least N updates of the task have come
    [ "$(grep -c "\"notifications/resources/updated\",\"params\":{\"uri\":\"sluice://task/$id\"}" answers)" -ge "$1" ]
}
add --project web --hold -- true
printf '{"jsonrpc":"2.0","id":"s","method":"resources/subscribe","params":{"uri":"sluice://task/%s"}}\n' "$id" >&3
rule 'resources/subscribe is answered' appears '"id":"s","result":{}' answers
"$SLUICE" release "$id" >/dev/null
rule 'and what happens to the task is told' soon updates 1
becomes "$id" 'done'
printf '{"jsonrpc":"2.0","id":"u","method":"resources/unsubscribe","params":{"uri":"sluice://task/%s"}}\n' "$id" >&3
rule 'until resources/unsubscribe' appears '"id":"u","result":{}' answers
printf '{"jsonrpc":"2.0","id":"s2","method":"resources/subscribe","params":{"uri":"sluice://task/%s"}}\n' "$id" >&3
appears '"id":"s2","result":{}' answers
"$SLUICE" down >/dev/null 2>&1
before=$(grep -c '"notifications/resources/updated"' answers)
start
rule 'a daemon that comes back makes everything that is subscribed worth a look' soon updates $((before + 1))

# A daemon that goes away and comes back.
add --project web -- sh -c "read -r word <'$tmp/go'"
printf '%s\n' "{\"jsonrpc\":\"2.0\",\"id\":\"r\",\"method\":\"tools/call\",\"params\":{\"name\":\"task_wait\",\"arguments\":{\"tasks\":[\"$id\"],\"timeout_s\":3600},\"_meta\":{\"progressToken\":\"u\"}}}" >&3
appears '"progressToken":"u"' answers
"$SLUICE" down >/dev/null 2>&1
start
echo >go
rule 'a restart of the daemon does not end a wait' appears '"id":"r","result"' answers
grep '"id":"r","result"' answers | grep -qF -e '\"ended\":true'
report $? 'and the end of the task is told after it'
exec 3>&-
wait $server
code=$?
exits 0 'the end of the input'

# Who waits does not keep it alive.
add --project web -- tail -f /dev/null
speak "$(call 1 task_wait "{\"tasks\":[\"$id\"],\"timeout_s\":600}")"
exits 0 'the end of the input does not wait for a wait'
rule 'which is not answered' [ ! -s out ]

# Inside a run it is that run.
mkfifo told
printf '%s\n' "$(call 1 add_children '{"children":[{"prompt":"x","agent":"nobody"}]}')" "$(call 2 report_usage '{"tokens_in":1200,"tokens_out":80}')" \
    "$(call 3 report_done '{}')" "$(call 4 post_message '{"text":"from inside"}')" >"$tmp/inside"
add --project web --until 'done' -- sh -c "'$SLUICE' mcp <'$tmp/inside' >'$tmp/inside.out' 2>&1; echo told >'$tmp/told'"
cat told >/dev/null
rule 'report_done ends a task with until: done' becomes "$id" 'done'
cp inside.out out
line 2 '"isError":false' 'report_usage'
line 4 '"isError":false' 'post_message to the own task'
rule 'children for an agent that is not there are refused' grep -q '"id":1,.*"isError":true' out
finish
