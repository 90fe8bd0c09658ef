#!/bin/sh
# sluice-acp with an agent that speaks the protocol well or badly; what `sluice debug outcome` makes of the log.
# shellcheck disable=SC1091,SC2154 # lib.sh sets code, here and tmp
. "$(dirname "$0")/../cli/lib.sh"
needs python3

client=$(dirname "$SLUICE")/sluice-acp
agent=$here/agent
export ACP_SEEN="$tmp/seen"

# What became of a run; PROMPT is "SCENE WORDS…". Sets $code, fills out (the outcome), log and err.
talk() { # PROMPT [CLIENT-OPTION...] [-- AGENT-WORD]
    prompt=$1
    shift
    options=
    while [ $# -gt 0 ] && [ "$1" != -- ]; do
        options="$options $1"
        shift
    done
    [ $# -eq 0 ] || shift
    : >"$tmp/seen"
    # shellcheck disable=SC2086 # options are a list
    printf %s "$prompt" | timeout -k 10 "$patience" "$client" $options -- "$agent" "$@" >"$tmp/log" 2>"$tmp/err"
    code=$?
    "$SLUICE" debug outcome --agent acp --exit "$code" --stderr "$tmp/err" "$tmp/log" >"$tmp/out"
}

became() { # OUTCOME MESSAGE 'what'
    grep -qF "{\"outcome\":\"$1\"," "$tmp/out" && grep -qF "\"message\":\"$2" "$tmp/out"
    report $? "$3"
}

sent() { # TEXT 'what'
    rule "$2" grep -qF -e "$1" "$tmp/seen"
}

logged() { # TEXT 'what'
    rule "$2" grep -qxF -e "$1" "$tmp/log"
}

# --- a turn that goes well ---------------------------------------------------------------------------------

talk ok
exits 0 'end_turn: exit code'
became ok 'All is well.' 'end_turn is a success, and its message is put together'
has '"session":"sess-1"' 'the id of the session'
has '"tokens":{"in":null,"out":null,"cached":null},"cost_usd":null' 'tokens and cost are unknown without a report'
sent '"method":"initialize","id":1,"params":{"protocolVersion":1,"clientCapabilities":{"fs":{"readTextFile":false,"writeTextFile":false},"terminal":false}' \
    'initialize offers neither files nor terminals'
sent "\"method\":\"session/new\",\"id\":2,\"params\":{\"cwd\":\"$tmp\",\"mcpServers\":[]}" 'session/new names the folder'
talk usage
has '"tokens":{"in":4312,"out":25,"cached":4000},"cost_usd":0.045' 'tokens and cost, where the agent reports them'
head -c 3000000 /dev/zero | tr '\0' 'y' >long
{ printf 'size ' && cat long; } | "$client" -- "$agent" >"$tmp/log" 2>"$tmp/err"
rule 'a prompt of 3 MB' grep -qF '"text": "3000005"' "$tmp/log"
talk stay
became ok 'All is well.' 'an agent that does not exit when its input ends is stopped'
talk large
became ok 'All is well.' 'a message of 8 MB'

# --- mode, model, authentication, sessions -------------------------------------------------------------------

talk ok --mode=code --model=large
sent '"method":"session/set_mode","id":3,"params":{"sessionId":"sess-1","modeId":"code"}' 'the mode is set'
sent '"method":"session/set_config_option","id":4,"params":{"sessionId":"sess-1","configId":"the-model","value":"large"}' \
    'the model is set'
talk ok --mode=yolo
became failed "the agent has no mode 'yolo'; its modes: ask, code" 'a mode that the agent does not have'
talk ok -- login
became auth 'Authentication required (authentication methods of the agent: browser, key)' 'an agent that is not logged in'
talk ok --auth-method=key -- login
became ok 'All is well.' 'authenticate with the configured method'
talk ok --resume=sess-1 -- load
became ok 'All is well.' 'session/load'
sent '"method":"session/load","id":2,"params":{"sessionId":"sess-1","cwd":' 'session/load names the session'
rule 'what session/load replays is not in the log' not grep -q 'said before' "$tmp/log"
talk ok --resume=sess-1 -- resume
sent '"method":"session/resume"' 'session/resume is preferred'
talk ok --resume=gone -- load
logged '{"acp":"lost","session":"gone","message":"Resource not found"}' 'a session that is gone'
talk ok --resume=sess-1
logged '{"acp":"lost","session":"sess-1","message":"the agent cannot load a session"}' 'an agent that cannot load sessions'
rule 'and the prompt is not sent to a new one' not grep -q session/prompt "$tmp/seen"
talk ok -- future
became failed 'the agent speaks version 2 of the Agent Client Protocol; Sluice speaks version 1' 'another version'

# --- permissions -----------------------------------------------------------------------------------------------

talk 'run touch made' --permissions=allow
became ok 'I have done it.' 'allow: a command'
logged '{"acp":"allowed","tool":"execute","argument":"touch made"}' 'what was allowed is in the log'
rule 'allow: the command ran' [ -e made ]
rm -f made
for policy in deny edits; do
    talk 'run touch made' --permissions=$policy
    became denied 'I have done it.' "$policy: a denied command is not a success, whatever the agent says"
    logged '{"acp":"denied","tool":"execute","argument":"touch made"}' "$policy: tool and argument are in the log"
    rule "$policy: the command did not run" [ ! -e made ]
done
talk 'run touch made'
became denied 'I have done it.' 'without a policy everything is denied'
talk "edit $tmp/file" --permissions=edits
became ok do-allow_once 'edits: a file in the folder'
talk "edit $tmp/../file" --permissions=edits
became denied do-reject_once 'edits: not through ..'
talk "edit ${tmp}x/file" --permissions=edits
became denied do-reject_once 'edits: not a folder with a longer name'
talk "edit /etc/passwd" --permissions=deny
became denied do-reject_once 'deny: no edits'
talk halt --permissions=deny
became denied 'not permitted: execute: rm -rf build' 'an agent that cancels its turn because of it is denied, not canceled'
talk always --permissions=allow
became ok do-allow_always 'allow_always where there is no other option'
talk always --permissions=deny
became denied do-reject_always 'reject_always where there is no other option'
talk stuck --permissions=allow
became denied cancelled 'a request without options cannot be allowed'
talk files --permissions=allow
became ok '[-32601, -32601, -32601]' 'methods that were not offered are refused'

talk "edit $tmp/file" --permissions=ask
became ok do-allow_once 'ask: a file in the folder needs no person'
for variable in SLUICE_TASK SLUICE_TOKEN SLUICE_SOCKET SLUICE_PEERS; do
    unset $variable
done
talk 'run touch made' --permissions=ask
became denied 'I have done it.' 'ask: outside of a run nobody can be asked'
logged '{"acp":"denied","tool":"execute","argument":"touch made","message":"this is not a run: SLUICE_TASK, SLUICE_TOKEN or SLUICE_SOCKET is missing"}' \
    'and the log says why'
export SLUICE_TASK=web-1 SLUICE_TOKEN=x SLUICE_SOCKET=https://node:1
talk 'run touch made' --permissions=ask
became denied 'I have done it.' 'ask: nor over TCP'
unset SLUICE_TASK SLUICE_TOKEN SLUICE_SOCKET

# --- how else a turn ends --------------------------------------------------------------------------------------

talk 'stop max_turn_requests'
became max-turns 'I stop.' 'max_turn_requests'
exits 1 'anything but end_turn: exit code'
talk 'stop refusal'
became refused 'I stop.' refusal
talk 'stop max_tokens'
became failed "the agent ended its turn with 'max_tokens'" max_tokens
talk 'stop cancelled'
became cancelled 'I stop.' cancelled
talk 'stop bored'
became failed "the agent ended its turn with 'bored'" 'a reason that is not known is not a success'
talk limit
became limited "You've hit your usage limit. Try again at 11:59 PM." 'a limit'
rule 'and when it ends' not grep -q '"reset_at":null' "$tmp/out"
talk broke
became billing insufficient_quota 'no money left'
talk odd
became failed 'the agent gave no reason' 'an error without a message'

# --- agents that misbehave -------------------------------------------------------------------------------------

talk ok -- early
became crashed 'no: the licence has expired' 'an agent that exits before it has answered'
exits 1 'its exit code'
talk ok -- silent
became crashed 'the agent exited with code 0 before it answered initialize' 'one that exits without a word'
talk leave
became crashed 'the agent exited with code 0 before it answered session/prompt' 'exit code 0 without an answer is not a success'
talk die
became crashed 'out of memory' 'an agent that is killed'
exits 137 'its signal'
talk forge
became crashed 'the agent exited' 'an agent cannot speak for the client'
talk junk
became ok 'All is well.' 'junk between the messages'
talk long
became failed 'a message of the agent is longer than 16 MiB' 'a line without an end'
talk flood
became ok 'All is well.' 'requests in a flood, answers that are not read'
printf ok | "$client" -- "$tmp/none" >"$tmp/out" 2>"$tmp/err"
code=$?
exits 127 'an agent that cannot be started: exit code'
says "sluice-acp: cannot run $tmp/none: No such file or directory" 'an agent that cannot be started'

# --- stopping --------------------------------------------------------------------------------------------------

interrupt() { # SCENE TEXT: starts it, and sends TERM when the log has TEXT
    : >"$tmp/log"
    printf %s "$1" >"$tmp/prompt"
    "$client" -- "$agent" <"$tmp/prompt" >"$tmp/log" 2>"$tmp/err" &
    pid=$!
    appears "$2" "$tmp/log"
    kill "$pid"
}

interrupt wait 'I wait.'
wait $pid
code=$?
exits 1 'TERM: exit code'
logged '{"acp":"end","reason":"cancelled","stopped":true}' 'TERM is session/cancel, and its answer is waited for'
rule 'what the agent says while it stops is in the log' grep -q 'I was interrupted' "$tmp/log"
interrupt deaf 'I do not listen.'
kill $pid
wait $pid
code=$?
exits 137 'an agent that ignores everything is killed'

run "$client" --help
exits 0 '--help: exit code'
has 'usage: sluice-acp' --help
run "$client" --permissions=maybe -- true
exits 2 'a policy that does not exist: exit code'
says 'sluice-acp: unknown option: --permissions=maybe' 'a policy that does not exist'
for word in --ask-wait= --ask-wait=0 --ask-wait=1m --ask-deadline=99999999999; do
    run "$client" $word -- true
    exits 2 "$word: exit code"
done
run "$client" --permissions=deny
exits 2 'no command: exit code'

finish
