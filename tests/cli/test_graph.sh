#!/bin/sh
# sluice graph: the graph of dependencies, on a terminal, in a pipe, and in formats for other programs.
# shellcheck disable=SC1091,SC2034,SC2154 # lib.sh and daemon.sh set home, tmp and id
. "$(dirname "$0")/lib.sh"
. "$here/daemon.sh"
LC_ALL=C.UTF-8
export LC_ALL
config 'limits: {runs: 2}
host: {disk_free_gb: 0}
projects: {web: , api: }'

run sluice graph
exits 3 'without a daemon: exit code'
start
run sluice graph
exits 0 'an empty queue: exit code'
prints 'no matching open task; --all includes finished tasks' 'an empty queue'

add --project web --title 'plan' -- true
plan=$id
becomes "$plan" 'done'
"$SLUICE" down --wait >/dev/null 2>&1
start # the new daemon has no history of durations and assumes five minutes
"$SLUICE" pause >/dev/null
add --project web --after "$plan" --title 'write the parser' -- true
parser=$id
add --project web --after "$plan" --title 'write the printer' -- true
printer=$id
add --project web --after "$parser" --after "$printer" --title 'put together' -- true
add --project web --parent "$id" --title 'say so' -- true
bad=$(printf 'red <b onload="x">&amp;\\ " live')
add --project api --title "$bad" -- true
hostile=$id

run sluice graph
exits 0 'a tree: exit code'
prints "✓ web-1 done  plan
├─ ◉ web-2 ready  write the parser *
│  └─ ○ web-4 waiting  put together * after web-3
│     └─ ○ web-5 waiting  say so *
└─ ◉ web-3 ready  write the printer
◉ api-6 ready  red <b onload=\"x\">&amp;\\ \" live
* the longest chain: about 15 min" 'a tree: each task once, what else comes before it behind'
rule 'and nothing that turns the line around' not grep -q "$(printf '\342\200\256')" out
LC_ALL=C run sluice graph "$printer"
prints "+ web-1 done  plan
\`- o web-3 ready  write the printer *
   \`- . web-4 waiting  put together *
      \`- . web-5 waiting  say so *
* the longest chain: about 15 min" 'of a task: what it waits for and what waits for it; without UTF-8 in ASCII'
run sluice graph --project api
has "$hostile" 'of a project'
run sluice graph --all --limit 1
has "$hostile" 'the newest ones'
says "sluice: only the first 1 tasks are shown; use '--limit N' to show up to 20000" 'and that there are more'
run sluice graph --json "$plan"
has '"critical_ms":900000' 'as JSON'

# --- for other programs --------------------------------------------------------------------------------

run sluice graph --format svg
has '&lt;b onload=&quot;x&quot;&gt;&amp;amp;\ &quot; live' 'in a picture every letter is a letter'
rule 'and nothing else is in it' not grep -q '<b \|<script\|href' out
if command -v xmllint >/dev/null; then
    cp out graph.svg
    run xmllint --noout graph.svg
    exits 0 'the picture is well-formed'
fi
run sluice graph --format dot
has 'n5 [label="◉ api-6\nred <b onload=\"x\">&amp;\\ \" live"' 'dot: quotes and backslashes are escaped'
has 'n1 -> n3 [penwidth=3];' 'dot: the longest chain is thick'
has 'n3 -> n4 [style=dashed, penwidth=3];' 'dot: a child hangs on a dashed line'
if command -v dot >/dev/null; then
    cp out graph.dot
    run dot -Tsvg -o /dev/null graph.dot
    exits 0 'Graphviz draws it'
fi
run sluice graph --format mermaid
has '#60;b onload=#34;x#34;#62;#38;amp#59;#92; #34; live"]:::ready' 'mermaid: nothing is left that means something'

# --- usage errors ----------------------------------------------------------------------------------------

run sluice graph --format png
exits 2 'another format: exit code'
says "sluice: unknown format 'png'; expected ascii, dot, mermaid or svg
usage: sluice graph [ID | --project NAME | --group NAME] [--format ascii|dot|mermaid|svg] ..." 'another format'
run sluice graph web-1 --project web
exits 2 'two at once'
run sluice graph web-99
exits 1 'no such task: exit code'
says "sluice: there is no task 'web-99'" 'no such task'
run sluice graph --project wbe
says "sluice: there is no project 'wbe'; did you mean 'web'?" 'no such project'
run sluice graph --limit 20001
exits 2 'too many'
finish
