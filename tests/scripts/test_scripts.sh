#!/bin/sh
# The checks of scripts/ find what they are for, and are silent about what is right.
# Each case gets a small tree of its own. Prints TAP.
set -u

scripts=$(cd "${1:?usage: test_scripts.sh FOLDER-OF-THE-PROJECT AWAIT}/scripts" && pwd) || exit 1
await=$(readlink -f "${2:?usage: test_scripts.sh FOLDER-OF-THE-PROJECT AWAIT}") || exit 1 # cases run in other folders
top=$(mktemp -d)
trap 'rm -rf "$top"' EXIT
trees=0
number=0
failures=0

# A fresh tree with one good file per folder; the case runs in it.
fresh() {
    trees=$((trees + 1))
    tree=$top/$trees
    mkdir -p "$tree/src/base" "$tree/src/core" "$tree/src/os" "$tree/src/cli" "$tree/tests/unit"
    cd "$tree" || exit 1
    printf '/* x.h */\n#pragma once\n\nint x_get(int a);\n' >src/base/x.h
    printf '/* exit(1) */\n#include "base/x.h"\n\nint x_get(int a) {\n    return a;\n}\n' >src/base/x.c
    printf '#include "base/x.h"\n#include <stdint.h>\n' >src/core/y.c
}

# expect NAME CODE TEXT COMMAND...: exit code, and a text that the output has ('' = it has none)
expect() {
    name=$1 code=$2 text=$3
    number=$((number + 1))
    shift 3
    output=$("$@" 2>&1 </dev/null)
    got=$?
    if [ "$got" = "$code" ] && case $output in *"$text"*) [ -n "$text$code" ] ;; *) false ;; esac &&
        { [ -n "$text" ] || [ -z "$output" ]; }; then
        echo "ok $number - $name"
    else
        echo "not ok $number - $name"
        printf 'exit code %s, expected %s with "%s"; output:\n%s\n' "$got" "$code" "$text" "$output" |
            sed 's/^/# /'
        failures=$((failures + 1))
    fi
}

# --- check-layers ---------------------------------------------------------------------------------

fresh
expect 'layers: a good tree is silent' 0 '' "$scripts/check-layers" .

fresh
printf '\n#include "cli/main.h"\n' >>src/core/y.c
expect 'layers: core may not see cli' 1 'src/core/y.c:4: core/ may not see cli/' "$scripts/check-layers" .

fresh
printf '#include "os/clock.h"\n' >>src/base/x.c
expect 'layers: base sees nothing' 1 'src/base/x.c:7: base/ may not see os/' "$scripts/check-layers" .

fresh
printf '#include <time.h>\n' >>src/core/y.c
expect 'layers: core has no clock' 1 'src/core/y.c:3: core/ is pure and may not include <time.h>' \
    "$scripts/check-layers" .

fresh
printf '#include <sys/socket.h>\n' >>src/core/y.c
expect 'layers: core has no sockets' 1 '<sys/socket.h>' "$scripts/check-layers" .

fresh
printf '#include "core/state_internal.h"\n' >src/cli/z.c
expect 'layers: internal headers are private' 1 'is private to core/' "$scripts/check-layers" .

fresh
printf '/* state.h: all of it. Private to core/. */\n#pragma once\n' >src/core/state.h
printf '#include "core/state.h"\n' >src/cli/z.c
expect 'layers: a header may say that it is private' 1 'src/cli/z.c:1: "core/state.h" is private to core/' \
    "$scripts/check-layers" .

fresh
printf '#include "core/state_internal.h"\n#include "base/x.h"\n' >tests/unit/test_core_state.c
expect 'layers: tests may look inside' 0 '' "$scripts/check-layers" .

fresh
printf '#include "os/clock.h"\n' >tests/unit/test_core_state.c
expect 'layers: a unit test sees what its folder sees' 1 'core/ may not see os/' "$scripts/check-layers" .

fresh
mkdir src/util && printf '#include <stdio.h>\n' >src/util/u.c
expect 'layers: a new folder needs a row' 1 'folder src/util has no row' "$scripts/check-layers" .

fresh
printf '#include "y.h"\n' >>src/core/y.c
expect 'layers: an include names its folder' 1 'write "core/y.h"' "$scripts/check-layers" .

# --- check-calls ----------------------------------------------------------------------------------

fresh
printf '/* time(NULL)\n * exit(1) */\nchar *t = "exit(1)"; // abort()\nint a = my_exit(1) + o->exit(1);\n' \
    >>src/core/y.c
expect 'calls: comments, texts and members do not count' 0 '' "$scripts/check-calls" .

fresh
printf 'void f(void) {\n    exit(1);\n}\n' >>src/core/y.c
expect 'calls: exit is for main.c' 1 'src/core/y.c:4: exit() is not for this file' "$scripts/check-calls" .

fresh
printf 'void f(void) {\n    exit(1);\n}\n' >src/cli/main.c
expect 'calls: main.c may exit' 0 '' "$scripts/check-calls" .

fresh
printf 'long f(void) {\n    return time (NULL);\n}\n' >src/cli/z.c
expect 'calls: only os reads the clock' 1 'src/cli/z.c:2: time() is not for this file' \
    "$scripts/check-calls" .

