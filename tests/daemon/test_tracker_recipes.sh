#!/bin/sh
# list-issues and write-back of contrib, with fake gh, glab and curl programs: issues become tasks, and each result is written to
# its issue once, also if it is delivered twice.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"
needs jq

mkdir bin fake
cat >bin/gh <<'EOF'
#!/bin/sh
# A fake gh: lists fake/issues; comments are kept in fake/comments.
[ ! -e "$FAKE/down" ] || { echo 'error connecting to api.github.com' >&2 && exit 1; }
echo "$(basename "$0") $*" | tr '\n' ' ' >>"$FAKE/calls"
echo >>"$FAKE/calls"
case "$1 $2" in
'issue list') cat "$FAKE/issues" ;;
'issue view') jq -Rs '{comments: [{body: .}]}' "$FAKE/comments" ;;
'issue comment') printf '%s\n' "$5" >>"$FAKE/comments" ;;
'issue edit' | 'issue close') ;;
*) exit 1 ;;
esac
EOF
cat >bin/glab <<'EOF'
#!/bin/sh
# A fake glab: `glab api`.
echo "glab $*" | tr '\n' ' ' >>"$FAKE/calls"
echo >>"$FAKE/calls"
case $* in
*POST*) printf '%s\n' "$*" >>"$FAKE/comments" ;;
*PUT*) ;;
*/notes*) jq -Rs '[{body: .}]' "$FAKE/comments" ;;
*) cat "$FAKE/issues" ;;
esac
EOF
cat >bin/curl <<'EOF'
#!/bin/sh
# A fake curl for Linear and Jira. The secret comes on the standard input.
echo "curl $*" | tr '\n' ' ' >>"$FAKE/calls"
echo >>"$FAKE/calls"
cat >>"$FAKE/secrets"
case $* in
*commentCreate* | *'/comment' ) printf '%s\n' "$*" >>"$FAKE/comments"; echo '{"data":{}}' ;;
*'/comment?'*) jq -Rs '{comments: [{body: .}]}' "$FAKE/comments" ;;
*issueUpdate*) echo '{"data":{}}' ;;
*'issue(id'*) jq -Rs '{data: {issue: {id: "uuid", comments: {nodes: [{body: .}]}, team: {states: {nodes: [{id: "s1", type: "completed"}]}}}}}' "$FAKE/comments" ;;
*--data*'/transitions') ;;
*'/transitions') echo '{"transitions":[{"id":"31","name":"Done"}]}' ;;
*nextPageToken=t2* | *'"after":"c2"'*) cat "$FAKE/issues2" ;;
*) cat "$FAKE/issues" ;;
esac
EOF
chmod +x bin/*
ln -s "$SLUICE" bin/sluice # for runs
FAKE=$tmp/fake PATH=$tmp/bin:$PATH
LINEAR_API_KEY=lin_secret JIRA_URL=https://acme.example JIRA_USER=me JIRA_TOKEN=jira_secret
export FAKE PATH LINEAR_API_KEY JIRA_URL JIRA_USER JIRA_TOKEN
result() { # EXTERNAL-ID URL STATE
    printf '{"delivery":"web-1:7-99","task":"web-1","external_id":"%s","url":"%s","state":"%s","reason":"succeeded","message":"I did it","branch":"sluice/web-1","merge":{"merged":true,"base":"main"}}\n' "$@"
}
again() { # PROGRAM ARGS...: delivers result.json twice; counts the comments
    : >fake/comments
    : >fake/calls
    for _ in 1 2; do
        run "$@" <result.json
    done
}
comments() {
    grep -c 'sluice web-1:7-99' fake/comments
}

# --- GitHub ----------------------------------------------------------------------------------------------

printf '%s\n' '[{"number":7,"title":"Fix","body":"It \"fails\"\nhere","url":"https://github.com/acme/web/issues/7","labels":[{"name":"agent"}],"state":"OPEN"},
{"number":8,"title":"Old","body":"","url":"https://github.com/acme/web/issues/8","labels":[],"state":"CLOSED"}]' >fake/issues
run "$root/contrib/github/list-issues" acme/web --label agent
prints '{"id":"acme/web#7","title":"Fix","body":"It \"fails\"\nhere","url":"https://github.com/acme/web/issues/7","labels":["agent"],"state":"open"}
{"id":"acme/web#8","title":"Old","body":"","url":"https://github.com/acme/web/issues/8","labels":[],"state":"closed"}' 'github: issues as lines'
rule 'github: arguments are passed on' grep -q 'issue list --repo acme/web --state all --limit 1000 --label agent' fake/calls
result 'acme/web#7' https://github.com/acme/web/issues/7 'done' >result.json
again "$root/contrib/github/write-back" --close --label finished --failed-label broken
exits 0 'github: a result is written back'
rule 'github: with one comment for two deliveries' [ "$(comments)" = 1 ]
rule 'github: which says what happened' grep -q 'web-1 done (succeeded)' fake/comments
rule 'github: with the final message' grep -q 'I did it' fake/comments
rule 'github: --label' grep -q 'issue edit https://github.com/acme/web/issues/7 --add-label finished' fake/calls
rule 'github: --close' grep -q 'issue close https://github.com/acme/web/issues/7' fake/calls
result 'acme/web#7' https://github.com/acme/web/issues/7 failed >result.json
again "$root/contrib/github/write-back" --close --label finished --failed-label broken
rule 'github: a failure gets the other label and is not closed' [ "$(grep -c -e 'add-label broken' fake/calls) $(grep -c -e 'issue close' fake/calls)" = '2 0' ]
: >fake/down
run "$root/contrib/github/list-issues" acme/web
exits 1 'github: no network, no list'
run "$root/contrib/github/write-back" <result.json
exits 75 'github: no network, try again'
rm fake/down
result other '' 'done' >result.json
again "$root/contrib/github/write-back"
rule 'github: a task without an issue is left alone' [ "$code $(wc -l <fake/calls)" = '0 0' ]

# --- GitLab ----------------------------------------------------------------------------------------------

echo '[{"iid":3,"title":"Fix","description":"now","web_url":"https://gitlab.com/g/p/-/issues/3","labels":["a"],"state":"opened"}]' >fake/issues
run "$root/contrib/gitlab/list-issues" g/p labels=a
prints '{"id":"g/p#3","title":"Fix","body":"now","url":"https://gitlab.com/g/p/-/issues/3","labels":["a"],"state":"open"}' 'gitlab: issues as lines'
rule 'gitlab: the query is passed on' grep -qF -e 'projects/g%2Fp/issues?per_page=100&labels=a' fake/calls
result 'g/p#3' https://gitlab.com/g/p/-/issues/3 'done' >result.json
again "$root/contrib/gitlab/write-back" --close --label finished
exits 0 'gitlab: a result is written back'
rule 'gitlab: once' [ "$(comments)" = 1 ]
rule 'gitlab: --close' grep -q 'PUT projects/g%2Fp/issues/3 --raw-field state_event=close' fake/calls
rule 'gitlab: --label' grep -q 'add_labels=finished' fake/calls

# --- Linear ----------------------------------------------------------------------------------------------

echo '{"data":{"issues":{"pageInfo":{"hasNextPage":true,"endCursor":"c2"},"nodes":[{"identifier":"ENG-1","title":"Fix","description":null,"url":"https://linear.app/ENG-1","state":{"type":"started"},"labels":{"nodes":[{"name":"a"}]},"parent":null,"inverseRelations":{"nodes":[{"type":"blocks","issue":{"identifier":"ENG-2"}}]}}]}}}' >fake/issues
echo '{"data":{"issues":{"pageInfo":{"hasNextPage":false,"endCursor":null},"nodes":[{"identifier":"ENG-2","title":"First","description":"x","url":"u","state":{"type":"completed"},"labels":{"nodes":[]},"parent":{"identifier":"ENG-9"},"inverseRelations":{"nodes":[]}}]}}}' >fake/issues2
run "$root/contrib/linear/list-issues" ENG
prints '{"id":"ENG-1","title":"Fix","body":null,"url":"https://linear.app/ENG-1","labels":["a"],"parent":null,"depends_on":["ENG-2"],"state":"open"}
{"id":"ENG-2","title":"First","body":"x","url":"u","labels":[],"parent":"ENG-9","depends_on":[],"state":"closed"}' 'linear: all pages, with relations'
result ENG-1 https://linear.app/ENG-1 'done' >result.json
again "$root/contrib/linear/write-back" --close
exits 0 'linear: a result is written back'
rule 'linear: once' [ "$(comments)" = 1 ]
rule 'linear: --close' grep -q 'issueUpdate.*"stateId":"s1"' fake/calls
echo '{"errors":[{"message":"no access"}]}' >fake/issues
run "$root/contrib/linear/list-issues" ENG
exits 1 'linear: an error of the service, no list'
rule 'linear: with its message' grep -q 'no access' err

# --- Jira ------------------------------------------------------------------------------------------------

echo '{"issues":[{"key":"WEB-1","fields":{"summary":"Fix","description":"d","labels":["a"],"status":{"statusCategory":{"key":"new"}},"issuelinks":[{"type":{"inward":"is blocked by"},"inwardIssue":{"key":"WEB-2"}},{"type":{"inward":"is blocked by"},"outwardIssue":{"key":"WEB-3"}}]}}],"nextPageToken":"t2"}' >fake/issues
echo '{"issues":[{"key":"WEB-2","fields":{"summary":"First","description":null,"labels":[],"status":{"statusCategory":{"key":"done"}},"parent":{"key":"WEB-9"}}}]}' >fake/issues2
run "$root/contrib/jira/list-issues" 'project = WEB'
prints '{"id":"WEB-1","title":"Fix","body":"d","url":"https://acme.example/browse/WEB-1","labels":["a"],"parent":null,"depends_on":["WEB-2"],"state":"open"}
{"id":"WEB-2","title":"First","body":null,"url":"https://acme.example/browse/WEB-2","labels":[],"parent":"WEB-9","depends_on":[],"state":"closed"}' 'jira: all pages, with links'
result WEB-1 https://acme.example/browse/WEB-1 'done' >result.json
again "$root/contrib/jira/write-back" --transition Done
exits 0 'jira: a result is written back'
rule 'jira: once' [ "$(comments)" = 1 ]
rule 'jira: --transition' grep -q '"transition":{"id":"31"}' fake/calls
rule 'secrets come on the standard input' grep -q lin_secret fake/secrets
rule 'and are in no argument' [ "$(grep -c -e lin_secret -e jira_secret fake/calls)" = 0 ]

# --- from the tracker to the tracker ---------------------------------------------------------------------

echo '[{"number":7,"title":"Fix","body":"now","url":"https://github.com/acme/web/issues/7","labels":[],"state":"OPEN"}]' >fake/issues
: >fake/comments
config "agents: {echo: {command: [cat], adapter: plain}}
projects: {web: {on_end: '$root/contrib/github/write-back --close'}}
tasks: {env: [PATH, HOME, FAKE]}"
start
run sluice import command --agent echo --project web -- "$root/contrib/github/list-issues" acme/web
exits 0 'an issue is imported'
rule 'and when its task is done, the issue says so' appears 'Sluice: web-1 done' fake/comments
closed() {
    grep -q 'issue close https://github.com/acme/web/issues/7' fake/calls
}
rule 'and is closed' soon closed

# --- by a schedule ---------------------------------------------------------------------------------------

# The command of the recipe's first comment, with what the documentation says about secrets: those of `polls` are in its env_file.
printf '%s\n' LINEAR_API_KEY=lin_secret JIRA_URL=https://acme.example JIRA_USER=me JIRA_TOKEN=jira_secret >polls.env
chmod 600 polls.env
"$SLUICE" config set agents.claude.command=cat agents.claude.adapter=plain "projects.polls.env_file=$tmp/polls.env" projects.web.on_end= >/dev/null
"$SLUICE" pause web >/dev/null
unset LINEAR_API_KEY JIRA_URL JIRA_USER JIRA_TOKEN
ln -s "$root/contrib" contrib
polls() { # RECIPE EXTERNAL-ID
    sed -n 's/^# To poll: //p' "contrib/$1/list-issues" >poll
    run sh poll
    exits 0 "$1: a schedule can poll"
    id=$("$SLUICE" schedule run "$1" | sed 's/ .*//')
    rule "$1: the poll works" becomes "$id" 'done'
    run sluice show "$2" --json
    has '"project":"web"' "$1: and imports"
}
echo '[{"number":9,"title":"Fix","body":"now","url":"u","labels":[{"name":"agent"}],"state":"OPEN"}]' >fake/issues
polls github 'acme/web#9'
echo '[{"iid":10,"title":"Fix","description":"now","web_url":"u","labels":["agent"],"state":"opened"}]' >fake/issues
polls gitlab 'acme/web#10'
echo '{"data":{"issues":{"pageInfo":{"hasNextPage":false,"endCursor":null},"nodes":[{"identifier":"ENG-1","title":"Fix","description":null,"url":"u","state":{"type":"started"},"labels":{"nodes":[{"name":"agent"}]},"parent":null,"inverseRelations":{"nodes":[]}}]}}}' >fake/issues
polls linear ENG-1
echo '{"issues":[{"key":"WEB-1","fields":{"summary":"Fix","description":"d","labels":["agent"],"status":{"statusCategory":{"key":"new"}},"issuelinks":[]}}]}' >fake/issues
polls jira WEB-1
finish
