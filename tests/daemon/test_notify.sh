#!/bin/sh
# Commands and the desktop: users are notified of the events they selected, once, and of no others.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"

# A fake desktop: only the address of its bus, and a script as notify-send.
mkdir bin
cat >bin/notify-send <<END
#!/bin/sh
printf '%s|' "\$DBUS_SESSION_BUS_ADDRESS" "\$@" >>'$tmp/popups'
echo >>'$tmp/popups'
END
chmod +x bin/notify-send
PATH=$tmp/bin:$PATH DBUS_SESSION_BUS_ADDRESS=unix:path=$tmp/bus NOT_FOR_OTHERS=secret
export PATH DBUS_SESSION_BUS_ADDRESS NOT_FOR_OTHERS
: >popups
cat >record.sh <<'END'
printf '%s\n' "$SLUICE_NOTIFY_JSON" >>"$1.json"
env >"$1.env"
# Written last, because the test waits for it.
printf '%s %s %s (%s) %s\n' "$SLUICE_NOTIFY_KIND" "$SLUICE_TASK" "$SLUICE_NOTIFY_ID" "$SLUICE_NOTIFY_REASON" \
    "$SLUICE_NOTIFY_TEXT" >>"$1"
[ ! -e "$1.fail" ]
END
: >told
config "projects: {web: }
breaker: {max: 1, reset_s: never}
notify: {command: 'sh $tmp/record.sh $tmp/told'}"
start

set_to() {
    "$SLUICE" config set "$@" >/dev/null || echo "# config set $* failed"
}
kinds() { # the notifications, in order
    cut -d ' ' -f 1,2 told | tr '\n' ',' | sed 's/,$//'
}

# --- notify.command -------------------------------------------------------------------------------------

add --project web --title 'paint the door' -- true
first=$id
rule 'notify.command is run when a task is done' appears "done $first" told
rule 'with a sentence for people' grep -qF -e "'$first' is done: paint the door" told
rule 'and everything as JSON' grep -qF -e "\"kind\":\"done\",\"text\":\"'$first' is done: paint the door\",\"task\":\"$first\",\"project\":\"web\"" told.json
rule 'what the daemon keeps in its environment is not for it' [ "$(grep -c NOT_FOR_OTHERS told.env)" = 0 ]
add --project web -- /nowhere/at/all
appears "failed $id" told
rule 'a breaker that fails its task is told once, as a failure' [ "$(kinds)" = "done $first,failed $id" ]
second=$id
add --project web --until external -- true
rule 'one that somebody must close needs a person' appears "needs-person $id" told
"$SLUICE" close "$id" >/dev/null
appears "done $id" told
third=$id

kill -9 "$(pid_of_daemon)"
"$SLUICE" up >/dev/null 2>&1
add --project web -- true
appears "done $id" told
rule 'after kill -9 at most the last one is told again' \
    [ "$(grep -c "done $first" told) $(grep -c "failed $second" told) $(grep -c "needs-person $third" told)" = '1 1 1' ]
rule 'and its breaker nobody at all' [ "$(grep -c "needs-person $second" told)" = 0 ]

set_to 'notify.events=failed'
add --project web -- true
becomes "$id" 'done'
add --project web --retries 0 -- false
appears "failed $id" told
rule 'notify.events: nothing is told that nobody wants' [ "$(tail -n 2 told | cut -d ' ' -f 1 | tr '\n' ' ')" = 'done failed ' ]
run sluice config set notify.events=everything
exits 2 'a word that is none is refused'

# A task that fails only because of its dependency is not reported.
set_to dependencies.on_failure=fail
add --project web --hold --retries 0 -- false
cause=$id
add --project web --after "$cause" -- true
"$SLUICE" release "$cause" >/dev/null
becomes "$id" failed
add --project web --retries 0 -- false
appears "failed $id" told
rule 'a failure that follows from another one is not told' [ "$(tail -n 2 told | cut -d ' ' -f 1,2 | tr '\n' ' ')" = "failed $cause failed $id " ]

: >told.fail
add --project web --retries 0 -- false
rule 'a command that fails is in the log' appears 'notify.command ended with exit code 1' "$home/sluice.log"
rm told.fail
add --project web --retries 0 -- false
rule 'and the next one is told' appears "failed $id" told

# --- notify.desktop -------------------------------------------------------------------------------------

rule 'the desktop is off until somebody switches it on' [ ! -s popups ]
set_to notify.desktop=true notify.command= notify.events='done failed'
add --project web --title '<b>bold</b> & "brave"' -- true
rule 'notify.desktop shows it' appears "'$id' is done" popups
rule 'marks in it are text' grep -qF -e "|Sluice: done|'$id' is done: &lt;b&gt;bold&lt;/b&gt; &amp; \"brave\"|" popups
rule 'on the bus of the session' grep -qF -e "unix:path=$tmp/bus|--app-name=Sluice|--urgency=normal|--|" popups
add --project web --retries 0 -- false
rule 'a failure is urgent' appears '--urgency=critical' popups
rm bin/notify-send
add --project web -- true
rule 'without a notify-send that works that is in the log, and nothing else suffers' appears 'notify.desktop' "$home/sluice.log"
becomes "$id" 'done'
finish
