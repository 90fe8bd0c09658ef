#!/bin/sh
# sluice import command: what a program prints becomes tasks, once each; imported again, they are kept up to date. A thousand
# issues are imported twice while the daemon is killed ten times: a thousand tasks, and the result of each is written back once.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"

cat >write-back <<'END2'
#!/bin/sh
# Idempotent, as every receiver should be: a key that it has seen is not written again. Counts how often it was asked.
echo "$SLUICE_DELIVERY" >>"$1.asked"
mkdir "$1.keys/$SLUICE_DELIVERY" 2>/dev/null || exit 0
cat >>"$1"
END2
chmod +x write-back
mkdir -p told.keys
: >told
config "agents: {echo: {command: [cat], adapter: plain}}
projects:
  web:
  bulk: {on_end: '$tmp/write-back $tmp/told'}
tasks: {on_end_max: 8, on_end_retry_s: 0.1}
limits: {runs: 16}"
start
"$SLUICE" project pause web >/dev/null

import() { # ARGS...: imports issues.jsonl into web
    run sluice import command --agent echo --project web "$@" -- cat "$tmp/issues.jsonl"
}
of() { # EXTERNAL-ID MEMBER: of its task
    "$SLUICE" show "$1" --json | first "$2"
}

# --- adding ----------------------------------------------------------------------------------------------

cat >issues.jsonl <<'END2'
{"id":"gh#1","title":"Fix the login","body":"It fails with {url} in the name.","url":"https://tracker/1","labels":["bug","agent"]}
{"id":"gh#2","title":"Then the logout","depends_on":["gh#1","gh#9"],"parent":"gh#3","priority":90}

{"id":"gh#3","title":"Sessions","labels":["agent"]}
{"id":"gh#9","title":"Old","state":"closed"}
END2
import --dry-run
exits 0 'a dry run: exit code'
has '3 would be added, 0 already, 1 skipped, 0 refused' 'a dry run says what would be added'
run sluice list --project web --state all --ids
rule 'and adds nothing' [ ! -s out ]
import
exits 0 'an import: exit code'
has '3 added, 0 already, 1 skipped, 0 refused' 'open items are added, closed ones are not'
run sluice show 'gh#1' --json
has '"prompt":"Fix the login\n\nIt fails with {url} in the name.\n\nhttps://tracker/1"' 'the prompt is title, body and url; braces of the body are text'
has '"url":"https://tracker/1","labels":["bug","agent"]' 'url and labels are in meta'
has '"title":"Fix the login"' 'with the title'
run sluice show 'gh#2' --json
has '"priority":90' 'other members are members of the task'
rule 'a dependency is the task of that item; a closed one needs nothing' \
    [ "$("$SLUICE" show 'gh#2' --json | sed 's/.*"depends_on":\(\["[^]]*\]\),"counters.*/\1/')" = "[\"$(of 'gh#1' id)\"]" ]
rule 'the parent, too' [ "$(of 'gh#2' parent)" = "$(of 'gh#3' id)" ]

import
exits 0 'the same again: exit code'
has '0 added, 3 already, 1 skipped, 0 refused' 'importing again adds nothing'
rule 'and changes nothing' not grep -q updated out
echo '{"id":"gh#4","title":"a"}
{"id":"gh#4","title":"b"}' >twice.jsonl
run sluice import command --agent echo --project web -- cat twice.jsonl
has '1 added, 0 already' 'the same id twice is one task'
rule 'the last line counts' [ "$(of 'gh#4' title)" = b ]

run sluice import command --agent echo --project web --label bug --label agent --json -- cat issues.jsonl
has '"skipped":[{"source":"gh#2","why":"it does not have the labels"' '--label: an item needs all of them'
run sluice import command --agent echo --project web --prompt 'Solve {id} ({labels}): {title}' -- sh -c 'echo "{\"id\":5,\"title\":\"t\",\"labels\":[\"x\",\"y\"]}"'
run sluice show 5 --json
has '"prompt":"Solve 5 (x, y): t"' '--prompt is a template, and an id may be a number'

# --- changes ---------------------------------------------------------------------------------------------

