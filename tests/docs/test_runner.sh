#!/bin/sh
# The test runner for documents detects errors in them, and every document has a test.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # lib.sh sets root and tmp, reads code; $ and backticks are those of documents
. "$(dirname "$0")/../cli/lib.sh"

# --- documents and exemptions -------------------------------------------------------------------

pages=$(cd "$root" && ls README.md docs/guide/*.md docs/migrate/*.md)
for page in $pages; do
    script=$(cd "$root/tests/docs" && grep -lxF "document $page" test_*.sh | head -n 1)
    name=${script#test_}
    [ -n "$script" ] || name=${page#docs/guide/} # played without a script
    name=${name%.*}
    grep -qxF "    '$name'," "$root/tests/docs/meson.build"
    report $? "$page has a test"
done

tested=$(cd "$root/tests/docs" && sed -n 's/^document //p' test_*.sh | paste -sd ' ')
tested="$tested $(cd "$root" && echo docs/guide/*.md)"

# exemptions FILE: checks that there are at most eight, each with a tested document, block or command, a line and a reason.
exemptions() {
    grep -v '^#' "$1" >out
    [ "$(wc -l <out)" -le 8 ] && ! awk -F ' :: ' -v tested="$tested" '
        NF == 4 && (" " tested " ") ~ (" " $1 " ") && ($2 == "block" || $2 == "command") && $3 != "" && length($4) > 10 { next } { print "wrong: " $0 }' out | grep .
}
rule 'at most eight blocks are exempt, each with its reason' exemptions "$root/tests/docs/exempt.txt"
{ cat "$root/tests/docs/exempt.txt" && yes 'README.md :: command :: sluice status :: a reason that is long enough' | head -n 8; } >many
rule 'another one is found' not exemptions many
printf 'README.md :: command :: sluice status :: \n' >unfounded
! exemptions unfounded >/dev/null
report $? 'so is one without a reason'
echo 'docs/other.md :: command :: sluice status :: a reason that is long enough' >elsewhere
! exemptions elsewhere >/dev/null
report $? 'so is one of a document that is not run'

# --- correct documents, and documents with one error -------------------------------------------

# A copy of the files that the runner needs.
mkdir -p tree/tests/docs
ln -s "$root/docs" tree/docs
for name in cli fixtures; do
    ln -s "$root/tests/$name" "tree/tests/$name"
done
for name in agent blocks.awk kit.sh play.sh shown.awk; do
    ln -s "$root/tests/docs/$name" tree/tests/docs/
done
: >tree/tests/docs/exempt.txt

# plays 'TEXT' [SCRIPT]: runs the text as page.md; sets $code, and writes the results to out.
plays() {
    printf '%s\n' "$1" >tree/page.md
    if [ -n "${2-}" ]; then
        printf '. "$(dirname "$0")/kit.sh"\ndocument page.md\n%s\nplayed\n' "$2" >tree/tests/docs/test_page.sh
        sh tree/tests/docs/test_page.sh >out 2>err
    else
        sh tree/tests/docs/play.sh page.md >out 2>err
    fi
    ! grep -q '^not ok' out
    code=$?
}

# finds POSITION TEXT 'what': asserts that one result for this position of page.md is not ok and prints TEXT.
finds() {
    place="page.md$1" text=$2 awk '
        /^not ok/ { on = index($0, ENVIRON["place"]); count += on > 0 }
        /^ok/ { on = 0 }
        on && (ENVIRON["text"] == "" || index($0, ENVIRON["text"])) { found = 1 }
        END { exit count != 1 || !found }' out
    report $? "$3"
}

plays 'Some text: `sluice list --parent ID`, `sluice project pause web`, `sluice config set limits.runs=2`, `sluice run -- COMMAND --option`.

```sh
mkdir -p here && cd here    # a comment
# a comment alone

export WORD=word
cat >file <<EOF
one $WORD
two
EOF
grep -q "one word" \
    file
```

  ```sh
  [ "$(basename "$PWD") $WORD" = "here word" ]
  for i in 1 2; do
      echo $i
  done
  ```

```console
$ cat file
one word
two
$ echo "it took 17 s at 12:34, pid 4711"
it took 3 s at 23:59, pid 1
$ printf "a\nb\nc\nd\n"
a
…
d
$ echo hello world
hello …
$ exit 7
$ echo $?
7
```

```yaml
limits: {runs: 3}
agents:
  claude: {args: [--one, "two words"]}
```

```sh
[ "$(sluice config get limits.runs)" = 3 ]
sluice config get agents.claude.args | grep -qF "two words"
```

```yaml
# a file
- run: make
```

```yaml
group: night
tasks:
  - prompt: say hello
    agent: claude
```

```yaml
# formulas/greet.yaml
vars: {name: world}
steps:
  - run: echo {{name}}
```

```sh
sluice list | grep draft
sluice add --formula greet --var name=you
```

```json
{"a": [1, 2]}
```

```text
a --> b
```'
exits 0 'a document that is right'
rule 'each command is a result' [ "$(grep -c '^ok' out)" = 33 ]

plays '```sh
true
sluice nonsense
no-such-program
echo $NOT_SET
echo "open
```

```console
$ echo one
one
$ echo two
three
$ printf "four\nfive\n"
four
$ echo six
six
seven
$ false
```

```console
eight
```

```yaml
limits: {rnus: 3}
```

```json
{"a":}
```

```text
sluice status
```

```yaml
- rnu: make
```

```yaml
# formulas/greet.yaml
steps:
  - run: echo {{name}}
```

`sluice nonsense ID`, `sluice list --nonsense`, `sluice config set limits.rnus=1`'
finds ':3: sluice nonsense' 'exit code 2' 'a command that fails'
finds ':4: no-such-program' 'exit code 127' 'a program that does not exist'
finds ':5: echo $NOT_SET' 'NOT_SET: parameter not set' 'a variable that is not set'
finds ':6: the command has no end' '' 'a command without an end'
finds ':12: prints what is shown' 'printed: two' 'another output than the one that is shown'
finds ':14: prints what is shown' 'printed: five' 'more output than is shown'
finds ':16: prints what is shown' 'shown:   seven' 'less output than is shown'
finds ':19: false' 'exit code 1' 'a failure that the transcript does not show'
finds ':22: a console has' '' 'a transcript without a command'
finds ':26: settings' rnus 'a setting that does not exist'
finds ':30: is JSON' '' 'JSON that is none'
finds ':34: text has no commands' '' 'commands that are hidden as text'
finds ':38: tasks' "no 'rnu'" 'tasks with an unknown member'
finds ':42: formula' name 'a formula with an unknown variable'
finds ': the commands in the text exist' "there is no 'sluice nonsense'" 'a command in the text that does not exist'
finds ': the commands in the text exist' "'sluice list' has no '--nonsense'" 'so with an option'
finds ': the commands in the text exist' limits.rnus 'and with a setting'
rule 'and nothing else' [ "$(grep -c '^not ok' out)" = 15 ]
plays '```
true
```

```bash
true
```

```sh
true'
finds ': each block' '1: the block has no kind' 'a block without a kind'
finds ': each block' "5: unknown kind of block 'bash'" 'an unknown kind'
finds ': each block' '9: the block has no end' 'a block without an end'

# --- agents ---------------------------------------------------------------------------------

agent='```sh
sluice config set agents.claude.args="--allowedTools Bash"
sluice add --agent claude "say hello"
```'
plays "$agent" 'agents_can_log; play; drained; are "done" t-1; prompted "say hello" "the prompt"'
exits 0 'an agent with its adapter'
plays "$agent" 'agents_can_log; play; drained
prompted "say goodbye" "page.md: the prompt"
are failed t-1
echo elsewhere >"$log/t-1.1.sandbox"'
finds ': the prompt' 'say hello' 'a prompt that no agent has got'
finds ': t-1 is failed' 'state       done' 'a task that ended in another way'
finds ': each agent is in a sandbox' 'out: elsewhere' 'an agent that is not in the sandbox'
plays '```sh
sluice config set agents.claude.command="claude -p"
sluice add --agent claude "say hello"
```' 'agents_can_log; play; drained'
finds ': each agent is started through its adapter' 'claude -p' 'an agent whose command replaces its adapter'

# --- hooks of a test, and exempt.txt ----------------------------------------------------------

plays '```sh
echo one
echo two
```' 'touched() { : >"$tmp/touched"; }
before "echo two" touched
play
[ -e "$tmp/touched" ]; report $? "the hook"
says_that "echo two" two'
exits 0 'something is done before a command'
plays '```sh
echo one
```

```yaml
- run: make
```' 'seen() { grep -q make "$1"; }
unseen() { grep -q nonsense "$1"; }
instead "- run" seen
instead "echo one" unseen
play'
finds ':1: unseen' '' 'something is done instead of playing a block, and may fail'
rule 'or not' [ "$(grep -c '^not ok' out)" = 1 ]
plays '```sh
echo one
```' 'before "echo two" true; before "echo one" false; play; says_that "echo one" two'
finds ': has the commands' 'echo two' 'a hook for a command that the document does not have'
finds ":2: before 'echo one'" '' 'a hook that fails'
finds ": 'echo one' prints 'two'" 'out: one' 'an output without the words that it should have'

echo 'page.md :: command :: make install :: it would install something
page.md :: block :: make other :: it would install something else' >tree/tests/docs/exempt.txt
plays '```sh
echo one
make install
```

```sh
make other
nonsense
```'
exits 0 'what is exempt is not run'
plays '```sh
echo one
make install
```'
finds ': has the commands' 'make other' 'an exemption that names nothing'
plays '```sh
make install
make other
```'
exits 1 'only its first line names a block'
echo 'page.md :: command :: make install :: it would install something' >tree/tests/docs/exempt.txt
plays '```sh
make install
make install
```'
finds ': has the commands' 'make install' 'one exemption for two commands'
finish
