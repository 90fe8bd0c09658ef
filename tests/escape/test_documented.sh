#!/bin/sh
# docs/guide/security.md describes what a run without a sandbox can do. Its tables name every attempt of attempts.txt, each in the
# table for its result.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # lib.sh sets root, here and reads code; backticks of Markdown
. "$(dirname "$0")/../cli/lib.sh"

# RESULT: prints the attempts that have this result without a sandbox.
tried() {
    awk -v wanted="$1" '!/^#/ && $4 == wanted { print $1 }' "$here/attempts.txt" | sort
}

# HEADING FILE: prints the names in the last column of the table below the heading.
documented() {
    awk -v heading="## $1" '
        /^## / { inside = $0 == heading }
        inside && /^\|/ {
            count = split($0, cells, "|")
            count = split(cells[count - 1], words, "`")
            for (i = 2; i <= count; i += 2)
                if (words[i] !~ /\//)
                    print words[i]
        }' "$2" | sort
}

# RESULT HEADING FILE: sets $code to 0 if the two lists are equal; out has missing (<) and superfluous (>) names.
compare_lists() {
    tried "$1" >tried.list
    documented "$2" "$3" >documented.list
    : >err
    [ -s tried.list ] && diff tried.list documented.list >out
    code=$?
}

page=$root/docs/guide/security.md
possible='What a run without a sandbox can do'
compare_lists possible "$possible" "$page"
exits 0 'what is possible without a sandbox is in docs/guide/security.md'
compare_lists held 'What no run can do' "$page"
exits 0 'so is what is refused to every run'

# The comparison detects differences.
sed 's/ `read-key`//' "$page" >missing.md
compare_lists possible "$possible" missing.md
exits 1 'an attempt that the page does not name is found'
has '< read-key' 'by its name'
sed 's/`read-key`/`read-key` `survive`/' "$page" >wrong.md
compare_lists possible "$possible" wrong.md
exits 1 'and one that the page calls possible, but is not'
has '> survive' 'by its name, too'
finish