sed -i 's/"priority":90/"priority":80/; s/"depends_on":\["gh#1","gh#9"\]/"depends_on":["gh#4"]/; s/Sessions/All sessions/' issues.jsonl
import --dry-run
has '2 would be updated' 'a dry run says what would change'
rule 'and changes nothing' [ "$(of 'gh#2' priority)" = 90 ]
import
exits 0 'changed items: exit code'
has '0 added, 3 already, 1 skipped, 0 refused, 2 updated' 'what has changed is counted'
rule 'priority' [ "$(of 'gh#2' priority)" = 80 ]
rule 'and dependencies follow' [ "$("$SLUICE" show 'gh#2' --json | sed 's/.*"depends_on":\(\["[^]]*\]\),"counters.*/\1/')" = "[\"$(of 'gh#4' id)\"]" ]
rule 'so do title' [ "$(of 'gh#3' title)" = 'All sessions' ]
run sluice show 'gh#3' --json
has '"prompt":"All sessions"' 'and prompt'
import --json
has '"counts":{"updated":0,"canceled":0,"changed_after_start":0,"not_updated":0}' 'once changed, nothing more is to do'

# A task that has started keeps what its agent was given.
mkfifo go
echo '{"id":"gh#30","title":"slow","argv":["sh","-c","read -r word <go"],"cwd":"'"$tmp"'"}' >slow.jsonl
run sluice import command --project web -- cat slow.jsonl
"$SLUICE" project resume web >/dev/null
becomes "$(of 'gh#30' id)" running
sed -i 's/slow/slower/' slow.jsonl
run sluice import command --project web -- cat slow.jsonl
has '1 already, 0 skipped, 0 refused, 1 changed after start' 'a task that has started is only counted'
rule 'and keeps its title' [ "$(of 'gh#30' title)" = slow ]
echo >go
becomes "$(of 'gh#30' id)" 'done'
"$SLUICE" project pause web >/dev/null

"$SLUICE" project resume web >/dev/null
becomes "$(of 'gh#3' id)" 'done'
"$SLUICE" project pause web >/dev/null
sed -i 's/All sessions/No sessions/' issues.jsonl
import
rule 'an item whose task has ended changes nothing' not grep -q -e updated -e 'after start' out

# --- closed items ----------------------------------------------------------------------------------------

echo '{"id":"gh#20","title":"later"}' >open.jsonl
echo '{"id":"gh#20","title":"later","state":"closed"}' >closed.jsonl
run sluice import command --agent echo --project web -- cat open.jsonl
run sluice import command --agent echo --project web --json -- cat closed.jsonl
has '--cancel-closed cancels its task' 'a closed item says how its task is canceled'
rule 'but that is not done unasked' [ "$(of 'gh#20' state)" != canceled ]
run sluice import command --agent echo --project web --cancel-closed --dry-run -- cat closed.jsonl
has '1 would be canceled' '--cancel-closed in a dry run only says so'
run sluice import command --agent echo --project web --cancel-closed -- cat closed.jsonl
has '1 canceled' '--cancel-closed cancels it'
rule 'and it is canceled' [ "$(of 'gh#20' state)" = canceled ]

# --- bad input -------------------------------------------------------------------------------------------

printf '%s\n' '{"id":"b1","title":"good"}' '{"title":"no id"}' 'not json' '[1]' '{"id":"b2","state":"half"}' '{"id":"b3","depends_on":"x"}' >bad.jsonl
run sluice import command --agent echo --project web -- cat bad.jsonl
exits 2 'bad lines: exit code'
for text in "line 2: it has no 'id'" 'line 3: not JSON' 'line 4: it is not a JSON object' "line 5: 'state' is not open or closed" \
    "line 6: 'depends_on' is not a list of ids" 'nothing was imported: 5 bad lines'; do
    rule "bad lines: $text" grep -qF -e "$text" err