fresh
printf 'long f(void) {\n    return time(NULL);\n}\n' >src/os/clock.c
expect 'calls: os reads the clock' 0 '' "$scripts/check-calls" .

# --- check-opens ----------------------------------------------------------------------------------

fresh
printf '/* open(x) */\nint f(void) {\n    return o->open(1) + outside_open(0, "x", 0, 0, 0);\n}\n' >>src/core/y.c
expect 'opens: comments and members do not count' 0 '' "$scripts/check-opens" .

for call in 'open("x", 0)' 'openat(1, "x", 0)' 'fopen("x", "r")' 'opendir("x")' 'mkstemp(x)'; do
    fresh
    mkdir src/engine
    printf 'int f(void) {\n    return %s;\n}\n' "$call" >src/engine/z.c
    expect "opens: $call is found" 1 "src/engine/z.c:2: ${call%%(*}() is not for this file: use outside_open" "$scripts/check-opens" .
done

fresh
printf 'int f(void) {\n    return open("x", 0) + syscall(SYS_openat2, 1);\n}\n' >src/os/z.c
expect 'opens: os/ opens files' 0 '' "$scripts/check-opens" .

fresh
mkdir src/engine
printf 'long f(void) {\n    return syscall(SYS_openat, 1, "x", 0);\n}\n' >src/engine/z.c
expect 'opens: the system call is found' 1 'src/engine/z.c: it makes the system call itself' "$scripts/check-opens" .

fresh
mkdir src/engine
printf 'int f(void) {\n    return file_read_any("x", 1, 0, 0);\n}\n' >src/engine/z.c
cp src/engine/z.c src/cli/z.c
expect 'opens: only a command waits for a pipe' 1 'src/engine/z.c:2: file_read_any() is not for this file: it waits for a pipe' \
    "$scripts/check-opens" .

fresh
mkdir src/card
printf 'int f(void) {\n    return 1;\n}\n' >src/card/card.c
expect 'opens: a reason that is not needed' 1 'src/card/card.c: it opens no file: remove it' "$scripts/check-opens" .

# --- check-headers --------------------------------------------------------------------------------

fresh
expect 'headers: a good one is silent' 0 '' "$scripts/check-headers" .

fresh
printf 'int y(void);\n' >src/core/y.h
expect 'headers: pragma once' 1 'src/core/y.h:1: has no #pragma once' "$scripts/check-headers" .

fresh
printf '#pragma once\nsize_t y(void);\n' >src/core/y.h
expect 'headers: includes what it uses' 1 'src/core/y.h:1: does not compile alone' \
    "$scripts/check-headers" .

# --- check-sizes ----------------------------------------------------------------------------------

body() { # a function of N lines
    awk -v n="$1" 'BEGIN { print "int f(int a,\n      int b) {"; for (i = 4; i < n; i++) print "    a++;"
        print "    return b;\n}" }' | tail -n "$1"
}

fresh
body 80 >src/core/z.c
expect 'sizes: 80 lines pass' 0 '' "$scripts/check-sizes" .

fresh
body 81 >>src/core/y.c
expect 'sizes: 81 lines do not' 1 'src/core/y.c:3: f has 81 lines' "$scripts/check-sizes" .

fresh
printf 'int f(int a, int b, int c,\n      int d, int e, int f, int g);\n' >>src/base/x.h
expect 'sizes: seven parameters' 1 'src/base/x.h:5: f has 7 parameters' "$scripts/check-sizes" .
git init -q . && head -c 1048577 /dev/zero >'left ?behind' && git add 'left ?behind'
expect 'sizes: a large file in git' 1 'left ?behind: more than 1 MB' "$scripts/check-sizes" .
rm -rf .git 'left ?behind'

fresh
awk 'BEGIN { for (i = 1; i <= 2000; i++) print "/* */" }' >src/base/z.h
expect 'sizes: a file may be as long as its subject' 0 '' "$scripts/check-sizes" .

# --- check-words ----------------------------------------------------------------------------------

fresh
printf '/* Applies the spec. */\nint apply(int count) {\n    return count; /* of them */\n}\n' >src/base/x.c
expect 'words: plain words are silent' 0 '' "$scripts/check-words" --root . src/base/x.c
printf '/* nobody hears of it */\nint is_told(void);\n' >src/base/x.c
expect 'words: a retired word in a comment' 1 'src/base/x.c:1: comment: "nobody"' "$scripts/check-words" --root . src/base/x.c
expect 'words: a retired word in a name' 1 'src/base/x.c:2: name: "told"' "$scripts/check-words" --root . src/base/x.c
printf 'const char *text = "nobody is told";\n' >src/base/x.c
expect 'words: texts of users are not searched' 0 '' "$scripts/check-words" --root . src/base/x.c

# --- check-texts ----------------------------------------------------------------------------------

