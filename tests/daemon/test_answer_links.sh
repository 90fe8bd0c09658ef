#!/bin/sh
# A link in a notification that answers a question: what the page does, what previews do, and what attackers and runs try.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"
. "$here/hook.sh"
needs curl
hook_start
cat >record.sh <<'END'
cat >"$1.stdin"
env >"$1.env"
printf '%s\n' "$SLUICE_NOTIFY_JSON" >>"$1.json"
echo "$SLUICE_NOTIFY_KIND $SLUICE_TASK" >>"$1"
[ ! -e "$1.fifo" ] || read -r _ <"$1.fifo"
[ ! -e "$1.fail" ] || { cat "$1.stdin"; exit 1; }
END
: >told
mkdir plays
config "projects: {web: }
limits: {runs: 4}
http: {listen: '127.0.0.1:0'}
notify: {webhook: '$url', command: 'sh $tmp/record.sh $tmp/told', events: 'needs-person'}"
start
daemon_url=$("$SLUICE" status --json | sed 's/.*"http":{"url":"\([^"]*\)".*/\1/')

asking() { # [ask-OPTION...]: a task that asks, and then does plays/ID
    printf '%s\n' "'$SLUICE' ask $* 'Which one?' >/dev/null; [ ! -e '$tmp/plays/'\$SLUICE_TASK ] || . '$tmp/plays/'\$SLUICE_TASK" >asks.sh
    add --project web --retries 0 -- sh "$tmp/asks.sh"
    posted "\"kind\":\"needs-person\",\"text\":\"'$id' asks"
    appears "needs-person $id" told
}
link_of() { # ID: in its newest post
    grep -F "\"task\":\"$1\"" "$hook/log" | tail -n 1 | sed -n 's/.*"answer_url":"\([^"]*\)".*/\1/p'
}
is_open() { # ID
    "$SLUICE" questions | grep -q "^  $1 "
}
visit() { # CURL-OPTION... LINK: prints the status; the page is in page, its head in head
    curl -s -m "$patience" -o page -D head -w '%{http_code}' "$@"
}
visits() { # STATUS 'what' CURL-OPTION... LINK
    wanted=$1 what=$2
    shift 2
    got=$(visit "$@")
    [ "$got" = "$wanted" ] || echo "# got $got: $(cat page)"
    rule "$what" [ "$got" = "$wanted" ]
}

# --- not enabled ---------------------------------------------------------------------------------------------

asking
rule 'a notification has the address of the task in the dashboard' posted "\"url\":\"$daemon_url/#/task/$id\""
rule 'and no link that answers' [ -z "$(link_of "$id")" ]
rule 'for a command, too' grep -qxF "SLUICE_NOTIFY_URL=$daemon_url/#/task/$id" told.env
rule 'whose input is empty' [ ! -s told.stdin ]
run sluice answer "$id" blue
ends "$id"

# --- the link --------------------------------------------------------------------------------------------------

