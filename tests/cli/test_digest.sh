#!/bin/sh
# sluice digest: what happened, what failed and why, what waits for a person, costs; as pages that execute no script.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # lib.sh and daemon.sh set home, tmp and id; $ is for inner shells
. "$(dirname "$0")/lib.sh"
. "$here/daemon.sh"
config 'limits: {runs: 4}
host: {disk_free_gb: 0}
retry: {failed: {max: 0}}
projects: {web: , api: }
agents:
  bot: {command: [sh, -c, "sluice report --tokens-in 12000 --tokens-out 800 --cost 1.25"]}
  limited: {command: [sh, -c, "sluice report --rate-limited 600; exit 1"], limiter: account}'
PATH=$(dirname "$SLUICE"):$PATH

run sluice digest
exits 3 'without a daemon'
start
run sluice digest
exits 0 'of a new home: exit code'
has '0 done · 0 failed · 0 added' 'of a new home nothing is told'

bad='<script>alert(1)</script> [x](y) *z* | "&amp;'
add --project web --agent bot --title "$bad" -- sh -c 'sluice report --tokens-in 12000 --tokens-out 800 --cost 1.25'
good=$id
add --project web --review --title 'rewrite the parser' -- true
review=$id
add --project api --title 'find the file' -- sh -c 'echo looking; echo "cannot find it <b>" >&2; exit 3'
failed=$id
add --project api --after "$failed" --title 'use the file' -- true
blocked=$id
add --project api --agent limited 'ask the provider'
waits=$id
becomes "$good" 'done'
becomes "$review" held
becomes "$failed" failed
waits_for_account() { [ "$(value "$waits" gate)" = limiter ]; }
soon waits_for_account

run sluice digest
exits 0 'markdown: exit code'
has '1 done · 1 failed · 5 added · 0 running now · 2 waiting now · 1 start of the daemon' 'what there was, in numbers'
has '12,000 tokens in, 800 out · $1.25 (cost of 3 runs unknown)' 'an unknown cost is said, not taken for nothing'
has "- **$review** rewrite the parser: waits for review: \`sluice approve $review\`" 'who is waited for, and what to type'
has "- **$failed** find the file: cannot find it \\<b\\> (retries, 1 run)" 'what failed, and the last thing that it said'
has "- **$good** \\<script\\>alert(1)\\</script\\> \\[x\\](y) \\*z\\* \\| \"\\&amp; (bot, " 'what was done; a title is only a text'
has '| web | bot | 1 | 1 | ' 'tokens and money by project and agent'
has '| 12,000 | 800 | $1.25 |' 'as reported'
has '| unknown | unknown | cost unknown |' 'or not'
has "| $blocked | use the file | " 'what waits longest'
has "waits for '$failed', which is failed; retry it |" 'and why'
has '- **account** was limited 1 time, at last until ' 'which account was limited'

run sluice digest --format html
exits 0 'html: exit code'
has '&lt;script&gt;alert(1)&lt;/script&gt; [x](y) *z* | &quot;&amp;amp; (bot, ' 'html: a title is only a text'
has "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">" 'html: nothing is loaded or run'
has 'prefers-color-scheme:dark' 'html: light and dark'
rule 'html: no script, no picture, no link' not grep -qE '<script|<img|<link|src=|href=| on[a-z]+=' out
if command -v xmllint >/dev/null; then
    cp out page.html
    run xmllint --html --noout page.html
    exits 0 'html: a reader finds nothing wrong'
fi

run sluice digest --format json
has '"totals":{"runs":4,"ok":2,' 'json: the numbers'
cp out first
run sluice digest --json
has '"partial":false' '--json is the same'
run sluice digest --since 2999-01-01
exits 2 'a moment to come: exit code'
says "sluice: option '--since': '2999-01-01' is yet to come
usage: sluice digest [--since 12h|yesterday|...] [--format markdown|html|json]" 'a moment to come'
run sluice digest --since soon
exits 2 'no moment'
run sluice digest --format pdf
exits 2 'another format: exit code'
says "sluice: unknown format 'pdf'; expected markdown, html or json
usage: sluice digest [--since 12h|yesterday|...] [--format markdown|html|json]" 'another format'
run sluice digest --json --format html
exits 2 'two formats'
run sluice digest --since yesterday
exits 0 'since yesterday'

# One figure of money: that of the daemon. What a live run has cost is apart, in no sum.
add --project web -- sh -c 'sluice report --cost 0.31; exec tail -f /dev/null'
live=$id
live_is_known() { "$SLUICE" digest | grep -qF '$0.31 in live runs'; }
soon live_is_known
run sluice digest
has '12,000 tokens in, 800 out · $1.25 (cost of 3 runs unknown) + $0.31 in live runs' 'a live run is shown apart'
run sluice digest --json
has '"cost_usd":1.25' 'json: the sum'
has '"live_usd":0.31' 'json: live runs'
"$SLUICE" cancel --now "$live" >/dev/null
becomes "$live" canceled

# The digest reports current states, not those that have already ended.
"$SLUICE" approve "$review" >/dev/null
becomes "$review" 'done'
"$SLUICE" delete "$good" >/dev/null
add --project web --run-tokens 100 --retries 3 --title 'too much' -- sh -c 'sluice report --tokens-in 150; exit 1'
budget=$id
becomes "$budget" held
run sluice digest
has "- **$review** rewrite the parser (" 'what was approved is done'
rule 'a task that is held and has an alert is listed once' [ "$(grep -c "^- \*\*$budget" out)" = 1 ]
rule 'what was deleted is not named any more' not grep -q 'script' out
finish