fresh
mkdir -p docs/reference/cli
printf 'const char *text = "a folder"; /* nobody: a comment */\n' >src/base/x.c
printf '# A page\n\nIt is not a folder, `nobody`.\n' >docs/reference/cli/x.md
expect 'texts: plain texts are silent' 0 '' "$scripts/check-texts" --root .
printf 'const char *text = "there is no folder, and x is "\n                   "no folder";\n' >src/base/x.c
expect 'texts: a retired phrase over two strings' 1 'src/base/x.c:1: "is no folder": write is not a' "$scripts/check-texts" --root .
printf 'const char *text = "a folder";\n' >src/base/x.c
printf '# A page\n\nWhat runs\ngoes on.\n' >docs/reference/cli/x.md
expect 'texts: a retired phrase over two lines of a page' 1 'docs/reference/cli/x.md:3: "what runs goes on"' "$scripts/check-texts" --root .
rm -r docs/reference/cli
mkdir -p docs/guide docs/internals/decisions web/src
printf '# A page\n\nNobody starts it.\n' >docs/internals/decisions/x.md
expect 'texts: decisions may quote earlier texts' 0 '' "$scripts/check-texts" --root .
printf '# A page\n\nNobody starts it.\n' >docs/guide/x.md
expect 'texts: a retired phrase in a guide page' 1 'docs/guide/x.md:3: "nobody"' "$scripts/check-texts" --root .
printf '# A page\n' >docs/guide/x.md
printf "// nobody: a comment\nconst text = 'what runs goes on';\n" >web/src/x.ts
expect 'texts: a retired phrase on the dashboard' 1 'web/src/x.ts:2: "what runs goes on"' "$scripts/check-texts" --root .
printf "const text = 'plain';\n" >web/src/x.ts
printf '# A project\n\nTasks are started by hand.\n' >README.md
expect 'texts: a retired phrase in the README' 1 'README.md:3: "by hand"' "$scripts/check-texts" --root .
rm README.md

# --- check-docs -----------------------------------------------------------------------------------

page() {
    printf 'all: build\n' >Makefile
    # shellcheck disable=SC2016 # backticks of Markdown
    printf '# A page\n\n[x](src/base/x.h) [up](#a-page) `src/base/x.c` `make all` `src/core/NAME.c`\n' >README.md
}

fresh
page
expect 'docs: a good page is silent' 0 '' "$scripts/check-docs" .

fresh
page
# shellcheck disable=SC2016
printf '[gone](docs/gone.md)\n[p](#nowhere)\n`src/gone.c`\n`make gone`\n| `src/base/x.c` | `no_such` | x |\n' >>README.md
mkdir -p src/engine && echo 'KIND("task.old", "never", "")' >src/engine/event_kinds.inc
expect 'docs: an event that nothing writes' 1 "nothing writes the event 'task.old'" "$scripts/check-docs" .
rm src/engine/event_kinds.inc
expect 'docs: a dead link' 1 "README.md:4: the link points at 'docs/gone.md'" "$scripts/check-docs" .
expect 'docs: a dead heading' 1 "README.md:5: no heading for '#nowhere'" "$scripts/check-docs" .
expect 'docs: a dead path' 1 "README.md:6: there is no 'src/gone.c'" "$scripts/check-docs" .
expect 'docs: a dead target' 1 "README.md:7: the Makefile has no target 'gone'" "$scripts/check-docs" .
expect 'docs: a dead function' 1 "README.md:8: 'src/base/x.c' has no function 'no_such'" "$scripts/check-docs" .

fresh
page
if command -v man >/dev/null 2>&1; then
    mkdir man && printf '.TH SLUICED 8\n.SH NAME\nsluiced \\- x\n.nonsense\n' >man/sluiced.8
    expect 'docs: a manual page with a mistake' 1 "man/sluiced.8: " "$scripts/check-docs" .
fi

# --- test-summary ---------------------------------------------------------------------------------

log() { # name, result, stdout, stderr: one line as meson writes it
    mkdir -p build/meson-logs
    printf '{"name": "sluice:unit / %s", "stdout": "%s", "stderr": "%s", "result": "%s", "returncode": 0, "env": {"result": "X"}, "command": ["x"]}\n' \
        "$1" "$3" "$4" "$2" >>build/meson-logs/testlog.json
}
cmocka_good='[==========] Running 2 test(s).\n[ RUN      ] a\n[       OK ] a\n[ RUN      ] b\n[       OK ] b\n[==========] 2 test(s) run.\n'
cmocka_bad='[==========] Running 3 test(s).\n[ RUN      ] a\n[       OK ] a\n[ RUN      ] b\n[  FAILED  ] b\n[ RUN      ] c\n[  SKIPPED ] c\n[==========] 3 test(s) run.\n'
cmocka_crash='[==========] Running 9 test(s).\n[ RUN      ] a\n[       OK ] a\n[ RUN      ] b\n'
tap='TAP version 13\n1..3\nok 1 - \"quoted\\\" x\nnot ok 2 - y\nok 3 # SKIP z\n'

last_line() {
    "$@" | tail -n 1
}

fresh
log good OK "$cmocka_good" ''
log plain OK 'hello' ''
expect 'summary: cases are counted, not executables' 0 '3 passed, 0 failed' "$scripts/test-summary" build

