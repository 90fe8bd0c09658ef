#!/bin/sh
# Backup and restore: one file, made while tasks run, restores the state.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"
start
mkfifo go
"$SLUICE" project add web --weight 3 >/dev/null
add --project web --title kept --priority 7 --hold -- echo kept
kept=$id
add -- sh -c 'exit 3' # waits before its next attempt
add -- sh -c 'read -r _ <go; echo went on'
living=$id
becomes "$living" running

run sluice backup night.db
exits 0 'a backup while work goes on'
rule 'is there when the command returns' [ -s night.db ]
rule 'and belongs to its owner alone' [ "$(stat -c %a night.db)" = 600 ]
"$SLUICE" list --all --json | sed 's/"run":.*//' >before

# More tasks, and changes that only a restore can undo.
add --project web --title later -- true
later=$id
becomes "$later" 'done'
"$SLUICE" release "$kept" >/dev/null
becomes "$kept" 'done'
"$SLUICE" delete "$kept" >/dev/null
run sluice restore --yes night.db
exits 4 'no restore below a running daemon'
complains "stop it with 'sluice down'" 'which says what to do'
run sluice down
run sluice restore night.db
exits 2 'no restore without --yes'
run sluice restore --yes night.db
exits 0 'restore'
copy=$(sed -n 's/^what was there before: //p' out)
rule 'restore keeps what it replaces' [ -s "$copy" ]
unblock go
run sluice up
exits 0 'the daemon starts with what was restored'
run sluice show --json "$kept"
rule 'what was deleted since is back' [ "$(field title) $(field priority) $(field state)" = 'kept 7 held' ]
run sluice show "$later"
exits 1 'what was added since is gone'
rule 'a run that was live then, and ended meanwhile, is known with its end' becomes "$living" 'done'
run sluice logs "$living"
prints 'went on' 'and its log is there'
run sluice project show web --json
rule 'projects are back' [ "$(field name) $(field prefix)" = 'web web' ]
add -- true
rule 'work goes on' becomes "$id" 'done'

# The replaced store is a backup like any other.
run sluice down
run sluice restore --yes "$copy"
exits 0 'restoring what a restore replaced'
run sluice up
run sluice show --json "$later"
rule 'brings that back' [ "$(field state)" = 'done' ]

# Restoring a file that is not a backup changes nothing.
run sluice down
cp "$home/sluice.db" whole.db
for file in /etc/passwd "$tmp/no-such-file" "$tmp"; do
    run sluice restore --yes "$file"
    rule "restore of $(basename "$file") fails" [ "$code" -ne 0 ]
    rule "restore of $(basename "$file"): one sentence" [ "$(wc -l <err)" = 1 ]
done
head -c 20000 night.db >half.db
run sluice restore --yes half.db
exits 1 'half a backup is refused'
compare whole.db "$home/sluice.db" 'and nothing was changed by any of them'
run sluice up
exits 0 'it starts as before'
run sluice backup "$tmp/no-folder/x.db"
exits 1 'a backup into a folder that is not there'
complains 'no-folder' 'names it'
run sluice backup night.db
exits 0 'a backup replaces an older one of that name'

# Runs that were started after the backup are not started again after the restore.
mkfifo go_long go_other
run sluice pause
add --project web -- sh -c 'echo begun >>long; read -r _ <go_long'
long=$id
add --project web -- sh -c 'echo begun >>short'
short=$id
run sluice backup night.db
run sluice resume
appears begun long
becomes "$short" 'done'
add --project web -- sh -c 'echo begun >>other; read -r _ <go_other'
other=$id
appears begun other
daemon=$(pid_of_daemon)
kill -9 "$daemon"
is_gone "$daemon"
run sluice restore --yes night.db
exits 0 'restore after a crash'
run sluice up
run sluice resume # the backup was made during a pause
rule 'a run that lives is the run of its task' becomes "$long" running
rule 'one that has ended since is known with its end' becomes "$short" 'done'
run sluice show "$other"
exits 1 'a task that came since is gone'
run sluice project show web --json
rule 'and its run keeps its place' [ "$(field external)" = 1 ]
add --project web -- true
becomes "$id" 'done'
rule 'its number is not given again' [ "${id#web-}" -gt "${other#web-}" ]
rule 'nothing was done twice' [ "$(cat long short other)" = "$(printf 'begun\nbegun\nbegun')" ]
run sluice events --json --limit 1000
rule 'the events name both runs' [ "$(grep -o '"run.found","task":"[^"]*"' out | sort | tr '\n' ' ')" = \
    "\"run.found\",\"task\":\"$long\" \"run.found\",\"task\":\"$short\" " ]
unblock go_long
rule 'what was found ends like any other' becomes "$long" 'done'
daemon=$(pid_of_daemon)
kill -9 "$daemon" # again: now the store has rows for these runs
is_gone "$daemon"
run sluice up
add --project web -- true
becomes "$id" 'done'
rule 'also not after the next crash' [ "$(cat long short other | wc -l) $(value "$long" state)" = '3 done' ]
shim=$(shim_of "$other" 1)
unblock go_other
rule 'the run that belongs to nobody has ended' is_gone "$shim"

# A task that is finished in the backup and has a live run is not started a second time.
mkfifo go_again
add --project web -- sh -c '[ ! -e more ] || { echo begun >>twice; read -r _ <go_again; }'
becomes "$id" 'done'
run sluice backup night.db
touch more
"$SLUICE" again "$id" >/dev/null
appears begun twice
daemon=$(pid_of_daemon)
kill -9 "$daemon"
is_gone "$daemon"
run sluice restore --yes night.db
run sluice up
run sluice again "$id"
exits 4 'again beside a living run is refused'
complains "run '$id.2', started after the restored backup was made, is still live" 'which is named'
rule 'and nothing has begun' [ "$(cat twice)" = begun ]
shim=$(shim_of "$id" 2)
unblock go_again
is_gone "$shim"
soon "$SLUICE" again "$id" >/dev/null 2>&1
report $? 'when it has ended, the task can be done again'
becomes "$id" running
unblock go_again
becomes "$id" 'done'
rule 'in a folder of its own' [ "$(value "$id" attempt) $(wc -l <twice)" = '3 2' ]
finish
