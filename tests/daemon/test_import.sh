#!/bin/sh
# Cards of a board and beads become tasks; with mirroring, the state of a task is written back to its card.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"
config 'preset: agency
limits: {runs: 4}
retry: {failed: {max: 0}}
kinds: {implement: {max_running: 4}, review: {max_running: 4}}
agents: {claude: {command: [cat]}, bad: {command: ["false"]}}
projects: {web: , gt: , hq: {coordination: true}}'
start
sums() { # of all cards, by name
    (cd board && find . -type f | sort | xargs cksum)
}
card() { # FILE FRONT BODY: writes a card with CRLF and a comment, like one written by a person
    mkdir -p "$(dirname "board/$1")"
    printf -- '---\r\nowner: ann  # a comment\r\n%b---\r\n%b' "$2" "$3" >"board/$1"
}

# --- f004, f061, f106: fields of a card -----------------------------------------------------------------------

card phase-1-setup/backlog/1.1-login.md 'agent_flow: implement\r\nagent_status: idle\r\nbranch: implement/login\r\n' \
    '# Login\r\n\r\nMake it work.\r\n\r\nHistory:\r\n- 2026-01-01: made\r\n\r\nNotes:\r\nkeep me\r\n'
card phase-1-setup/in-progress/1.2-look.md 'agent_flow: review\r\nparallelizable: true\r\n' 'Look at it.'
card phase-1-setup/done/1.0-begin.md 'agent_flow: implement\r\n' 'Over.'
card phase-2-more/backlog/2.1-more.md 'agent_flow: implement\r\nagent_status: succeeded\r\n' 'More.'
echo 'no card' >board/phase-1-setup/backlog/readme.txt
"$SLUICE" pause >/dev/null
before=$(sums)
run sluice import cards --agent claude --project web --dry-run board
prints 'would be added (phase-1-setup/in-progress/1.2-look.md)
would be added (phase-1-setup/backlog/1.1-login.md)
2 would be added, 0 already, 1 skipped, 0 refused' 'f004 a dry run: what is done is left out'
says "sluice: phase-2-more/backlog/2.1-more.md skipped: its agent_status is succeeded
sluice: 'base_branch' has no effect: project 'web' has no worktrees (projects.web.workspace_mode)" \
    'f004 and what has succeeded; a branch without worktrees is told'
rule 'f004 it adds nothing' [ -z "$("$SLUICE" list --ids)" ]
run sluice import cards --agent claude --project web board
has '2 added, 0 already, 1 skipped, 0 refused' 'f106 the cards are queued'
run sluice show --json web-2
has '"kind":"implement","title":"Login"' 'f004 the flow is the kind, the heading the title'
has '"serial":"phase-1-setup"' 'f004 the phase is the serial lock'
has '"base_branch":"implement/login"' 'f004 the branch is where it starts from'
has '"prompt":"# Login\r\n\r\nMake it work.' 'f004 the body is the prompt'
has '"external_id":"phase-1-setup/1.1-login.md"' 'f004 the card is its name'
run sluice show --json web-1
has '"parallelizable":true' 'f004 parallelizable'
run sluice import cards --agent claude --project web board
exits 0 'f060 importing again is well'
has '0 added, 2 already' 'f060 and adds nothing'
mkdir -p board/phase-1-setup/in-progress
mv board/phase-1-setup/backlog/1.1-login.md board/phase-1-setup/in-progress/
run sluice import cards --agent claude --project web board
has '0 added, 2 already' 'f060 a card that was moved to another column is the same card'
mv board/phase-1-setup/in-progress/1.1-login.md board/phase-1-setup/backlog/

# --- f116: without mirroring the files are not changed ----------------------------------------------------------

"$SLUICE" resume >/dev/null
becomes web-1 'done'
becomes web-2 'done'
"$SLUICE" down --wait >/dev/null 2>&1 # all pending writes are done
start
rule 'f116 the cards are byte for byte as they were' [ "$(sums)" = "$before" ]