fresh
log good OK "$cmocka_good" ''
log bad FAIL "$cmocka_bad" 'x.c:8: error: Failure!'
log crash FAIL "$cmocka_crash" ''
log tap FAIL "$tap" ''
log slow TIMEOUT '' ''
log away SKIP '' ''
expect 'summary: failures of every sort' 1 'x.c:8: error: Failure!' "$scripts/test-summary" build
expect 'summary: says how to repeat' 1 '--- bad: fail --- alone: make asan T=bad' \
    "$scripts/test-summary" --again 'make asan' build
expect 'summary: ends with one line' 0 '5 passed, 4 failed' last_line "$scripts/test-summary" build
expect 'summary: every case by name' 0 'bad	pass	a
bad	fail	b
bad	skip	c
bad	fail	
crash	pass	a
crash	fail	b
crash	fail	
tap	pass	"quoted\" x
tap	fail	y
tap	skip	# SKIP z
tap	fail	
slow	fail	' "$scripts/test-summary" --cases build

fresh
log good OK "$cmocka_good" ''
log away SKIP '1..0 # SKIP no kernel for it' ''
log part OK 'ok 1 - a\nok 2 - b # SKIP no disk\n' ''
expect 'summary: what was skipped is said' 0 '2 skipped
3 passed, 0 failed' "$scripts/test-summary" build
printf '# why\naway  the kernel of CI cannot do it\n' >skips.txt
expect 'summary: a skip counts as failed where the list does not excuse it' 1 \
    '--- part: skipped 1, and skips.txt does not list it' "$scripts/test-summary" --skips skips.txt build
expect 'summary: and is counted' 0 '3 passed, 1 failed' last_line "$scripts/test-summary" --skips skips.txt build
printf 'part for the same reason\n' >>skips.txt
expect 'summary: unless it does' 0 '3 passed, 0 failed' "$scripts/test-summary" --skips skips.txt build
printf 'part\n' >skips.txt
expect 'summary: a line without a reason excuses nothing' 0 '3 passed, 2 failed' \
    last_line "$scripts/test-summary" --skips skips.txt build
printf 'test_x\tfiles: a b \ntest_x\tprocess 7: sleep\n' >left
expect 'summary: what a test left behind is a failure' 1 '--- test_x: left behind process 7: sleep' \
    "$scripts/test-summary" --left left build
expect 'summary: each of them' 0 '3 passed, 2 failed' last_line "$scripts/test-summary" --left left build

fresh
log early OK "$cmocka_crash" ''
expect 'summary: exit code 0 before the last case is a failure' 1 '1 passed, 1 failed' \
    "$scripts/test-summary" build

fresh
expect 'summary: nothing ran' 1 '0 passed, 0 failed' "$scripts/test-summary" build

# --- run-one --------------------------------------------------------------------------------------

# A program as a test, with what tests/harness/run-one needs around it.
run_one() { # COMMANDS
    printf '#!/bin/sh\n%s\n' "$1" >test_x
    chmod +x test_x
    mkdir -p around
    : >left
    TMPDIR=$tree/around SLUICE_TEST_LEFT=$tree/left SLUICE_TEST_AWAIT=$await SLUICE_TEST_PATIENCE=4 \
        "$scripts/../tests/harness/run-one" ./test_x
}

fresh
expect 'run-one: the exit code is the one of the test' 77 '' run_one 'exit 77'
expect 'run-one: a tidy test leaves no trace' 0 '' run_one 'touch "$TMPDIR/x" && rm "$TMPDIR/x"'
expect 'run-one: so its name is not noted' 0 '' cat left
expect 'run-one: files that stay' 0 '' run_one 'mkdir -p "$TMPDIR/deep/er" && chmod 0 "$TMPDIR/deep"'
expect 'run-one: are noted' 0 'test_x	files: deep' cat left
expect 'run-one: and removed' 0 '' ls around
expect 'run-one: a process that stays' 0 '' run_one 'sleep 1000 >/dev/null 2>&1 & echo $! >pid'
expect 'run-one: is noted' 0 "test_x	process $(cat pid): " cat left
expect 'run-one: and killed' 0 '' "$await" exit "$(cat pid)" $(($(date +%s) + 60))

if [ -n "${SLUICE_TEST_CGROUP-}" ]; then
    expect 'run-one: one without its environment' 0 '' run_one 'env -i sleep 1000 >/dev/null 2>&1 & echo $! >pid'
    expect 'run-one: is noted too' 0 "test_x	process $(cat pid): " cat left
    expect 'run-one: a cgroup of a daemon' 0 '' run_one \
        'mkdir "$SLUICE_TEST_CGROUP/${TMPDIR##*/}/sluice-0"'
    expect 'run-one: is noted as well' 0 'test_x	cgroups: sluice-0' cat left
fi

# --- isolate --------------------------------------------------------------------------------------

fresh
expect 'isolate: the exit code is the one of the command' 7 '' "$scripts/isolate" sh -c 'exit 7'
expect 'isolate: the environment is minimal' 0 '' env SECRET=x "$scripts/isolate" sh -c 'echo "${SECRET-}"'
expect 'isolate: but what tests are told arrives' 0 'a "b $c' \
    env SLUICE_TEST_X='a "b $c' "$scripts/isolate" sh -c 'echo "$SLUICE_TEST_X"'
