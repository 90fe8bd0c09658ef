#!/bin/sh
# sluice sim: results compared with manually calculated numbers, both styles of the chart, the comparison, usage errors.
. "$(dirname "$0")/lib.sh"
LC_ALL=C.UTF-8
export LC_ALL

# Four minutes of work with two slots: the second pair waits for the first.
cat >four.json <<'END'
{"now": 0, "config": {"limits": {"runs": 2}},
 "sim": {"kinds": {"*": {"duration_s": 60, "tokens": 1000}}},
 "tasks": [{"id": "a-1"}, {"id": "a-2"}, {"id": "a-3"}, {"id": "a-4"}]}
END
run sluice sim four.json
exits 0 'four tasks on two places'
has 'makespan     2 min · every task has ended' 'makespan'
has 'utilisation  100 % of 2 places · peak 2' 'utilisation'
has 'waiting      mean 30 s · median 0 s · 95 % within 1 min · longest 1 min' 'waits'
has 'a-1  ▇▇▇' 'the chart'

run env LC_ALL=C "$SLUICE" sim four.json
has 'a-1  ####' 'plain letters where the locale is not UTF-8'
rule 'plain letters: no other byte' [ -z "$(LC_ALL=C tr -d '\001-\177' <out)" ]
rule 'a pipe is 100 columns wide' [ "$(awk '{ if (length > most) most = length } END { print most }' out)" -le 100 ]
run env COLUMNS=60 LC_ALL=C "$SLUICE" sim four.json
rule 'COLUMNS sets the width of the chart' [ "$(grep -c '^.\{60\}$' out)" -ge 1 ]

run sluice sim --json four.json
has '"makespan_ms":120000,"end":"drained","utilisation":1.0000,"peak":2,"runs_cap":2,' 'as JSON'
cp out first
run sluice sim --json - <four.json
like first 'the standard input; the same seed gives the same bytes'

run sluice sim four.json --set limits.runs=4
has 'now  with limits.runs=4' '--set compares'
has '2 min               1 min   -1 min (-50 %)' '--set: the difference'
cp out first
run sluice sim - --set limits.runs=4 <four.json
sed 's/<stdin>/four.json/' out >named && mv named out
like first '--set: the standard input is read once and played twice'
run sluice sim four.json --json --set limits.runs=4 -s limits.roots=3
has '"overrides":["limits.runs=4","limits.roots=3"]' '--set: JSON has the settings'
has '"change":{"makespan_ms":' '--set: JSON has the change'

run sluice sim four.json --until-h 0.025
has 'makespan     1 min 30 s · stopped at the horizon' '--until-h'
has '2  running' '--until-h: what is left'

printf '{"now": 0, "tasks": [{"id": "a-1", "review": true}]}' >review.json
run sluice sim review.json
has 'held:review' 'what waits for a person stays'
run sluice sim review.json --approve-after-h 1
has 'every task has ended' '--approve-after-h'

run sluice sim four.json --svg four.svg
has 'chart written to four.svg' '--svg says so'
[ "$(head -c 5 four.svg)" = '<?xml' ] && [ "$(tail -n 1 four.svg)" = '</svg>' ]
report $? '--svg writes the whole picture'
run sluice sim --json four.json --svg four.svg
rule '--svg with --json: only JSON on stdout' [ "$(wc -l <out)" -eq 1 ]

# Usage errors: exit code 2, one message.
run sluice sim missing.json
exits 2 'no such file: exit code'
says "sluice: cannot open 'missing.json': No such file or directory" 'no such file'
run sluice sim four.json --set limts.runs=3
exits 2 'a mistyped setting: exit code'
says "sluice: unknown key 'limts.runs'; did you mean 'limits.runs'?" 'a mistyped setting'
for bad in '--set nonsense' '--seed -1' '--seed x' '--until-h x' '--until-h -1' '--approve-after-h ,'; do
    # shellcheck disable=SC2086 # an option and its value
    run sluice sim four.json $bad
    exits 2 "$bad"
done
run sluice sim four.json --svg missing/four.svg
exits 2 'a picture that cannot be written'
run sluice sim - --set limits.runs=3 </dev/null
exits 2 'nothing on the standard input'
run sluice sim
exits 2 'no file'

shown docs/reference/cli/sim.md sim examples/night.json
shown docs/reference/cli/sim.md sim examples/night.json --set limits.runs=10
finish
