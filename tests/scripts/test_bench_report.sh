#!/bin/sh
# What make bench-peers and make bench-growth write into the documents is what was measured. Prints TAP.
set -u

project=$(cd "${1:?usage: test_bench_report.sh FOLDER-OF-THE-PROJECT}" && pwd) || exit 1
report=$project/bench/report.py
fixtures=$project/tests/fixtures/bench
top=$(mktemp -d)
trap 'rm -rf "$top"' EXIT
number=0
failures=0

result() { # CODE, NAME
    number=$((number + 1))
    [ "$1" = 0 ] || failures=$((failures + 1))
    [ "$1" = 0 ] && echo "ok $number - $2" || echo "not ok $number - $2"
}

# has NAME FILE LINE: the file has exactly this line
has() {
    grep -qxF -- "$3" "$2"
    result $? "$1"
    grep -qxF -- "$3" "$2" || sed 's/^/# /' "$2"
}

# --- tables ---------------------------------------------------------------------------------------

"$report" table "$fixtures/peers.json" >"$top/table"
has 'a cell is the median, with the lowest and the highest round' "$top/table" '| Sluice | 2,000 (1,000–3,000) |'
has 'each system has its version and its durability' "$top/table" '| Quick | 2.0 | lost with the server: none |'
has 'a system that is missing is in the table' "$top/table" \
    '| Other | **not measured**: otherd is not installed: scripts/setup --peers | survives a kill: a log |'
has 'a system that cannot do something has no figure' "$top/table" '| Safe <queue> | – |'
has 'and the reason is stated' "$top/table" '- Safe <queue>, kill -9 to serving: it did not accept 100,000 jobs in 20 s'
has 'more is better: a faster one is ahead, by its durability' "$top/table" '| submit, one client | none | Quick (4.0 times) |'
has 'less is better: a shorter time is ahead' "$top/table" '| submit to started, p50 | Safe <queue> (2.0 times) | none |'

"$report" table "$fixtures/growth.json" >"$top/table"
has 'growth: a line for each number of tasks' "$top/table" '| 1,000 | 41.0 | 121 | 43.0 | 123 |'
has 'growth: a line for each day' "$top/table" '| 2 | 131 | 44.5 | 91.0 | 143.5 | 14 |'

# --- pictures -------------------------------------------------------------------------------------

# Prints the title of each panel, and the width of each bar of it. Fails if the file is not XML.
bars() { # SVG
    PYTHONIOENCODING=utf-8 python3 - "$1" <<'PYTHON'
import sys, xml.etree.ElementTree as tree
for node in tree.parse(sys.argv[1]).getroot():
    if node.get('class') == 'title':
        print(node.text)
    elif node.tag.endswith('rect') and node.get('class') not in ('bg', None) and node.get('height') == '13.0':
        print(node.get('class'), node.get('width'))
PYTHON
}

"$report" svg "$fixtures/peers.json" peers >"$top/peers.svg"
bars "$top/peers.svg" >"$top/bars"
awk '/^submit, one client$/ { on = 1; next } /^[a-z]* [0-9.]*$/ { if (on) print; next } { on = 0 }' "$top/bars" >"$top/one"
# 9,000 is the highest value of the row, and the medians are 8,000, 2,000 and 500
python3 - "$top/one" <<'PYTHON'
import sys
kinds, widths = zip(*(line.split() for line in open(sys.argv[1])))
widths = [float(width) for width in widths]
assert kinds == ('memory', 'ours', 'synced'), kinds
assert abs(widths[0] / widths[1] - 4) < 0.05 and abs(widths[1] / widths[2] - 4) < 0.1, widths
PYTHON
result $? 'bars are as long as the medians, the best first, colored by durability'
! grep -q '>Other<' "$top/peers.svg"
result $? 'a system that is missing has no bar'
grep -q 'Safe &lt;queue&gt;' "$top/peers.svg"
result $? 'names are escaped'

for name in growth days; do
    "$report" svg "$fixtures/growth.json" $name >"$top/$name.svg" && bars "$top/$name.svg" >/dev/null
    result $? "the picture of $name is XML"
done
"$report" svg "$fixtures/growth.json" peers >"$top/none" 2>&1
[ $? = 1 ] && grep -q 'has no picture peers; it has growth, days' "$top/none"
result $? 'a picture that a result does not have is an error'

# --- the page -------------------------------------------------------------------------------------

mkdir -p "$top/docs/img"
printf 'before\n<!-- peers: written by make bench-peers DOCS=1 -->\nold\n<!-- end of peers -->\nafter\n' >"$top/docs/benchmarks.md"
"$report" docs "$fixtures/peers.json" "$top/docs"
"$report" docs "$fixtures/peers.json" "$top/docs" # again: the same
{
    printf 'before\n<!-- peers: written by make bench-peers DOCS=1 -->\n\n'
    "$report" table "$fixtures/peers.json"
    printf '\n<!-- end of peers -->\nafter\n'
} >"$top/wanted"
cmp "$top/wanted" "$top/docs/benchmarks.md"
result $? 'only the part between the markers is replaced'
cmp "$top/peers.svg" "$top/docs/img/bench-peers.svg"
result $? 'and its picture is written'
"$report" docs "$fixtures/growth.json" "$top/docs" 2>"$top/none"
[ $? = 1 ] && grep -q 'must have the lines <!-- growth: written by make bench-growth DOCS=1 -->' "$top/none"
result $? 'a page without markers is an error'
for kind in peers growth; do
    cp "$project/docs/benchmarks.md" "$top/docs/" && "$report" docs "$fixtures/$kind.json" "$top/docs"
    result $? "docs/benchmarks.md has the markers of $kind"
done

# --- a system that is not installed ---------------------------------------------------------------

mkdir "$top/bin"
python=$(python3 -c 'import sys; print(sys.executable)')
PATH=$top/bin "$python" "$project/bench/peers/peers.py" "$top" --json "$top/result" --systems beanstalkd,parallel 2>"$top/none"
result $? 'without any of the programs the measurement ends well'
grep -q 'beanstalkd -f0 is not measured: beanstalkd is not installed: scripts/setup --peers' "$top/none"
result $? 'and reports each'
"$report" table "$top/result" >"$top/table"
grep -q '^| GNU parallel | \*\*not measured\*\*: parallel is not installed' "$top/table"
result $? 'also in the table'

echo "1..$number"
[ $failures = 0 ]
