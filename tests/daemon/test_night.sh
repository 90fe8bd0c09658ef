#!/bin/sh
# The night of examples/night-shift on a clock that the test sets: the daemon is killed at every commit of it in turn, before and after the commit
# is on disk, and the result in the morning is the same each time.
#
# TEST_SLUICED is a copy of the daemon whose clocks and death the test chooses (tests/harness/test_clock.c, kill_at_commit.c).
# NIGHT=12 or NIGHT='12 after' plays one of the nights alone.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # lib.sh sets root and tmp; $ is for inner shells
. "$(dirname "$0")/../cli/lib.sh"
needs git curl
: >out
: >err
GIT_CONFIG_SYSTEM=/dev/null
export GIT_CONFIG_SYSTEM
mkdir bin nights
for name in sluice sluice-shim sluice-acp; do
    cp "$(dirname "$SLUICE")/$name" bin/
done
cp "${TEST_SLUICED:?is not set}" bin/killed-sluiced
cp "$root/tests/harness/restarted-sluiced" bin/sluiced

# The clocks change in this night: 02:00 is followed by 03:00.
evening=2027-03-27
begin=$(TZ=Europe/Berlin date -d "$evening 21:59" +%s)

# night NAME KILL: plays it in its own folder. KILL: '' or 'N before' or 'N after'.
night() {
    mine=$tmp/nights/$1
    mkdir -p "$mine/clock" "$mine/place"
    echo 0 >"$mine/commits"
    echo $(((begin - $(date +%s)) * 1000)) >"$mine/clock/ahead"
    code=0
    NIGHT_OF=$evening NIGHT_RESULT=$mine/result SLUICE_TEST_CLOCK=$mine/clock SLUICE_TEST_COMMITS=$mine/commits SLUICE_TEST_KILL_AT=$2 \
        SLUICE=$tmp/bin/sluice TMPDIR=$mine/place "$root/examples/run" night-shift >"$mine/out" 2>"$mine/err" </dev/null || code=$?
    echo $code >"$mine/code"
}

# Reports a night, and forgets it.
judge() { # NAME 'what'
    mine=$tmp/nights/$1
    [ "$(cat "$mine/code")" = 0 ] && cmp -s "$tmp/nights/calm/result" "$mine/result" && [ -z "$(ls "$mine/place")" ]
    result=$?
    report $result "$2"
    [ $result = 0 ] || { cat "$mine/out" "$mine/err" "$mine/code" && diff "$tmp/nights/calm/result" "$mine/result" && find "$mine/place"; } 2>&1 | sed 's/^/# /'
    [ "$1" = calm ] || rm -rf "$mine"
}

night calm ''
judge calm 'a night on a clock that is set'
rule 'it checks what it shows' sh -c '[ "$(grep -c "^  ok  " "$1")" -ge 11 ] && ! grep -q WRONG "$1"' - nights/calm/out
commits=$(head -n 1 nights/calm/commits)
rule 'it has some commits' [ "$commits" -ge 20 ]

was_killed() { # NAME N: or had fewer commits
    [ -e "$tmp/nights/$1/commits.killed" ] || [ "$(head -n 1 "$tmp/nights/$1/commits")" -lt "$2" ]
}

# Four nights at the same time: most of each is waiting.
play_all() {
    n=1
    while [ $n -le "$commits" ]; do
        for when in before after; do
            case " ${NIGHT-$n $when} " in " $n "* | " $n $when "*) night "$n-$when" "$n $when" & ;; esac
        done
        if [ $((n % 2)) = 0 ] || [ $n = "$commits" ]; then
            wait
            for name in nights/[0-9]*; do
                name=${name#nights/}
                [ -d "nights/$name" ] || continue
                rule "the daemon is killed ${name#*-} commit ${name%-*}" was_killed "$name" "${name%-*}"
                judge "$name" 'and the result is the same'
            done
        fi
        n=$((n + 1))
    done
}
play_all
no_process_is_left 'no process of a night is left'
finish