expect 'isolate: HOME is empty' 0 '' "$scripts/isolate" sh -c 'ls -A "$HOME"'
# Where this folder is below /tmp, it stays visible there.
visible=${tree#/tmp/}
expect 'isolate: and so is the folder for temporary files' 1 '' "$scripts/isolate" sh -c 'ls -A "${TMPDIR:-/tmp}" | grep -vxe home -e "$1"' - \
    "${visible%%/*}"
expect 'isolate: this folder is still here' 0 "$tree" "$scripts/isolate" pwd
expect 'isolate: also what is in it' 0 'src/core/y.c' "$scripts/isolate" ls src/core/y.c
expect 'isolate: a variable of the caller' 0 'Pacific/Auckland 0077' \
    "$scripts/isolate" --umask 077 TZ=Pacific/Auckland sh -c 'echo "$TZ" "$(umask)"'

# --- test-repeat ----------------------------------------------------------------------------------

fresh
mkdir -p scripts build/meson-logs
cp "$scripts/test-repeat" "$scripts/test-summary" scripts/
# shellcheck disable=SC2016 # written into the stub: every second round one case fails
printf '#!/bin/sh\necho x >>rounds\nn=$(wc -l <rounds)\nif [ $((n %% 2)) = 0 ]; then bad="not ok"; else bad=ok; fi
printf %%s\\\\n "{\\"name\\": \\"s / daemon_x\\", \\"stdout\\": \\"$bad 1 - the rule\\\\\\\\n\\", \\"stderr\\": \\"\\", \\"result\\": \\"OK\\"}" >build/meson-logs/testlog.json
exec scripts/test-summary build\n' >scripts/run-tests
chmod +x scripts/run-tests
expect 'repeat: one good round' 0 'no failure in 1 rounds' scripts/test-repeat build 1
expect 'repeat: failures are counted by case' 1 '2 daemon_x: the rule' scripts/test-repeat build 4
expect 'repeat: each round has its line' 1 'round 2 of 2 (busy): 1 passed, 0 failed' scripts/test-repeat build 2 1

# --- conformance ----------------------------------------------------------------------------------

# A tree with the rows of the project and one test for all of them.
promises() {
    fresh
    mkdir -p tests/conformance docs/internals scripts
    cp "$scripts/conformance" "$scripts/conformance-promises" scripts/
    numbers=$(awk 'BEGIN { for (i = 1; i <= 162; i++) printf "f%03d ", i
        for (i = 1; i <= 10; i++) printf "p%02d ", i; for (i = 1; i <= 17; i++) printf "t%02d ", i }')
    awk 'BEGIN { for (i = 1; i <= 162; i++) print i " 000 what\n    daemon_all"
        for (i = 1; i <= 10; i++) print "P" i " - what\n    daemon_all"
        for (i = 1; i <= 17; i++) print "T" i " 000 what\n    daemon_all" }' >tests/conformance/table.txt
    mkdir tests/daemon
    echo "exits 0 '${numbers}all'" >tests/daemon/test_all.sh
    printf '%s\n' "test('all', 'test_all.sh')" "test('promise', 'test_promise.c')" >tests/daemon/meson.build
    printf 'TEST(it_works) {\n}\n' >tests/daemon/test_promise.c
    printf '# Told\n\n## Another\n\n## What differs\n\n- **It is not\n  so.** Because.\n' >docs/told.md
    {
        echo '== 000 one: Its Title'
        echo '-- First Section'
        awk 'BEGIN { printf "000.1 ("; for (i = 1; i <= 162; i++) printf "%d ", i
            for (i = 1; i < 17; i++) printf "T%d ", i; print "T17) All of it" }'
        printf '    %s\n' it_works 'daemon_all: all'
        echo '000.2 (7) Something else'
        printf '    %s\n' 'differs: it cannot be' 'told: told.md: It is not so.'
    } >tests/conformance/promises.txt
}

# SCRIPT: changes the promises
promise() {
    promises
    sed "$1" tests/conformance/promises.txt >x && mv x tests/conformance/promises.txt
}

promises
expect 'conformance: a page that is not there' 1 "docs/internals/conformance.md is not about the rows and tests there are" \
    "$scripts/conformance" --check .
mkdir build build/meson-logs
{
    printf '{"name": "sluice:daemon / daemon_all", "stdout": "ok 1 - %sall\\n", "stderr": "", "result": "OK"}\n' "$numbers"
    printf '%s\n' '{"name": "sluice:daemon / promise", "stdout": "[ RUN      ] it_works\n[       OK ] it_works\n", "stderr": "", "result": "OK"}'
} >build/meson-logs/conformance.json
cp "$scripts/test-summary" scripts/
expect 'conformance: every row passes' 0 '189 rows, 189 pass, 0 fail' scripts/conformance --kept build
expect 'conformance: table, tests and page agree' 0 '' "$scripts/conformance" --check .
expect 'conformance: the totals of a document' 0 '| 000 one: Its Title | 2 | 1 | 1 |' cat docs/internals/conformance.md
expect 'conformance: what differs links to where it is told' 0 \
    '| First Section | 7 | differs: it cannot be ([told](../told.md#what-differs)) |  | - |' cat docs/internals/conformance.md
