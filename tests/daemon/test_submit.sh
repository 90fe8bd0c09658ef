#!/bin/sh
# Submitting tasks: the response, refused tasks, and deduplication.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"
config 'limits: {runs: 1}
projects: {web: , api: }'
start
mkfifo go

# --- f097: started, or queued with its position ------------------------------------------------------

run sluice add -- sh -c 'read -r _ <go'
prints 't-1 started' 'f097 the first task is started'
run sluice add -- true
prints 't-2 queued, position 1' 'f097 the next one is queued with its position'
run sluice add -- true
prints 't-3 queued, position 2' 'f097 and the one behind it'
run sluice add --json -- true
rule 'f097 as JSON' [ "$(field result) $(field queue_position)" = 'queued 3' ]
run sluice add --priority 1 -- true
prints 't-5 queued, position 1' 'f097 a lower number goes before'
rule 'f097 the answer was true: it is on disk' [ "$(value 5 state)" = ready ]
run sluice why 2
has 'position 2 in the queue' 'f097 why tells the position of now'
"$SLUICE" cancel --all --now >/dev/null
becomes 1 canceled

# --- f099: the prefix of an id must be that of the project ---------------------------------------------

run sluice add --project web --external-id api-77 --draft -- true
exits 4 'f099 an id with the prefix of another project is refused'
complains "external id 'api-77' has the prefix of project 'api', but the task is for 'web'" 'f099 and says why'
run sluice add --project web --external-id api-77 --draft --force -- true
exits 0 'f099 unless forced'
run sluice add --project web --external-id web-78 --draft -- true
exits 0 'f099 its own prefix is good'
run sluice add --project web --external-id card/9 --draft -- true
exits 0 'f099 a name that is no id is good'
add --project api --draft -- true
run sluice sling "$id" web
exits 4 'f099 sling to another project is refused'
rule 'f099 sling to another project: it stays a draft' [ "$(value "$id" state)" = draft ]
run sluice sling --json --force "$id" web
exits 0 'f099 sling --force'
id=$(jq -r '.tasks[0].id' out)
becomes "$id" 'done' # its end is an event, too; below they are counted
run sluice add --project api --parent "$("$SLUICE" list --ids --project web --state draft --limit 1)" -- true
exits 4 'f099 a parent of another project is refused'

# --- f100: deduplication -------------------------------------------------------------------------------

"$SLUICE" pause >/dev/null
run sluice add --project web --external-id bead-1 -- true
first=$(sed 's/ .*//' out)
before=$(last_event)
run sluice add --project web --external-id bead-1 -- sh -c 'something else'
exits 0 'f100 adding the same bead again is well'
prints "$first already: ready" 'f100 and answers with the task that is there'
rule 'f100 nothing new is stored' [ "$(last_event)" = "$before" ]
run sluice add --project api --external-id bead-1 -- true
rule 'f100 in another project it is another one' grep -q '^api-[0-9]* queued' out
run sluice sling "$first"
exits 0 'f100 scheduling what is scheduled is well'
has 'already' 'f100 and says so'
rule 'f100 nothing new is stored by that' [ "$(last_event)" -le "$((before + 2))" ]
"$SLUICE" cancel --all >/dev/null