# --- f069: a board that is longer than the queue ------------------------------------------------------------------

"$SLUICE" pause >/dev/null
"$SLUICE" config set queue.soft=100 queue.hard=16 >/dev/null
mkdir -p long/phase-1/backlog
i=0
while [ $i -lt 30 ]; do
    i=$((i + 1))
    printf -- '---\nagent_flow: implement\n---\ncard %s\n' $i >long/phase-1/backlog/$i.md
done
before=$(last_event)
run sluice import cards --agent claude --project web --dry-run long
exits 4 'f069 a dry run of a board of 30 says that some are deferred'
has '16 would be added, 0 already, 0 skipped, 0 refused, 14 deferred' 'f069 it applies the limit of the queue'
rule 'f069 and stores nothing' [ "$(last_event)" = "$before" ]
grep -o '^would be added .*' out | sed 's/.* //' >promised
run sluice import cards --agent claude --project web long
exits 4 'f069 the import fills the queue, and defers the rest'
has '16 added, 0 already, 0 skipped, 0 refused, 14 deferred' 'f069 as the dry run has promised'
grep ' queued ' out | sed 's/.* //' >kept
compare promised kept 'f069 the same cards'
has 'deferred (phase-1/backlog/30.md)' 'f069 each deferred card is named'
says 'sluice: 14 deferred: the queue is full (queue.hard); import again later to continue' 'f069 and what to do'
run sluice import cards --agent claude --project web --json long
exits 4 'f069 again, while nothing has moved'
rule 'f069 the deferred are in the JSON' [ "$(grep -o '"result":"deferred"' out | wc -l)" = 14 ]
"$SLUICE" cancel --all --project web >/dev/null
"$SLUICE" delete --all --project web >/dev/null 2>&1
run sluice import cards --agent claude --project web --keep-going long
has '14 deferred' 'f069 deleted cards come again'
"$SLUICE" config set queue.hard=1000 >/dev/null
run sluice import cards --agent claude --project web --json long
exits 0 'f069 repeating the import continues'
rule 'f069 with those that were deferred' [ "$(grep -o '"result":"queued"' out | wc -l)" = 14 ]
"$SLUICE" cancel --all --project web >/dev/null
"$SLUICE" resume >/dev/null
mkfifo long/phase-1/backlog/31.md
run sluice import cards --agent claude --project web long
exits 2 'a card that is a FIFO is refused'
complains 'is a FIFO, not a regular file' 'and not waited for'

# --- all or nothing ------------------------------------------------------------------------------------------------

mkdir -p bad/phase-1/backlog
printf -- '---\nagent_flow: implement\n---\ngood\n' >bad/phase-1/backlog/a.md
printf -- '---\nagent_flow: implement\nagent_status: asleep\n---\nbad\n' >bad/phase-1/backlog/b.md
printf -- '---\nagent_flow: dance\n---\nunknown flow\n' >bad/phase-1/backlog/c.md
printf 'no front matter\n' >bad/phase-1/backlog/d.md
before=$(last_event)
run sluice import cards --agent claude --project web bad
exits 2 'impossible front matter is refused'
complains "phase-1/backlog/b.md:3: 'agent_status': expected idle, queued, running, succeeded, failed or canceled, got 'asleep'" \
    'with file and line'
rule 'and nothing is added' [ "$(last_event)" = "$before" ]
run sluice import cards --agent claude --project web --keep-going --json bad
exits 2 '--keep-going adds the others, and says that some were wrong'
rule '--keep-going: one is added' [ "$(grep -o '"id":"web-[0-9]*"' out | wc -l)" = 1 ]
rule '--keep-going: each mistake is told' [ "$(grep -c '^sluice: ' err)" = 3 ]
rule '--keep-going: also those of the daemon' grep -q "c.md: .*there is no kind 'dance'" err

