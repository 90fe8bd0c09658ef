#!/bin/sh
# sluice plan: the worked examples of documents 000 and 004, every gate, and bad input.
# shellcheck disable=SC2154 # lib.sh sets here, root and tmp
. "$(dirname "$0")/lib.sh"

# Golden outputs: plan/NAME.json is the snapshot, NAME.out and NAME.out.json what is printed.
for snapshot in "$here"/plan/*.json; do
    case $snapshot in
    *.out.json) continue ;;
    esac
    name=$(basename "$snapshot" .json)
    cp "$snapshot" "$tmp/in.json"
    run sluice plan in.json
    like "$here/plan/$name.out" "$name: text"
    run sluice plan --json in.json
    like "$here/plan/$name.out.json" "$name: JSON"
done

# ROWS NAME 'task score, task score': the tasks that start, in order. The numbers are those of the documents.
starts() {
    rows=$1
    shift
    run sluice plan --json "$here/plan/$1.json"
    sed -n '/^{"start"/,/^"blocked"/s/^{"task":"\([^"]*\)".*"score":\([-0-9]*\)}.*/\1 \2/p' \
        "$tmp/out" | paste -sd, | sed 's/,/, /g' >"$tmp/order"
    mv "$tmp/order" "$tmp/out"
    prints "$2" "$rows$1 starts $2"
}

starts 'f029 f031 f032 ' 000-example 'A 135, B 130, C 111'
starts 'f032 ' 000-scenario-1 'ralph-X 130, spec-Y 110'
starts 'f032 ' 000-scenario-2 'ralph-B 130, plan-A 90'
starts 'f032 ' 000-scenario-3 'ralph-Y 140, ralph-X 110'
starts 'f032 ' 000-scenario-4 'ralph-004 135, ralph-005 132'
starts 'f029 f032 ' 000-test-priority 'test 105'
starts 'f030 f032 ' 000-tree 'ralph-A1a1 130, phase-A1a 100, phase-A1b 100, spec-A1 70, spec-A2 70, plan-A 40, plan-B 40'
starts 'f050 ' 000-limits 'r2 102, r1 101, r0 100, p3 43'
starts 'f040 ' 004-example 'a-1 100'
starts 'f038 ' 004-guarantee 'n-2 100, n-1 100'

run sluice plan - <"$here/plan/000-example.json"
like "$here/plan/000-example.out" 'the standard input'

run sluice plan --set limits.runs=1 "$here/plan/000-example.json"
has '6 tasks: 1 start, 2 wait (2 lease), 3 finished' '--set changes a setting'
run sluice plan --set limits.runs=1 --set preset=sluice --set limits.runs=2 "$here/plan/000-example.json"
has '6 tasks: 2 start, 1 wait (1 lease), 3 finished' 'a preset of --set comes first, the last value wins'

# Bad input: exit code 2, one message with the position.
printf '{"tasks": [\n  {"id": "a", "prio": 1}]}' >bad.json
run sluice plan bad.json
exits 2 'bad input: exit code'
says "sluice: bad.json:2:15: unknown key 'prio' in a task" 'bad input: place'
printf '' >empty.json
run sluice plan empty.json
says 'sluice: empty.json:1:1: the file is empty' 'an empty file'
run sluice plan - <bad.json
says "sluice: <stdin>:2:15: unknown key 'prio' in a task" 'bad input: name of the standard input'
run sluice plan missing.json
exits 2 'no such file: exit code'
says "sluice: cannot open 'missing.json': No such file or directory" 'no such file'
run sluice plan .
exits 2 'a folder: exit code'
run sluice plan --set nonsense "$here/plan/empty.json"
exits 2 '--set without a value: exit code'
says "sluice: 'nonsense' is not KEY=VALUE" '--set without a value'
run sluice plan
exits 2 'no file: exit code'
says "sluice: 'plan' needs 1 argument
usage: sluice plan [--all] [--set KEY=VALUE]... FILE|-" 'no file'
run sluice plan a b
exits 2 'two files: exit code'

# A deep file is refused in constant memory: this would be 200 MB. A sanitizer needs more.
limit='ulimit -v 300000'
(eval "$limit" && "$SLUICE" version) >/dev/null 2>&1 || limit=:
run sh -c "(printf '{\"meta\":'; head -c 200000000 /dev/zero | tr '\\0' '[') | ($limit; '$SLUICE' plan -)"
says 'sluice: <stdin>:1:40: nested deeper than 32 levels' 'deep nesting'

# 20,000 tasks, each of which depends on the previous one.
awk 'BEGIN { printf "{\"tasks\":["
    for (i = 0; i < 20000; i++)
        printf "%s\n{\"id\":\"t%d\",\"depends_on\":[%s]}", i ? "," : "", i, i ? "\"t" i - 1 "\"" : ""
    print "]}" }' >large.json
run sluice plan large.json
exits 0 '20,000 tasks'
has '20000 tasks: 1 start, 19999 wait (19999 dependency)' '20,000 tasks: all are shown'
rule '20,000 tasks: a pipe gets every row' [ "$(grep -c "^  t[0-9]* *dependency " out)" -eq 19999 ]

# Write errors: a closed pipe, a full disk.
run sh -c "'$SLUICE' plan large.json | head -n 1"
exits 0 'the reader goes away'
if [ -w /dev/full ]; then
    run sh -c "'$SLUICE' plan large.json >/dev/full"
    exits 1 'a full disk: exit code'
    says 'sluice: cannot write the output: No space left on device' 'a full disk'
fi
shown docs/reference/cli/plan.md plan examples/loopr.json
finish