# The same request with the same key: one task, the same response. A command does this if it got no response.
ask() { # KEY BODY
    curl -s --unix-socket "$home/sluice.sock" -H "Idempotency-Key: $1" -H 'Content-Type: application/json' \
        -d "$2" -D headers http://localhost/v1/tasks
}
ask key-12345678 '{"tasks":[{"argv":["true"],"hold":true}]}' >one
before=$(last_event)
ask key-12345678 '{"tasks":[{"argv":["true"],"hold":true}]}' >out
compare one out 'a request with the same key has the same answer'
rule 'and says that it is a repetition' grep -qi '^Idempotent-Replay: true' headers
rule 'and stores nothing' [ "$(last_event)" = "$before" ]
kill -9 "$(pid_of_daemon)"
"$SLUICE" up >/dev/null 2>&1
ask key-12345678 '{"tasks":[{"argv":["true"],"hold":true}]}' >out
compare one out 'also after kill -9'
ask key-87654321 '{"tasks":[{"argv":["true"],"hold":true}]}' >out
rule 'another key is another task' [ "$(field id)" != "$(first id <one)" ]
# A request of many tasks is one, however the store gets it: alike, and each with something of its own.
many() { # PRIORITY
    awk -v priority="$1" 'BEGIN {
        for (i = 1; i <= 700; i++)
            printf "%s{\"argv\":[\"echo\",\"%d\"],\"project\":\"api\",\"hold\":true,\"priority\":%s}", (i > 1 ? "," : "{\"tasks\":["), i,
                (priority == "own" ? i : priority)
        print "]}" }'
}
held() { # how many, the last one, its priority, how many events report new ones
    last=$("$SLUICE" list --ids --project api --state held --limit 2000 | sort -t- -k2n | tail -n 1)
    echo "$("$SLUICE" list --ids --project api --state held --limit 2000 | wc -l) $(value "$last" title) $(value "$last" priority)" \
        "$("$SLUICE" events --after "$before" --json | grep -o '"task.added"' | wc -l)"
}
before=$(last_event)
many 7 >alike
many own >different
ask key-alike-700 @alike >out
rule 'seven hundred tasks that are alike are all there' [ "$(held)" = '700 echo 700 7 700' ]
ask key-different-700 @different >out
rule 'and seven hundred that are not' [ "$(held)" = '1400 echo 700 700 1400' ]
kill -9 "$(pid_of_daemon)"
"$SLUICE" up >/dev/null 2>&1
rule 'all of them also after kill -9' [ "$(held)" = '1400 echo 700 700 1400' ]
"$SLUICE" down >/dev/null 2>&1

# --- f060, f068, f069: the preset agency ---------------------------------------------------------------

home=$tmp/agency
SLUICE_HOME=$home
run sluice init --preset agency
start
run sluice add --kind implement --external-id cards/login.md -- sh -c 'read -r _ <go'
prints 't-1 started' 'f060 one run per card'
becomes 1 running
run sluice add --kind review --external-id cards/login.md -- true
exits 4 'f060 a second run of the card is refused'
prints 't-1 already: running' 'f060 as already running'
run sluice add --kind implement -- true
prints 't-2 queued, position 1' 'f068 a short queue has no warning'
rule 'f068 nothing on stderr' [ ! -s err ]
run sluice status
has 'queue: implement 1; soft limit 8; hard limit 16' 'f068 status shows the depth of each flow'
run sluice promote t-2
prints 't-2 keeps its place' 'promote changes nothing under this preset'
says "sluice: the order of tasks does not depend on their priority: the setting 'order' does not name it" 'and says so'
run sluice add --draft --priority 5 -- true
says "sluice: the order of tasks does not depend on their priority: the setting 'order' does not name it" 'so does add --priority'
run sluice add --draft -- true
rule 'and not add without it' [ ! -s err ]
run sluice demote --json t-2
has '"result":"no_effect"' 'demote, as JSON'
i=2
while [ $i -lt 9 ]; do # eight wait, the limit is 4 x 1, at least 8
    i=$((i + 1))
    run sluice add --kind implement -- true
done
rule 'f068 f156 eight that wait are no warning yet' [ ! -s err ]
run sluice add --kind review -- true
exits 0 'f068 a long queue still takes work'
says 'sluice: Queue delayed; respecting caps (9 wait, queue.soft is 8; implement 8; review 1)' \
    'f068 and says that it is long, with the depth of each flow'
run sluice status
has 'Queue delayed; respecting caps (9 wait, queue.soft is 8; implement 8; review 1)' 'f068 status shows the warning while it lasts'
run sluice status --json
has '"queue":{"depth":9,"depths":{"implement":8,"review":1},"soft":8,"hard":16,"warning":"Queue delayed' 'f068 as JSON, too'
while [ $i -lt 16 ]; do
    i=$((i + 1))
    "$SLUICE" add --kind research -- true >/dev/null 2>&1
done
before=$(last_event)
run sluice add --kind implement --external-id cards/late.md -- true
exits 4 'f069 a full queue defers: code 4'
complains 'deferred: 16 tasks wait already, and the queue takes 16 (queue.hard); nothing was stored' 'f069 and says so'
complains 'try again later, or raise the limits' 'f069 f137 and what to do'
rule 'f069 nothing was stored' [ "$(last_event)" = "$before" ]
run sluice add --kind implement --json -- true
exits 4 'f069 with --json the same code'
has '{"error":{"code":"deferred","message":"deferred: 16 tasks wait already' 'f069 f137 and the error as JSON'
run sluice config set limits.runs=5
run sluice add --kind implement --external-id cards/late.md -- true
exits 0 'f069 the card was not locked: with higher caps it is taken'
finish
