#!/bin/sh
# sluice bus: messages in files, with a daemon and without one.
# shellcheck disable=SC2154 # lib.sh and daemon.sh set home, id, root and tmp
. "$(dirname "$0")/lib.sh"
. "$here/daemon.sh"

# Without a daemon.
run sluice bus post --project web --type FACT 'the build passes'
exits 0 'post without a daemon: exit code'
rule 'post prints the id' grep -qE '^MSG-[0-9]{8}-[0-9]{6}-[0-9]{9}-PID[0-9]{5,}-[0-9]{4}$' out
first=$(cat out)
printf 'line one\n---\n...\nline four\n\n' | "$SLUICE" bus post -p web -m a=1 -m b=2 --issue 7 --parent "$first" --link x - >out
run sluice bus read --project web --json
exits 0 'read: exit code'
has '"type":"FACT","project":"web","task":null,"run":null,"issue":null,"parents":null,"links":null,"meta":null,"body":"the build passes"}' 'read: all members'
has '"issue":"7","parents":[{"msg_id":"'"$first"'"}],"links":["x"],"meta":{"a":"1","b":"2"},"body":"line one\n---\n...\nline four"}]}' 'a body with marks comes back as it was'
run sluice bus read -p web --tail 1
[ "$(sed 's/^....-..-.. ..:..:..  //' out)" = "INFO       -  line one
    ---
    ...
    line four" ]
report $? 'read as text'
run sluice bus read -p web --type FACT
rule '--type' [ "$(wc -l <out)" = 1 ]
run sluice bus read -p web --since "$first" --json
has '{"items":[{"msg_id"' '--since leaves out what is before'
grep -q 'the build passes' out
[ $? = 1 ]
report $? 'and the message itself'
run sluice bus read -p web --since MSG-1
exits 1 '--since of a message that is not there: exit code'
says "sluice: there is no message 'MSG-1' in '$home/bus/web.md'" '--since of a message that is not there'
run sluice bus read -p nothing --json
prints '{"items":[]}' 'no messages'
run sluice bus post --project web --json x
rule 'post --json' grep -qE '^\{"msg_id":"MSG-[^"]*"\}$' out

# Messages of agents are printed without terminal control sequences.
run sluice bus post -p evil "$(printf 'a\033]0;title\007b\033[2Jc')"
run sluice bus read -p evil
[ "$(grep -c "$(printf '\033')" out)" = 0 ] && grep -q 'abc$' out
report $? 'escapes are taken out'

# Usage errors.
run sluice bus post 'to whom'
exits 2 'no bus: exit code'
rule 'no bus' grep -q "^sluice: '--project' or '--task' is required$" err
run sluice bus post -p web ''
exits 2 'an empty message: exit code'
says 'sluice: the message is empty' 'an empty message'
run sluice bus post -p web --type 'two words' x
exits 2 'a type of two words'
run sluice bus post -p web --meta novalue x
exits 2 'meta without a value'
head -c 65537 /dev/zero | tr '\0' x >large
run sh -c "'$SLUICE' bus post -p web - <large"
exits 2 'a message that is too long: exit code'
says 'sluice: the message has 65537 bytes; the maximum is 65536. Put the text in a file and post its path' 'a message that is too long'
run sh -c "printf 'a\0b' | '$SLUICE' bus post -p web -"
exits 2 'a NUL'
run sluice bus post --task web-1 x
exits 3 'a task of which nobody knows the project: exit code'
says "sluice: no daemon is running, so the project of 'web-1' is unknown: give '--project'" 'a task of which nobody knows the project'
run sluice bus read -p web --tail x
exits 2 '--tail without a number'
run sluice bus read -p web --tail 1 --since x
exits 2 '--tail and --since'
mkdir -p "$home/bus/dir.md"
run sluice bus post -p dir x
exits 1 'a folder in the place of the file'
run sluice bus read --help
has 'usage: sluice bus read' '--help'

# Inside a run the default is the bus of its task; with --project that of its project.
export SLUICE_TASK=web-7 SLUICE_PROJECT=web SLUICE_RUN=web-7.2
run sluice bus post --type PROGRESS 'half way'
run sluice bus read --json
has '"type":"PROGRESS","project":"web","task":"web-7","run":"web-7.2"' 'inside a run its own task is meant'
rule 'in the file of the task' [ -s "$home/bus/web/web-7.md" ]
run sluice bus post --project web 'for all'
run sluice bus read --project web --tail 1 --json
has '"project":"web","task":"web-7","run":"web-7.2"' 'on the bus of the project it says who it is'
env -u SLUICE_HOME SLUICE_BUS="$tmp/elsewhere" "$SLUICE" bus post 'by SLUICE_BUS' >out
rule 'SLUICE_BUS says where, if there is no SLUICE_HOME' [ -s "$tmp/elsewhere/web/web-7.md" ]
unset SLUICE_TASK SLUICE_PROJECT SLUICE_RUN
run sluice bus read --task web-7 --tail 1
rule 'the project of a task that has messages is found without a daemon' grep -q 'web-7.2  half way$' out

# Torn messages.
printf -- '---\nmsg_id: T\n---\nhal' >>"$home/bus/web/web-7.md"
run sluice bus read --task web-7
[ "$(wc -l <out)" = 1 ] && [ ! -s err ]
report $? 'a torn tail is not shown'
run sluice bus post -p web -t web-7 next
run sluice bus read --task web-7
rule 'and swallows nothing' [ "$(wc -l <out)" = 2 ]
skipped says "sluice: 1 tamaged or foreign messages in '$home/bus/web/web-7.md'" 'it is said'

# Counts.
run sluice bus stats --json
has '"messages":' 'stats'
rule 'no retries' grep -qE '"retries":0' out
run sluice bus stats -p web
rule 'stats of one bus' [ "$(tail -n 1 out)" = "$(printf '%10d  bytes in its file' "$(wc -c <"$home/bus/web.md")")" ]

# Following.
mkfifo seen
"$SLUICE" bus read -f -p later >seen & # may start before or after the first message
follower=$!
exec 3<seen
run sluice bus post -p later one
read -r line <&3
case $line in *one) true ;; *) false ;; esac
report $? 'follow: a file that was not there'
mv "$home/bus/later.md" old
run sluice bus post -p later two
read -r line <&3
case $line in *two) true ;; *) false ;; esac
report $? 'follow: a file that was moved away'
exec 3<&-
rule 'follow ends when nobody reads' wait $follower

# With a daemon.
start
run sluice project add web
run sluice bus post -p wbe x
exits 1 'a project that the daemon does not know: exit code'
says "sluice: there is no project 'wbe'; did you mean 'web'?" 'a project that the daemon does not know'
add --project web -- true
run sluice bus post --task 1 'by number'
run sluice bus read --task web-1
has 'by number' 'a task by its number alone'
run sluice bus post --task web-99 x
exits 1 'a task that is not there'
run sluice project add api
run sluice bus post --project api --task web-1 x
says "sluice: task 'web-1' belongs to project 'web', not to 'api'" 'a task of another project'
finish
