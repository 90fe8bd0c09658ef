#!/bin/sh
# Every example succeeds and leaves nothing behind; the values of settings in docs/migrate are correct.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets root and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"

# --- the examples: concurrently, each with its own home ---

names='loopr conductor-loop gastown agency agent-queue night-shift'
mkdir place
for name in $names; do
    (
        code=0
        SLUICE=$SLUICE TMPDIR=$tmp/place "$root/examples/run" "$name" >"$tmp/$name.out" 2>"$tmp/$name.err" </dev/null || code=$?
        echo "$code" >"$tmp/$name.code"
    ) &
done
wait
for name in $names; do
    rule "examples/run $name goes through" [ "$(cat "$name.code")" = 0 ]
    rule "$name checks something, and nothing is wrong" sh -c \
        '[ "$(grep -c "^  ok  " "$1")" -ge 8 ] && ! grep -q WRONG "$1"' - "$name.out"
    [ "$(cat "$name.code")" = 0 ] || sed 's/^/# /' "$name.out" "$name.err"
done
rule 'they leave no files' [ -z "$(ls place)" ]
run "$root/examples/run" nothing
exits 2 'an example that does not exist: says which there are'

# --- docs/migrate: each table of settings against the preset ---

# Prints KEY VALUE for rows "| theirs | `key` | `value` |", and KEY alone for rows with another kind of value.
rows() {
    sed -n -e 's/^|.*| `\([a-z_.]*\)` | `\([^`]*\)` |$/\1 \2/p' "$1"
}

for pair in loopr:loopr conductor-loop:conductor gastown:gastown agency:agency agent-queue:agent-queue; do
    page=$root/docs/migrate/${pair%:*}.md
    mkdir -p "$tmp/homes/${pair#*:}"
    echo "preset: ${pair#*:}" >"$tmp/homes/${pair#*:}/sluice.yaml"
    wrong=0
    rows "$page" >"$tmp/rows"
    while read -r key value; do
        got=$(SLUICE_HOME=$tmp/homes/${pair#*:} "$SLUICE" config get "$key" 2>&1)
        [ "$got" = "$value" ] || { wrong=1 && echo "# ${pair%:*}.md: $key is '$got', not '$value'"; }
    done <"$tmp/rows"
    rule "${pair%:*}.md: the values of the preset are right" [ $wrong = 0 ]
    rule "${pair%:*}.md has them all" [ "$(wc -l <"$tmp/rows")" -ge 8 ]
    wrong=0
    grep -oE '`sluice [a-z]+' "$page" | sort -u | cut -d ' ' -f 2 >"$tmp/commands"
    while read -r command; do
        "$SLUICE" "$command" --help >/dev/null 2>&1 || { wrong=1 && echo "# there is no 'sluice $command'"; }
    done <"$tmp/commands"
    rule "${pair%:*}.md: its commands exist" [ $wrong = 0 ]
done

# All keys that the pages name exist.
unknown=$(grep -ohE 'sluice config set [^`]*' "$root"/docs/migrate/*.md | grep -oE "[a-z_]+(\.[a-z_A-Z]+)*=" |
    tr -d = | sort -u | while read -r key; do
    "$SLUICE" config explain "$key" >/dev/null 2>&1 || echo "$key"
done)
rule 'every key that is set exists' [ -z "$unknown" ]
[ -z "$unknown" ] || echo "# unknown: $unknown"
finish
