#!/bin/sh
# Transcripts of agents in logs, run, status and the API. --raw prints the original bytes.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"
recordings=$root/tests/fixtures/agents
mkdir bin plays hostile
for agent in claude codex gemini; do
    ln -s "$root/tests/daemon/replay-agent" "bin/$agent"
done
ln -s "$root/tests/daemon/hostile-agent" hostile/claude
cat >hostile/half <<'END'
#!/bin/sh
# Prints an event in two halves.
cat >/dev/null
printf '{"type":"assistant","message":{"content":[{"text":"One."}]}}\n{"type":"assistant","message":{"content":[{"te'
read -r _ <"$HALF_GO"
printf 'xt":"Two."}]}}\n{"type":"result","is_error":false,"result":"Two."}\n'
END
chmod +x hostile/half
mkfifo go half
PATH=$tmp/bin:$PATH
PLAYS=$tmp/plays
export PATH PLAYS
config "logs.tail_mb: 64
agents:
  claude: {env: ['PLAYS=$tmp/plays', 'RECORDINGS=$recordings'], linger_s: 0.2}
  codex: {env: ['PLAYS=$tmp/plays', 'RECORDINGS=$recordings']}
  gemini: {env: ['PLAYS=$tmp/plays', 'RECORDINGS=$recordings']}
  half: {adapter: claude, command: '$tmp/hostile/half', env: ['HALF_GO=$tmp/half']}
  wild: {adapter: claude, command: '$tmp/hostile/claude', env: ['HOSTILE_MB=20', 'HOSTILE_GO=$tmp/go']}"
start

play() { # ID ATTEMPT SCENARIO...
    what=$1.$2
    shift 2
    echo "$*" >"plays/$what"
}

hold() { # AGENT
    add --hold --agent "$1" 'mend it'
}

transcript_of() { # AGENT SCENE
    awk -v scene="== $2" '/^== / { on = $0 == scene; next } on' "$root/tests/fixtures/transcripts/$1.txt"
}

# --- logs -----------------------------------------------------------------------------------------

hold claude
play "$id" 1 claude/tool-ok
"$SLUICE" release "$id" >/dev/null
"$SLUICE" logs -f "$id" >followed 2>err
becomes "$id" 'done'
transcript_of claude tool-ok >want
compare want followed 'logs -f: what the agent says and does'
run sluice logs "$id"
compare want out 'logs: the same'
run sluice logs --raw "$id"
compare "$recordings/claude/tool-ok/stdout" out 'logs --raw: byte by byte'
run sluice logs --tail 2 "$id"
tail -n 2 want >last
compare last out 'logs --tail: lines of the transcript'
run sluice logs --tail 99 "$id"
compare want out 'logs --tail: more than there are'
run sluice logs --tail 0 "$id"
rule 'logs --tail 0' [ ! -s out ]
run sluice logs --json "$id"
has '"text":"{\"type\":\"system\"' 'logs --json: the text of the log, as before'

# Each family of agents has its own renderer.
hold codex
play "$id" 1 codex/tool
"$SLUICE" release "$id" >/dev/null
ends "$id"
becomes "$id" 'done'
run sluice logs "$id"
transcript_of codex tool >want
compare want out 'logs: another agent'

# --- the API ---------------------------------------------------------------------------------------

api() { # PATH
    curl -sS --max-time "$patience" --unix-socket "$home/sluice.sock" -D headers "http://sluice$1" >out
}
api "/v1/tasks/$id/log"
compare "$recordings/codex/tool/stdout" out 'the API: bytes, unless text is asked for'
rule 'the API: whose events they are' grep -qi '^X-Sluice-Adapter: codex' headers
api "/v1/tasks/$id/log?format=text"
compare want out 'the API: format=text'
rule 'the API: text is text' grep -qi '^Content-Type: text/plain' headers
api "/v1/tasks/$id/log?format=text&tail=200"
printf '[done, 8624 tokens in, 50 out]\n' >want
compare want out 'the API: a tail begins with a complete line'
api "/v1/tasks/$id/log?format=html"
has "'format'" 'the API: an unknown format is refused'

