#!/bin/sh
# The daemon is killed while an agent works, and the agent ends without a daemon: the next daemon reads its
# output, and books it once.
# shellcheck disable=SC1091,SC2154 # kit.sh sets id, work, accounts
. "$(dirname "$0")/kit.sh"
service ok
config "$accounts"
start
mkfifo "$work/$wait_for"

begun() { [ -n "$(tools)" ]; }
ended() { [ -e "$home/runs/$id/1/end.json" ]; }

for agent in claude codex; do
    : >"$stub/requests"
    scenes "tool cat $wait_for" 'ok It is done.'
    add --agent $agent --retries 0 --cwd "$work" 'Wait for me.'
    rule "$agent: it works" soon begun
    pid=$(pid_of_daemon)
    kill -9 "$pid"
    is_gone "$pid"
    unblock "$work/$wait_for"
    rule "$agent: it ends without a daemon" soon ended
    "$SLUICE" up >/dev/null 2>&1
    rule "$agent: the next daemon knows that it is done" becomes "$id" 'done'
    rule "$agent: by its own word" [ "$(of "$id" "t['runs'][0]['message']")" = 'It is done.' ]
    rule "$agent: in one attempt" [ "$(of "$id" "len(t['runs'])")" = 1 ]
    rule "$agent: every token is booked once" \
        [ "$(booked "$id" in) $(booked "$id" out)" = "$(charged in) $(charged out)" ]
done
finish