expect 'conformance: promises are counted' 0 '000: 2 promises, 1 work, 1 differ on purpose' scripts/conformance-promises --counts
sed '/it_works/d' build/meson-logs/conformance.json >x && mv x build/meson-logs/conformance.json
expect 'conformance: a promise whose test did not run' 1 '000.1: not passed: it_works' scripts/conformance --kept build
sed 's/"ok 1/"not ok 1/' build/meson-logs/conformance.json >x && mv x build/meson-logs/conformance.json
expect 'conformance: a test that fails' 1 '189 rows, 0 pass, 189 fail' scripts/conformance --kept build
sed 's/daemon_all/daemon_other/' build/meson-logs/conformance.json >x && mv x build/meson-logs/conformance.json
expect 'conformance: a test that did not run' 1 'row 7: the test daemon_all did not run' scripts/conformance --kept build
sed 's/f007 //' tests/daemon/test_all.sh >x && mv x tests/daemon/test_all.sh
expect 'conformance: a test that is not there' 1 'row 7: there is no test daemon_all that carries its number' \
    "$scripts/conformance" --check .

promises
printf 'TEST(f007_t03_two_numbers) {\n}\n' >tests/daemon/test_more.c
expect 'conformance: a number that no row names' 1 'f007_t03_two_numbers carries the number of row T3, which does not name it' \
    "$scripts/conformance" --check .

promises
sed '/^162 /,/daemon_all/{/daemon_all/d}' tests/conformance/table.txt >x && mv x tests/conformance/table.txt
expect 'conformance: a row without a test' 1 'row 162 has no test' "$scripts/conformance" --check .
sed '/^162 /d' tests/conformance/table.txt >x && mv x tests/conformance/table.txt
expect 'conformance: a row that is missing' 1 'row 162 is missing' "$scripts/conformance" --check .

promise '/it_works/d; /daemon_all/d'
expect 'conformance: a promise without a verdict' 1 '000.1 has no verdict' "$scripts/conformance" --check .
promise '/told:/d'
expect 'conformance: a difference that no user is told' 1 '000.2 differs, and no user is told' "$scripts/conformance" --check .
promise 's/It is not so/It is so/'
expect 'conformance: a document that does not say it' 1 '000.2: docs/told.md does not say "It is so."' "$scripts/conformance" --check .
promise 's/told.md/nowhere.md/'
expect 'conformance: a document that is not there' 1 'there is no docs/nowhere.md' "$scripts/conformance" --check .
promise 's/it_works/it_works it_is_gone/'
expect 'conformance: a C test that is not there' 1 '000.1: there is no C test it_is_gone' "$scripts/conformance" --check .
promise ''
printf 'static void it_works(void **state) {\n}\n' >tests/daemon/test_promise.c
expect 'conformance: a C function that is not a test' 1 '000.1: there is no C test it_works' \
    "$scripts/conformance" --check .
promise 's/daemon_all: all/daemon_all: other words/'
expect 'conformance: a case that is not there' 1 'tests/daemon/test_all.sh has no case "other words"' "$scripts/conformance" --check .
promise 's/daemon_all: all/daemon_none: all/'
expect 'conformance: a script that is not there' 1 'there is no script tests/daemon/test_none.sh' "$scripts/conformance" --check .
promise ''
sed '/promise/d' tests/daemon/meson.build >x && mv x tests/daemon/meson.build
expect 'conformance: a test that meson does not know' 1 'tests/daemon/test_promise.c is not in meson.build' \
    "$scripts/conformance" --check .
promise 's/000.2 (7)/000.3 (7)/'
expect 'conformance: a number that is left out' 1 '000.3 should be 000.2' "$scripts/conformance" --check .
promise 's/(7)/(163)/'
expect 'conformance: a promise of a row that is not there' 1 '000.2 names row 163' "$scripts/conformance" --check .
promise 's/ 162 / /'
expect 'conformance: a row without a promise' 1 'row 162 of table.txt belongs to no promise' "$scripts/conformance" --check .

# --- setup ----------------------------------------------------------------------------------------

# A machine where nothing is installed: only these commands exist. $root: who we are.
bare() { # uid, what apt-get does
    mkdir bin
    for tool in sh cat sort mktemp rm tail cut uname env; do
        ln -s "$(command -v $tool)" bin/$tool
    done
    printf '#!/bin/sh\nexit 1\n' >bin/dpkg-query
    # shellcheck disable=SC2016
    printf '#!/bin/sh\necho "$@" >>%s/apt.log\n%s\n' "$tree" "$2" >bin/apt-get
    printf '#!/bin/sh\necho %s\n' "$1" >bin/id
    chmod +x bin/dpkg-query bin/apt-get bin/id
}

fresh
bare 1000 'exit 0'
expect 'setup: no right to install is one sentence' 1 \
    "setup: missing packages, and no right to install them: run 'apt-get update && apt-get install gcc" \
    env PATH="$tree/bin" "$scripts/setup" --build

