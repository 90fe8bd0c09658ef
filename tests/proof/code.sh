#!/bin/sh
# code.sh: what can be counted in the sources.
. tests/proof/kit.sh
lines() { # FOLDER...
    find "$@" \( -name '*.[ch]' -o -name '*.inc' \) -exec cat {} + | grep -c .
}
asserts() { # FOLDER...
    find "$@" -name '*.[ch]' -exec cat {} + | grep -cE '(^|[^a-z_])(assert|ASSERT|expect_that|invariant)\(' || :
}
set_figure source_lines "$(lines src)"
set_figure test_lines "$(find tests web -path '*/node_modules' -prune -o \( -name '*.[ch]' -o -name '*.sh' -o -name '*.py' -o -name '*.mjs' \) \
    -path '*tests*' -exec cat {} + | grep -c .)"
set_figure tests_per_line "$(awk -v t="$(figure test_lines)" -v s="$(figure source_lines)" 'BEGIN { printf "%.2f", t / s }')"
set_figure asserts "$(asserts src/core src/store)"
set_figure lines_per_assert "$(awk -v a="$(figure asserts)" -v l="$(lines src/core src/store)" 'BEGIN { printf "%d", a ? l / a : l }')"