# --- f155: mirroring writes the card -----------------------------------------------------------------------------

rm -rf board
card phase-9/backlog/a.md 'agent_flow: implement\r\nagent_status: idle # state\r\n' \
    '# A\r\n\r\nHistory:\r\n- 2026-01-01: made\r\n\r\nNotes:\r\nkeep me\r\n'
card phase-9/backlog/b.md 'agent_flow: review\r\n' 'Fail.'
chmod 640 board/phase-9/backlog/a.md
cp board/phase-9/backlog/a.md a.before
yesterday=$(date +%F) # if midnight is near
run sluice import cards --agent claude --project web --mirror board --json
a=$(grep -o '"id":"web-[0-9]*"' out | head -n 1 | grep -o 'web-[0-9]*')
appears 'agent_status: succeeded' board/phase-9/backlog/a.md
today=$(date +%F)
for state in queued running succeeded; do
    rule "f155 one dated line of history: $state" grep -Eq "^- ($yesterday|$today): agent $state \(${a}[ .]" board/phase-9/backlog/a.md
done
sed "/agent [a-z]* ($a/d" board/phase-9/backlog/a.md | sed 's/agent_status: succeeded/agent_status: idle/' >a.after
compare a.before a.after 'f155 and no other byte has changed, CRLF and comments included'
rule 'f155 the mode is kept' [ "$(stat -c %a board/phase-9/backlog/a.md)" = 640 ]
soon sh -c '[ "$(find board/phase-9/backlog -type f | wc -l)" = 2 ]' # a temporary file of the other card may exist for a moment
rule 'f155 nothing is left beside it' [ "$(find board/phase-9/backlog -type f | wc -l)" = 2 ]
appears 'agent_status: succeeded' board/phase-9/backlog/b.md
card phase-9/backlog/c.md 'agent_flow: review\r\n' 'Fail.'
"$SLUICE" pause >/dev/null
run sluice import cards --agent bad --project web --mirror --json board
c=$(grep -o '"id":"web-[0-9]*","result":"queued' out | grep -o 'web-[0-9]*')
"$SLUICE" cancel "$c" >/dev/null 2>&1
"$SLUICE" resume >/dev/null
appears 'agent_status: canceled' board/phase-9/backlog/c.md
rule 'f155 canceled' grep -q "agent canceled ($c" board/phase-9/backlog/c.md

card phase-9/backlog/f.md 'agent_flow: review\r\n' 'Fail.'
"$SLUICE" import cards --agent bad --project web --mirror board >/dev/null 2>&1
appears 'agent_status: failed' board/phase-9/backlog/f.md
rule 'f155 failed, with what is known of it' grep -q 'agent failed: retries (web-[0-9]*\.1 #[0-9]*): .*1' board/phase-9/backlog/f.md

# A failed launch is written to the card with its error, even if it is retried.
"$SLUICE" config set agents.absent.command=/nowhere/at/all retry.failed.max=5 retry.failed.delay_s=3600 \
    retry.failed.cap_s=3600 >/dev/null
card phase-9/backlog/l.md 'agent_flow: review\r\n' 'Launch.'
"$SLUICE" import cards --agent absent --project web --mirror board >/dev/null 2>&1
rule 'f155 f083 a launch that fails is written on the card' appears 'agent_status: failed' board/phase-9/backlog/l.md
rule 'f155 f083 with its error' grep -q 'agent failed: retry (web-[0-9]*\.1 #[0-9]*): .*/nowhere/at/all' board/phase-9/backlog/l.md
card phase-9/backlog/m.md 'agent_flow: review\r\n' 'Fail.'
"$SLUICE" import cards --agent bad --project web --mirror board >/dev/null 2>&1
appears 'agent queued: retry' board/phase-9/backlog/m.md
rule 'f155 a failed run that is tried again says why' grep -q 'agent queued: retry (web-[0-9]*\.1 #[0-9]*): .*1' board/phase-9/backlog/m.md
"$SLUICE" cancel --all --project web >/dev/null
"$SLUICE" config set retry.failed.max=0 >/dev/null