run sluice config set notify.answer_links=true http.url=https://sluice.example.org
asking
rule 'with http.url it is the address that people use' grep -q '"url":"https://sluice.example.org/#/task/[^"]*","answer_url":"https://sluice.example.org/answer/sl_' "$hook/log"
run sluice answer "$id" blue
run sluice config set http.url=
asking
link=$(link_of "$id")
own=$(sed -n 's/.*"answer_url":"\([^"]*\)".*/\1/p' told.stdin)
rule 'the webhook has a link' [ "${link#"$daemon_url/answer/sl_"}" != "$link" ]
[ -n "$own" ] && [ "$own" != "$link" ]
report $? 'the command has one on its standard input, another one'
rule 'and not in its environment' not grep -q 'answer/sl_' told.env
rule 'the member is there' grep -qF '"answer_url":null' told.json
secret=${link##*/}
"$SLUICE" events --limit 1000 --json >all-events
"$SLUICE" show --json "$id" >shown
"$SLUICE" questions --json >>shown
rule 'no event, no answer and no log has it' not grep -qF -e "$secret" -e "${own##*/}" all-events shown "$home/sluice.log"
[ -n "${SLUICE_TEST_STORE-}" ] || # the notes are in its files
    rule 'control: the store has a link' grep -raqF '"links":["' "$home"
rule 'but only its hash' not grep -raqF -e "$secret" -e "${own##*/}" "$home"

visits 200 'a visit' "$link"
rule 'shows the question' grep -qF '<pre>Which one?</pre>' page
rule 'in a form' grep -qF '<form method="post">' page
rule 'which runs no scripts' grep -qi "content-security-policy: default-src 'none'" head
visits 200 'a preview of a chat program: HEAD' -I "$link"
visits 200 'a preview of a chat program: GET' -A 'Slackbot-LinkExpanding 1.0' "$link"
visits 200 'a link in a page that a person follows' -H 'Sec-Fetch-Site: cross-site' -H 'Sec-Fetch-Mode: navigate' -H 'Sec-Fetch-Dest: document' "$link"
visits 403 'but not as a frame or an image' -H 'Sec-Fetch-Site: cross-site' -H 'Sec-Fetch-Mode: no-cors' -H 'Sec-Fetch-Dest: image' "$link"
rule 'visits change nothing' is_open "$id"
visits 403 'a form of another site' -d text=evil -H 'Origin: https://evil.example' "$link"
visits 403 'a form of a page without an address' -d text=evil -H 'Origin: null' "$link"
visits 403 'another site without Origin' -d text=evil -H 'Sec-Fetch-Site: cross-site' "$link"
visits 403 'another Host' -d text=evil -H 'Host: evil.example' "$link"
visits 415 'another type' -d text=evil -H 'Content-Type: text/plain' "$link"
visits 400 'an empty answer' -d 'text=' "$link"
visits 400 'no answer' -d '' -H 'Content-Type: application/x-www-form-urlencoded' "$link"
visits 404 'a guess' -d text=evil "${link%?}"
visits 401 'the address of no link' -d text=evil "$daemon_url/answer/"
visits 401 'the code is not a token' -H "Authorization: Bearer $secret" "$daemon_url/v1/status"
rule 'all of this has changed nothing' is_open "$id"
daemon=$(pid_of_daemon)
port=${daemon_url##*:}
run sluice config set "http.listen=127.0.0.1:$port"
kill -9 "$daemon"
is_gone "$daemon"
run sluice up
visits 200 'after a kill of the daemon the link is valid' "$link"
visits 200 'the form answers' --data-urlencode 'text=the blue one' -H "Origin: $daemon_url" "$link"
rule 'the task goes on' becomes "$id" 'done'
run sluice events --limit 1000 --json
has "\"task\":\"$id\",\"attempt\":1,\"data\":{\"question\":\"Which one?\",\"answer\":\"the blue one\",\"by\":\"link\"}" 'who answered is recorded as link'
visits 404 'the link is used up' -d text=red "$link"
visits 404 'and so are the others of this question' -d text=red "$own"
visits 404 'also for a visit' "$link"

# --- its end ---------------------------------------------------------------------------------------------------

asking --deadline 1s --default red
link=$(link_of "$id")
rule 'a question that is over' becomes "$id" 'done'
visits 404 'has no link' -d text=blue "$link"
asking --choice yes --choice no
link=$(link_of "$id")
visits 400 'an answer that is no choice is refused' -d text=maybe "$link"
run sluice cancel "$id"
visits 404 'nor has a canceled task' -d text=yes "$link"
asking
link=$(link_of "$id")
run sluice config set notify.answer_links=false
visits 404 'a link ends with the setting' -d text=blue "$link"
run sluice config set notify.answer_links=true
visits 200 'and works again' "$link"
run sluice answer "$id" blue

# --- a run that has found the link -----------------------------------------------------------------------------

mkfifo told.fifo go
asking
rule 'control: the command is running' appears answer/sl_ told.stdin
link=$(link_of "$id")
echo answer/sl_ >pattern
cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null | tr '\0' '\n' | grep -aFf pattern >loot
rule 'no argument and no environment of any process has a link' [ ! -s loot ]
printf '%s\n' "$link" >leaked
add --project web -- sh -c "curl -s -m $patience -o '$tmp/answer' -w '%{http_code}' -d text=mine \"\$(cat '$tmp/leaked')\" >'$tmp/status'"
ends "$id"
rule 'a process of a run is refused' [ "$(cat status)" = 403 ]
rule 'and told why' grep -qF 'a process of a run cannot answer' answer
rule 'the daemon has logged it' grep -qF 'an answer link was refused: it came from a process of a run' "$home/sluice.log"
rule 'without the link' not grep -qF "${link##*/}" "$home/sluice.log"
visits 404 'the link is invalid then' -d text=blue "$link"
unblock told.fifo
rm told.fifo
touch told.fail
asking
rule 'a command that fails and prints the link' appears 'notify.command ended with exit code 1' "$home/sluice.log"
rule 'does not have it in the log' not grep -q 'answer/sl_' "$home/sluice.log"
finish
