#!/bin/sh
# check-table.sh: README.md and the tests beside it name each other.
#
#   - each row 1..162 and each trap T1..T17 is in the table, once
#   - a row names tests, or gives one word why there is none
#   - each named test exists, and carries the number of that row
#   - each test is named in every row whose number it carries
set -eu

cd "$1"
tests=$(grep -oh 'TEST([a-z0-9_]*)' test_*.c | sed 's/TEST(//; s/)//')

exec awk -v tests="$tests" '
function complain(what) {
    print "README.md: " what
    bad = 1
}

# "f076" of row 76, "t16" of trap T16
function number_of(row) {
    return row ~ /^T/ ? sprintf("t%02d", substr(row, 2)) : sprintf("f%03d", row)
}

BEGIN {
    n = split(tests, list, /[ \n]+/)
    for (i = 1; i <= n; i++)
        exists[list[i]] = 1
}

/^\| T?[0-9]+ \|/ {
    split($0, cell, / *\| */)
    row = cell[2]
    if (row in seen)
        complain("row " row " is there twice")
    seen[row] = 1
    count = 0
    n = split(cell[5], word, /[` ]+/)
    for (i = 1; i <= n; i++) {
        if (word[i] !~ /^[ft][0-9]+_/)
            continue
        count++
        named[row, word[i]] = 1
        if (!(word[i] in exists))
            complain("row " row ": there is no test " word[i])
        else if (index("_" word[i], "_" number_of(row) "_") == 0)
            complain("row " row ": " word[i] " does not carry its number")
    }
    if (count == 0 && cell[5] !~ /^[a-z]+$/)
        complain("row " row " has no test: say in one word why")
}

END {
    for (i = 1; i <= 162; i++)
        if (!(i in seen))
            complain("row " i " is missing")
    for (i = 1; i <= 17; i++)
        if (!(("T" i) in seen))
            complain("row T" i " is missing")
    for (test in exists) {
        rest = test
        if (test !~ /^(f[0-9][0-9][0-9]|t[0-9][0-9])_/)
            complain(test " carries no number")
        while (match(rest, /^(f[0-9][0-9][0-9]|t[0-9][0-9])_/)) {
            row = rest ~ /^t/ ? "T" (substr(rest, 2, 2) + 0) : substr(rest, 2, 3) + 0
            if (!((row, test) in named))
                complain(test " is not in row " row)
            rest = substr(rest, RLENGTH + 1)
        }
    }
    exit bad
}' README.md
