#!/bin/sh
# A schedule polls a tracker: each issue is added once and updated once, also when the daemon is killed in the middle of a poll, and each result is
# written back once. docs/guide/import.md.
#
# TEST_SLUICED is a copy of the daemon whose clock the test sets (tests/harness/test_clock.c).
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"
mkdir bin clock
for name in sluice sluice-shim sluice-acp; do
    cp "$(dirname "$SLUICE")/$name" bin/
done
cp "${TEST_SLUICED:?is not set}" bin/sluiced
SLUICE=$tmp/bin/sluice SLUICE_TEST_CLOCK=$tmp/clock
export SLUICE SLUICE_TEST_CLOCK
# A minute after a due time: time that passes in the test brings no other.
ahead=$(((660 - $(date +%s) % 600) * 1000))
echo $ahead >clock/ahead
later() { # SECONDS
    ahead=$((ahead + $1 * 1000))
    echo $ahead >clock/next
    mv clock/next clock/ahead
}

cat >tracker <<'END'
#!/bin/sh
# The fake tracker: prints its issues, after a line from the fifo if there is one.
cat "$(dirname "$0")/issues"
if [ -p "$(dirname "$0")/go" ]; then
    : >"$(dirname "$0")/waits"
    read -r _ <"$(dirname "$0")/go"
fi
END
chmod +x tracker
: >told
config "agents: {echo: {command: [cat], adapter: plain}}
projects:
  web: {on_end: 'sh -c \"cat >>$tmp/told\"'}
  private:
  polls:"
start
"$SLUICE" pause web >/dev/null
poll() {
    "$SLUICE" schedule show poll --json | first "$1"
}
polled() { # COUNT: that many polls have fired, and the last one is done
    [ "$(poll fired)" = "$1" ] && [ "$("$SLUICE" show "$(poll last_task)" --json | first state)" = 'done' ]
}
events() { # KIND ID
    "$SLUICE" events --task "$2" --json | grep -o "\"kind\":\"$1\"" | wc -l
}

echo '{"id":"acme/web#7","title":"The login fails"}
{"id":"acme/web#8","title":"Test the login","depends_on":["acme/web#7"]}' >issues
run sluice schedule add poll --every 10m --imports web -p polls -P 50 -- "$SLUICE" import command --agent echo --cancel-closed -- "$tmp/tracker"
exits 0 'a schedule may poll'
later 600
rule 'at its due time it imports' soon polled 1
run sluice show acme/web#7 --json
has '"title":"The login fails"' 'the issue is a task'
has '"project":"web"' 'of the project that its task may import into'
has '"parent":null' 'and of no other task'
first=$("$SLUICE" show acme/web#7 --json | first id)
second=$("$SLUICE" show acme/web#8 --json | first id)

# The second poll: one issue is new, one has another title, one is closed. The daemon is killed while the tracker answers.
echo '{"id":"acme/web#7","title":"The login fails on Tuesdays"}
{"id":"acme/web#8","title":"Test the login","state":"closed"}
{"id":"acme/web#9","title":"Log out"}' >issues
mkfifo go
later 600
rule 'it polls again' soon test -e waits
daemon=$(pid_of_daemon)
kill -9 "$daemon"
is_gone "$daemon"
start
later 600
skipped() {
    [ "$(poll skipped)" -ge 1 ]
}
rule 'a due time while a poll is running is skipped' soon skipped
unblock go
rm go
rule 'the poll goes on after a kill of the daemon' soon polled 2
run sluice show "$first" --json
has '"title":"The login fails on Tuesdays"' 'and updates the issue that has changed'
rule 'once' [ "$(events task.edited "$first")" = 1 ]
rule 'a closed issue is canceled' becomes "$second" canceled
third=$("$SLUICE" show acme/web#9 --json | first id)
rule 'the new issue is added' [ -n "$third" ]

# The third poll finds nothing new.
last=$(last_event)
later 600
rule 'it polls a third time' soon polled 3
rule 'and changes no issue' [ "$("$SLUICE" events --after "$last" --json | grep -c -e "\"$first\"" -e "\"$second\"" -e "\"$third\"")" = 0 ]
rule 'each issue is one task' [ "$("$SLUICE" list -p web --state all --ids | wc -l)" = 3 ]

"$SLUICE" resume web >/dev/null
rule 'a result is written back' appears "\"task\":\"$first\"" told
rule 'of each issue' appears "\"task\":\"$third\"" told
becomes "$first" 'done'
becomes "$third" 'done'
rule 'once, and of issues alone' [ "$(sed 's/.*"external_id":"\([^"]*\)".*/\1/' told | sort | tr '\n' ' ')" = 'acme/web#7 acme/web#8 acme/web#9 ' ]
later 600
rule 'a poll after that' soon polled 4
rule 'leaves what has ended alone' [ "$(wc -l <told)" = 3 ]

# --- without the right ---------------------------------------------------------------------------------

"$SLUICE" schedule pause poll >/dev/null
add -p web --retries 0 -- "$SLUICE" import command --agent echo -p web -- "$tmp/tracker"
rule 'a run without the right cannot import' becomes "$id" failed
run sluice logs --err "$id"
has "'external_id'" 'and is told why'
echo '{"id":"acme/web#10","title":"x","project":"private"}' >issues
add -p polls --retries 0 --imports web -- "$SLUICE" import command --agent echo -- "$tmp/tracker"
rule 'a run with it cannot import into another project' becomes "$id" failed
run sluice logs --err "$id"
has "may not import into 'private'" 'and is told why'
rule 'nothing is there' [ -z "$("$SLUICE" list -p private --state all --ids)" ]
echo '{"id":"acme/web#10","title":"x","argv":["id"]}' >issues
add -p polls --retries 0 --imports web -- "$SLUICE" import command --agent echo -- "$tmp/tracker"
rule 'an issue names no command' becomes "$id" failed
echo '{"id":"acme/web#10","title":"x","priority":10}' >issues
add -p polls --retries 0 --imports web -- "$SLUICE" import command --agent echo -- "$tmp/tracker"
rule 'and does not go before the poll' becomes "$id" failed
run sluice schedule add agent --every 1h --imports web --agent echo 'import what you like'
exits 2 'an agent cannot import'
run sluice schedule add nowhere --every 1h --imports nowhere -- true
complains "no project 'nowhere'" 'nor a command into a project that does not exist'
finish