# --- run -------------------------------------------------------------------------------------------

hold gemini # the next number is that of the task that run adds
first_number=${id##*-}
next=${id%-*}-$((first_number + 1))
play "$next" 1 gemini/tool
run sluice run --agent gemini 'mend it'
exits 0 'run: exit code'
transcript_of gemini tool >want
compare want out 'run: what the agent says and does'
play "${id%-*}-$((first_number + 2))" 1 gemini/tool
run sluice run --raw --agent gemini 'mend it'
compare "$recordings/gemini/tool/stdout" out 'run --raw: byte by byte'
run sluice run -- printf '{"type":"assistant","message":{"content":[{"text":"x"}]}}\n\033[1m'
printf '{"type":"assistant","message":{"content":[{"text":"x"}]}}\n\033[1m' >want
compare want out 'run: a command of our own is printed as it is'

# On a terminal it has colours; nowhere else.
needs script
play "${id%-*}-$((first_number + 4))" 1 gemini/tool
run env TERM=xterm script -qec "'$SLUICE' run --agent gemini 'mend it'" /dev/null
rule 'run: colours on a terminal' grep -qF "$(printf '\033[36m> run_shell_command: echo stub > out.txt; cat out.txt\033[0m')" out
play "${id%-*}-$((first_number + 5))" 1 gemini/tool
run env TERM=xterm NO_COLOR=1 script -qec "'$SLUICE' run --agent gemini 'mend it'" /dev/null
rule 'run: no colours with NO_COLOR' grep -qx "> run_shell_command: echo stub > out.txt; cat out.txt.*" out

# --- a live run -------------------------------------------------------------------------------------

hold claude
play "$id" 1 claude/sigterm 0 stay
"$SLUICE" release "$id" >/dev/null
said_of() { # COMMAND...
    "$@" --json | grep -F '"last_line":"> Bash: echo stub > out.txt; cat out.txt"' >/dev/null
}
rule 'status: the last line of a live run' soon said_of "$SLUICE" status
rule 'list: the same' said_of "$SLUICE" list
rule 'show: the same' said_of "$SLUICE" show "$id"
run sluice cancel "$id"
becomes "$id" canceled

# The daemon is restarted in the middle of an event: following continues at the next byte.
add --agent half 'mend it'
"$SLUICE" logs -f "$id" >followed 2>err &
follower=$!
appears 'One.' followed
"$SLUICE" down >/dev/null 2>&1
"$SLUICE" up >/dev/null 2>&1
unblock half
wait $follower
printf 'One.\nTwo.\n[done]\n' >want
compare want followed 'following over a restart in the middle of an event'

# --- harm ------------------------------------------------------------------------------------------

add --agent wild 'mend it'
"$SLUICE" logs -f "$id" >followed 2>err &
follower=$!
appears 'All done.' followed
peak=$(sed -n 's/^VmHWM:[[:space:]]*\([0-9]*\) kB/\1/p' "/proc/$follower/status")
unblock go
wait $follower
echo "# peak memory of logs -f: $peak KiB"
most=20480
[ -z "${ASAN_OPTIONS-}" ] || most=$((most + 512 * 1024)) # shadow memory, and the quarantine of what was freed
rule 'a hostile log needs no memory' test "${peak:-999999}" -lt "$most"
for text in 'Before the flood.' 'Behind a long text.' 'Behind the depth.' 'Behind the keys.' 'Behind the raw line.' \
    '> Bash: ls' 'All done.' '[done, 5 turns]'; do
    rule "a hostile log stays readable: $text" grep -qxF -e "$text" followed
done
rule 'a hostile log: no control character' sh -c '! LC_ALL=C tr -d "\n\t" <followed | LC_ALL=C grep -q "[[:cntrl:]]"'
rule 'a hostile log: valid UTF-8' sh -c 'iconv -f UTF-8 -t UTF-8 followed >/dev/null'
rule 'a hostile log is short' test "$(wc -c <followed)" -lt 200000
finish
