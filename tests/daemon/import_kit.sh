# import_kit.sh: shared functions of the import tests. Source it after kit.sh.
#
#   prepared SYSTEM SIZE       sets $state to a copy of the example state; its folders are below $tmp/ines
#   matches SYSTEM SIZE        asserts that the tasks equal the table in EXPECTED.md: state, parent, creation time, title
#   drained                    waits until nothing waits or runs
#   unchanged 'what'           asserts that $state is unchanged since `prepared`
#   noted ID TEXT 'what'       asserts that the report in out has this note about ID
# shellcheck shell=sh disable=SC2034,SC2154 # kit.sh sets tmp, root

sums_of() {
    (cd "$1" && find . -type f -print | sort | xargs cksum && find . | sort)
}

prepared() {
    state=$tmp/$1-$2
    SQLITE=${SLUICE_TEST_SQL:-$(dirname "$SLUICE")/tests/harness/run_sql}
    export SQLITE
    "$root/tests/fixtures/import/prepare" "$1" "$2" "$state" || echo "# cannot prepare $1 $2"
    # Replaces the folders in the examples, which are those of another machine.
    grep -rlIE --devices=skip '/(home|Users)/ines' "$state" >"$tmp/files"
    while read -r file; do
        sed -E -i "s,/(home|Users)/ines,$tmp/ines,g" "$file"
    done <"$tmp/files"
    sums_of "$state" >"$tmp/sums"
}

unchanged() {
    sums_of "$state" | cmp -s - "$tmp/sums"
    report $? "$1"
}

# Lines of "id state parent created title" with tabs, from the table of a section of EXPECTED.md.
expected() { # SYSTEM SIZE
    awk -F ' *[|] *' -v size="## $2:" '
        /^## / { on = index($0, size) == 1; head = 0 }
        !on || !/^\|/ || /^\|---/ { next }
        !head { # the first table of the section
            for (i = 2; i < NF; i++)
                column[$i] = i
            head = 1
            next
        }
        $2 ~ /^(project|what)$/ { on = 0 }
        !on || !("state" in column) || !("title" in column) { next }
        {
            gsub(/\\\|/, "|")
            state = $column["state"]
            sub(/ \(.*/, "", state)
            sub(/ until .*/, "", state)
            if (state ~ /^(was running|waiting)/)
                state = "queued"
            parent = "parent" in column ? $column["parent"] : "—"
            sub(/ \(.*/, "", parent)
            if (parent ~ /, missing$/)
                parent = "—"
            title = $column["title"]
            created = $column["created"]
            if ("enqueued" in column && $column["enqueued"] != "—")
                created = $column["enqueued"]
            if (state == "epic") # it waits for its children
                state = "queued"
            print $2 "\t" state "\t" parent "\t" created "\t" title
        }' "$root/tests/fixtures/import/$1/EXPECTED.md"
}

external_of() { # ID or nothing
    if [ -n "$1" ] && [ "$1" != null ]; then value "$1" external_id; else echo —; fi
}

# Prints the same for the tasks of the daemon, for the external ids on stdin; fields that the table leaves open are copied from it.
actual() {
    tab=$(printf '\t')
    while IFS=$tab read -r id _ _ created title; do
        "$SLUICE" show --json "$id" >"$tmp/shown" 2>&1
        is=$(first state <"$tmp/shown")
        case $is/$(first hold <"$tmp/shown") in
        waiting/* | ready/*) is=queued ;;
        held/review) is='in review' ;;
        esac
        case $created in
        *[0-9]) created=$(first created_at <"$tmp/shown") ;;
        esac
        case $title in
        '20,000 characters') ;;
        *) title=$(first title <"$tmp/shown") ;;
        esac
        printf '%s\t%s\t%s\t%s\t%s\n' "$id" "$is" "$(external_of "$(first parent <"$tmp/shown")")" "$created" "$title"
    done
}

matches() { # SYSTEM SIZE
    expected "$1" "$2" >"$tmp/want"
    actual <"$tmp/want" >"$tmp/is"
    compare "$tmp/want" "$tmp/is" "$1 $2: the tasks are those of EXPECTED.md"
    rule "$1 $2: and no others" [ "$("$SLUICE" list --all --ids --limit 1000 | wc -l)" = "$(wc -l <"$tmp/want")" ]
}

nothing_waits() {
    [ -z "$("$SLUICE" list --ids --state waiting,ready,starting,running --limit 1)" ]
}

drained() {
    rule "$1" soon nothing_waits
}

noted() {
    grep -F "note: $1: " "$tmp/out" | grep -qF -e "$2"
    report $? "$3"
}

left_out() {
    grep -F 'left out: ' "$tmp/out" | grep -F "$1" | grep -qF -e "$2"
    report $? "$3"
}