done
run sluice show b1
exits 2 'nothing is added'
run sluice import command --agent echo --project web --keep-going --json -- cat bad.jsonl
exits 2 '--keep-going: exit code'
has '"refused":[{"source":"line 2","error":"line 2: it has no '"'id'"'"}' '--keep-going reports them'
run sluice show b1
exits 0 'and adds the others'
echo '{"id":"b4","title":"x","priority":"high"}' >bad.jsonl
run sluice import command --agent echo --project web -- cat bad.jsonl
exits 2 'a bad member: exit code'
rule 'the message names the line, the item and the member' grep -q "line 1 ('b4').*priority" err
run sluice import command --agent echo --project web -- sh -c 'echo "{\"id\":\"b5\",\"title\":\"x\"}"; echo first >&2; echo "no login" >&2; exit 4'
exits 1 'a program that fails: exit code'
rule 'with its last words' grep -q "nothing was imported: 'sh' ended with exit code 4: no login" err
run sluice show b5
exits 2 'and nothing is added'
run sluice import command --agent echo -- no-such-program
exits 2 'no such program: exit code'
run sluice import command --agent echo --prompt 'do {titel}' -- true
exits 2 'an unknown placeholder: exit code'
rule 'an unknown placeholder is named' grep -qF -e "there is no '{titel}'" err
run sluice import command --agent echo
exits 2 'no program: exit code'
run sluice import command --agent echo -- sh -c 'head -c 1100000 /dev/zero | tr "\0" x; echo; sleep 1000'
exits 2 'a line that is too long ends the program'
rule 'and is named' grep -q 'nothing was imported: line 1 has more than 1048576 bytes' err
# shellcheck disable=SC2016 # of the inner shells
run sluice import command --agent echo -- sh -c '(trap "" TERM; sleep 1000 & echo $! >below; wait) & sleep 1001 & echo $! >beside
    while ! [ -s below ]; do :; done; head -c 1100000 /dev/zero | tr "\0" x; echo; sleep 1002'
exits 2 'a program that is ended while it waits for another: exit code'
rule 'what it has started is ended, too' not kill -0 "$(cat beside)"
rule 'also what that has started' not kill -0 "$(cat below)"
run sluice import command --agent echo --project web -- sh -c 'sleep 1000 & echo $! >left; echo "{\"id\":\"b6\",\"title\":\"x\"}"'
exits 0 'a process that the program leaves behind is not waited for'
kill "$(cat left)"
run sluice import command --agent echo --project web -- sh -c 'echo "{\"id\":\"c1\",\"title\":\"x\",\"depends_on\":[\"c2\"]}"; echo "{\"id\":\"c2\",\"title\":\"y\",\"depends_on\":[\"c1\"]}"'
exits 2 'items that depend on each other are refused'
run sluice show c1
exits 2 'and none of them is added'

# --- a thousand issues, ten kills ------------------------------------------------------------------------

awk 'BEGIN { for (i = 1; i <= 1000; i++) printf "{\"id\":\"n%d\",\"title\":\"issue %d\"%s}\n", i, i, i % 10 == 0 ? sprintf(",\"depends_on\":[\"n%d\"]", i - 1) : "" }' >many.jsonl
run sluice import command --agent echo --project bulk -- cat many.jsonl
exits 0 'a thousand issues are imported'
for round in 1 2 3 4 5 6 7 8 9 10; do
    reached() {
        [ "$(wc -l <told)" -ge $((round * 90)) ]
    }
    soon reached
    kill -9 "$(pid_of_daemon)"
    [ $((round % 2)) = 1 ] || "$SLUICE" import command --agent echo --project bulk -- cat many.jsonl >import.out 2>&1
    "$SLUICE" up >/dev/null 2>&1
done
run sluice import command --agent echo --project bulk -- cat many.jsonl
has '0 added, 1000 already' 'imported again, over ten kills, none is added twice'
rule 'there are a thousand tasks' [ "$("$SLUICE" list --project bulk --state all --ids --limit 5000 | wc -l)" = 1000 ]
all_told() {
    [ "$(wc -l <told)" -ge 1000 ]
}
rule 'every result is written back' soon all_told
rule 'once each' [ "$(sed 's/.*"external_id":"\([^"]*\)".*/\1/' told | sort | uniq | wc -l) $(wc -l <told)" = '1000 1000' ]
rule 'and all are done' [ "$(grep -c '"state":"done"' told)" = 1000 ]
recorded() {
    [ "$("$SLUICE" events --after 0 --limit 1000000 --json | grep -o '"kind":"task.on_end"' | wc -l)" -ge 1000 ]
}
soon recorded
echo "# asked $(wc -l <told.asked) times"
rule 'a kill repeats no more than the commands that were running' [ "$(wc -l <told.asked)" -le $((1000 + 10 * 8)) ]
kill -9 "$(pid_of_daemon)"
asked=$(wc -l <told.asked)
"$SLUICE" up >/dev/null 2>&1
add --project bulk -- true
soon grep -q "^$id:" told.asked
rule 'what was recorded is not asked again' [ "$(wc -l <told.asked)" = $((asked + 1)) ]
finish