fresh
bare 0 'exit 0'
expect 'setup: root installs' 0 'setup: installing gcc libc6-dev make meson' \
    env PATH="$tree/bin" "$scripts/setup" --build
expect 'setup: the list is read before' 0 '-o Acquire::Retries=3 update' head -n 1 apt.log
expect 'setup: by name, without questions' 0 'install -y --no-install-recommends gcc' tail -n 1 apt.log

fresh
bare 0 'echo "no network"; exit 100'
expect 'setup: says when apt-get failed' 1 'could not install the packages: run' \
    env PATH="$tree/bin" "$scripts/setup" --test

fresh
bare 1000 'exit 1'
# shellcheck disable=SC2016 # written into the stub
printf '#!/bin/sh\nshift 3\nfor p; do printf "%%s/installed " "$p"; done\n' >bin/dpkg-query
expect 'setup: silent when nothing is missing' 0 '' env PATH="$tree/bin" "$scripts/setup" --lint

fresh
bare 0 'echo "no network"; exit 100'
expect 'setup: without npm there is no dashboard, which is no failure' 0 \
    "setup: warning: without 'npm nodejs' the daemon is built without its dashboard" \
    env PATH="$tree/bin" "$scripts/setup" --page
expect 'setup: without a browser its tests cannot run, which is one' 1 'nodejs chromium' \
    env PATH="$tree/bin" "$scripts/setup" --web

# --- test-web -------------------------------------------------------------------------------------

fresh
bare 0 'exit 0'
ln -s "$(command -v dirname)" bin/dirname
expect 'test-web: no browser is a reason to skip' 0 '1..0 # SKIP there is no node: run scripts/setup --web' \
    env PATH="$tree/bin" SLUICE_TEST_WEB= "$scripts/test-web" .
expect 'test-web: unless it is required' 1 'not ok 1 - the dashboard in a browser' \
    env PATH="$tree/bin" SLUICE_TEST_WEB=required "$scripts/test-web" .
expect 'test-web: without one there are no pictures' 1 'test-web: there is no node: run scripts/setup --web' \
    env PATH="$tree/bin" "$scripts/test-web" --pictures .

# --- test-fresh -----------------------------------------------------------------------------------

fresh
bare 1000 'exit 0'
expect 'test-fresh: a user must be known' 1 "test-fresh: --as takes 'root' or 'user', not 'nobody'" \
    "$scripts/test-fresh" --as root --as nobody build
expect 'test-fresh: an option must be known' 2 'usage: scripts/test-fresh' "$scripts/test-fresh" --no-such build
expect 'test-fresh: without root it says so' 1 'test-fresh: debootstrap and its devices need root: sudo make test-fresh' \
    env PATH="$tree/bin:$PATH" "$scripts/test-fresh" build
expect 'test-fresh: nor is a root entered' 1 'test-fresh: namespaces with devices need root' \
    env PATH="$tree/bin:$PATH" "$scripts/test-fresh" --enter .
expect 'test-fresh: and nothing is written' 0 '' test ! -e build

fresh
bare 0 'exit 0'
# shellcheck disable=SC2016 # written into the stubs
printf '#!/bin/sh\nshift 3\nexec "$@"\n' >bin/unshare
# shellcheck disable=SC2016
printf '#!/bin/sh\necho "E: no such suite: $3"\nexit 1\n' >bin/debootstrap
chmod +x bin/unshare bin/debootstrap
expect 'test-fresh: a suite that cannot be fetched is a failure' 1 'could not be fetched: E: no such suite: trixie' \
    env PATH="$tree/bin:$PATH" npm_config_registry=x "$scripts/test-fresh" --suite trixie build
expect 'test-fresh: unless it may be missing' 0 'could not be fetched' \
    env PATH="$tree/bin:$PATH" npm_config_registry=x "$scripts/test-fresh" --suite trixie --allow-missing build
expect 'test-fresh: and leaves only logs' 0 'table
trixie-fetch.log' ls build/fresh

# --- embed-web ------------------------------------------------------------------------------------

# A tree whose scripts/build-web does what the case says.
dashboard() { # COMMANDS
    mkdir -p scripts web/src web/dist/assets web/node_modules
    cp "$scripts/embed-web" scripts/
    echo '{}' >web/package.json
    echo 'page' >web/dist/index.html
    printf '#!/bin/sh\n%s\n' "$1" >scripts/build-web
    chmod +x scripts/build-web
}

fresh
expect 'embed-web: no folder is an empty table' 0 '' "$scripts/embed-web" nowhere out.c
expect 'embed-web: and that compiles' 0 'web_file_count = 0;' cat out.c

fresh
dashboard 'exit 0'
expect 'embed-web: what was built is in the table' 0 '' scripts/embed-web --build --depfile out.d web/dist out.c
expect 'embed-web: by its path' 0 '{ "/index.html", NULL, "' cat out.c
expect 'embed-web: as often as its sources change' 0 'web/package.json' cat out.d
expect 'embed-web: all of them, in one rule' 0 ' web/src' sh -c "sed -n '1s,$tree/,,gp' out.d"
expect 'embed-web: not those that are fetched' 1 '' grep node_modules out.d
expect 'embed-web: and not without a reason' 1 '' grep missing out.d