# Changes while no daemon runs: the daemon is killed, the card is edited and moved.
"$SLUICE" pause >/dev/null
card phase-9/backlog/d.md 'agent_flow: review\r\n' 'Later.\r\n'
run sluice import cards --agent claude --project web --mirror --json board
d=$(grep -o '"id":"web-[0-9]*","result":"queued' out | grep -o 'web-[0-9]*')
appears 'agent_status: queued' board/phase-9/backlog/d.md
kill -9 "$(pid_of_daemon)"
echo 'written by hand' >>board/phase-9/backlog/d.md
mkdir -p board/phase-9/in-progress
mv board/phase-9/backlog/d.md board/phase-9/in-progress/d.md
"$SLUICE" up >/dev/null 2>&1
"$SLUICE" resume >/dev/null
appears 'agent_status: succeeded' board/phase-9/in-progress/d.md
rule 'f155 what people write stays' grep -q '^written by hand' board/phase-9/in-progress/d.md
rule 'f155 a card that was moved is found' [ ! -e board/phase-9/backlog/d.md ]
rule 'f155 after a kill -9 no line is written twice' [ "$(grep -c "agent queued ($d" board/phase-9/in-progress/d.md)" = 1 ]
card phase-9/backlog/e.md 'agent_flow: review\r\n' 'Gone.\r\n'
"$SLUICE" pause >/dev/null
run sluice import cards --agent claude --project web --mirror --json board
e=$(grep -o '"id":"web-[0-9]*","result":"queued' out | grep -o 'web-[0-9]*')
appears 'agent_status: queued' board/phase-9/backlog/e.md
rm board/phase-9/backlog/e.md
"$SLUICE" resume >/dev/null
becomes "$e" 'done'
"$SLUICE" down --wait >/dev/null 2>&1
rule 'f155 a card that vanished is logged once' [ "$(grep -c 'e.md. of task .* is gone' "$home/sluice.log")" = 1 ]
rule 'f155 and not made again' [ ! -e board/phase-9/backlog/e.md ]
start

# A run cannot make the daemon write to a file of its choice: only imported tasks have cards, also after a restart.
card phase-9/backlog/g.md 'agent_flow: review\r\n' 'Not yours.\r\n'
mv board/phase-9/backlog/g.md notes.md
cp notes.md notes.before
echo "- {agent: claude, prompt: x, hold: true, meta: {card: $tmp/notes.md, mirror: true}}" >child.yaml
add -p web -- "$SLUICE" add -f "$tmp/child.yaml"
child=web-$((${id#web-} + 1))
becomes "$child" held
"$SLUICE" down --wait >/dev/null 2>&1
start
"$SLUICE" release "$child" >/dev/null
becomes "$child" 'done'
card phase-9/backlog/h.md 'agent_flow: review\r\n' 'A card.\r\n'
run sluice import cards --agent claude --project web --mirror --json board
rule 'a card is still written' appears 'agent_status: succeeded' board/phase-9/backlog/h.md
compare notes.before notes.md 'a file that a run names is not'

# --- beads ------------------------------------------------------------------------------------------------------------

cat >beads.json <<'END'
[{"id":"gt-a1","title":"Fix the door","description":"It sticks.","priority":0,"issue_type":"bug","labels":["door"]},
 {"id":"gt-b2","title":"Only a title"},
 {"id":"gt-c3","title":"An epic","issue_type":"epic"},
 {"id":"gt-d4","title":"Hooked","status":"hooked"},
 {"id":"hq-1","title":"Coordinate"}]
END
run sluice import beads --agent claude --draft beads.json
exits 0 'f010 beads are added'
has '2 added, 0 already, 3 skipped, 0 refused' 'f011 what nobody works on is left out'
rule 'f011 each with a warning' [ "$(grep -c ' skipped: ' err)" = 3 ]
rule 'f101 one that is worked on already is left out' grep -q '^sluice: gt-d4 skipped: it is already being worked on' err
bead=$(sed -n 's/ draft (gt-a1)//p' out)
run sluice show --json "$bead"
has '"project":"gt"' 'f011 the project is that of the prefix'
has '"title":"Fix the door"' 'f010 the title'
has '"prompt":"Fix the door\n\nIt sticks."' 'f010 title and description are the prompt'
has '"priority":80' 'f010 priority 0 comes before the others'
has '"meta":{"bead":"gt-a1","type":"bug","labels":["door"]}' 'f010 type and labels are kept'
run sluice import beads --agent claude --draft - <beads.json
has '0 added, 2 already' 'f100 importing again adds nothing'
printf '{"issues":[{"id":"gt-z9","title":"In an object"},{"id":"xx-1","title":"Nobody"}]}' >object.json
run sluice import beads --agent claude --draft object.json
exits 2 'f011 a prefix that no project has is refused'
complains "bead 'xx-1': no project has the prefix of its id; give --project" 'f011 and says so'
run sluice import beads --agent claude --draft --keep-going object.json
has '1 added' 'both shapes are read'
mkdir bin
printf '#!/bin/sh\n[ "$1 $2" = "ready --json" ] && echo "[{\\"id\\":\\"gt-q\\",\\"title\\":\\"From bd\\"}]"\n' >bin/bd
chmod +x bin/bd
PATH=$tmp/bin:$PATH
run sluice import beads --agent claude --draft
has '(gt-q)' 'without a file bd is asked'

# --- relations between beads -------------------------------------------------------------------------------------

cat >linked.json <<'END'
[{"id":"gt-l3","title":"last","dependencies":[{"issue_id":"gt-l3","depends_on_id":"gt-l2","type":"blocks"},
  {"issue_id":"gt-l3","depends_on_id":"gt-a1","type":"blocks"},
  {"issue_id":"gt-l3","depends_on_id":"gt-b2","type":"related"},
  {"issue_id":"gt-l3","depends_on_id":"gt-l0","type":"blocks"}]},
 {"id":"gt-l2","title":"second","parent":"gt-l1"},
 {"id":"gt-l1","title":"first"},
 {"id":"gt-l4","title":"below","dependencies":[{"depends_on_id":"gt-l1","type":"parent-child"}]},
 {"id":"gt-l5","title":"blocked","dependencies":["gt-l6"]},
 {"id":"gt-l6","title":"at work","status":"in_progress"},
 {"id":"gt-l0","title":"over","status":"closed"},
 {"id":"gt-l7","title":"lost","dependencies":["gt-nowhere"]}]
END
run sluice import beads --agent claude --draft --keep-going linked.json
has '5 added, 0 already, 3 skipped, 0 refused' 'what waits for a bead that is left out is left out'
says_one() { grep -qF -e "$1" err; }
rule 'and says so' says_one "gt-l5 skipped: it depends on 'gt-l6', which is not imported"
rule 'a dependency that is not known is named' says_one "gt-l7: 'gt-nowhere', which it depends on, is neither imported nor known here"
second=$("$SLUICE" list --external-id gt-l2 --ids)
first=$("$SLUICE" list --external-id gt-l1 --ids)
run sluice show --json gt-l3
rule 'dependencies are kept: of the import, and of an earlier one; closed ones are met' \
    grep -qF "\"depends_on\":[\"$second\",\"$bead\"]" out
has '"depends_on_id":"gt-b2","type":"related"' 'all of them stand in meta'
run sluice show --json gt-l2
rule 'the parent is kept' grep -q "\"parent\":\"$first\"" out
has '"parent_gate":"none"' 'and does not block'
run sluice show --json gt-l4
rule 'also as a dependency of type parent-child' grep -q "\"parent\":\"$first\"" out
finish