fresh
dashboard 'echo "npm cannot be reached"; exit 1'
expect 'embed-web: what cannot be built is left out, and says why' 0 \
    'embed-web: the dashboard is left out, because scripts/build-web failed: npm cannot be reached' \
    scripts/embed-web --build --depfile out.d web/dist out.c
expect 'embed-web: and is tried again by the next build' 0 'out.c.missing' cat out.d
touch -d '2001-01-01' out.c
scripts/embed-web --build web/dist out.c >/dev/null 2>&1
expect 'embed-web: with no work for the compiler' 0 '2001' sh -c 'ls -l --time-style=+%Y out.c'
expect 'embed-web: then there is no old one either' 0 'web_file_count = 0;' cat out.c
expect 'embed-web: unless it is required' 1 '-Dweb=enabled needs it' scripts/embed-web --build --required web/dist out.c

fresh
mkdir -p dist && echo x >'dist/a b.js'
expect 'embed-web: a name that no address has' 1 "'/a b.js' is not a name for a URL: rename it" "$scripts/embed-web" dist out.c

# --- proof ----------------------------------------------------------------------------------------

# A tree with two parts: `count` adds 1, `last` does what the case says.
proof_tree() { # COMMANDS of last
    fresh
    mkdir -p tests/proof build
    cp "$scripts/../tests/proof/kit.sh" tests/proof/
    # shellcheck disable=SC2016 # written into the parts
    printf '. tests/proof/kit.sh\nadd_figure chunks 1\nset_figure seed "$(take_numbers 5)"\n' >count.sh
    printf '. tests/proof/kit.sh\n%s\n' "$1" >last.sh
    printf '# a comment\ncount | 3 | sh count.sh\nlast | 1 | sh last.sh\n' >parts
    cat >goals <<'END'
1 | counting | 1 chunk | count.chunks >= 1 | {count.chunks} chunks from {count.seed} | `count`
2 | more | 12,000 chunks | count.chunks >= 12000 & count.chunks <= 20000 | {count.chunks} chunks | `count`
3 | large | 10,000 | last.big = 12345678 | {last.big} | `last`
4 | other | anything | - | - | –
END
}
proof() {
    "$scripts/proof" --parts parts --goals goals --state state --report out/proof.md build "$1"
}

proof_tree 'set_figure big 12345678; cat >/dev/null'
expect 'proof: every part passes' 0 'the report is out/proof.md' proof 0.01
expect 'proof: a goal that is met' 0 '| 1 | counting | 1 chunk | 1 chunks from 1 | yes | `count` |' cat out/proof.md
expect 'proof: and one that is not' 0 '| 2 | more | 12,000 chunks | 1 chunks | no | `count` |' cat out/proof.md
expect 'proof: figures can be read' 0 '| 12,345,678 | yes |' cat out/proof.md
expect 'proof: what no part measures is not measured' 0 '| 4 | other | anything | not measured | – | – |' cat out/proof.md
expect 'proof: a second proof has its own figures and new seeds' 0 '1 chunks from 6' sh -c "
    '$scripts/proof' --parts parts --goals goals --state state --report out/proof.md build 0.01 >/dev/null; cat out/proof.md"

proof_tree 'echo "it broke"; exit 3'
expect 'proof: a failed part is a failure' 1 'proof: last failed' proof 0.01
expect 'proof: in the report, too' 0 '| last | 0 | failed with exit code 3 |' cat out/proof.md
expect 'proof: its figures are missing' 0 '| 3 | large | 10,000 | not measured | – |' cat out/proof.md

proof_tree 'skip "there is no disk"'
expect 'proof: a skipped part is no failure' 0 'passed or was skipped' proof 0.01
expect 'proof: its reason is in the report' 0 'skipped: there is no disk' cat out/proof.md

proof_tree :
# shellcheck disable=SC2016
printf '[ -e again ] || { : >again; read -r _ _ _ driver _ </proc/$PPID/stat; kill -TERM "$driver"; exit 1; }\n. tests/proof/kit.sh\nset_figure big 12345678\n' >last.sh
expect 'proof: it can be interrupted' 130 'the same command continues' proof 0.01
expect 'proof: then there is no report' 2 'No such file' ls out
expect 'proof: and continues with the part that had not ended' 0 'every part passed' proof 0.01
expect 'proof: what was done is not done again' 0 '| 1 chunks from 1 | yes |' cat out/proof.md

proof_tree :
expect 'proof: hours are a number' 2 "HOURS must be a number above 0, not 'x'" proof x
echo 'count | many | sh count.sh' >parts
expect 'proof: a bad part is shown' 2 'parts:1: expected name | share | command' proof 1
printf 'count | 1 | sh count.sh\n' >parts
echo '1 | a | b | count.chunks > 3 | {count.chunks} | c' >goals
expect 'proof: and a bad condition' 2 'goals:1: bad condition: count.chunks > 3' proof 0.01

for script in "$scripts"/*; do
    expect "help: $(basename "$script")" 0 'usage: scripts/' "$script" --help
done

echo "1..$number"
[ "$failures" = 0 ]
