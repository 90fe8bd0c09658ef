#!/bin/sh
# A task that escalates while the daemon is killed at each commit of its life, before and after the commit is on disk: it takes
# each step once, after the same failures, and never goes back.
#
# TEST_SLUICED is a copy of the daemon whose death the test chooses (tests/harness/kill_at_commit.c). KILL='12 after' plays one alone.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # lib.sh sets root and tmp; $ is for inner shells
. "$(dirname "$0")/../cli/lib.sh"
: >out
: >err
mkdir bin lives
for name in sluice sluice-shim sluice-acp; do
    cp "$(dirname "$SLUICE")/$name" bin/
done
cp "${TEST_SLUICED:?is not set}" bin/killed-sluiced
cp "$root/tests/harness/restarted-sluiced" bin/sluiced
# Makes the file only with the strongest model. Logs each run.
cat >bin/agent <<'END'
#!/bin/sh
cat >/dev/null
echo "$1" >>"$LIFE/models"
[ "$1" != opus ] || touch "$LIFE/made"
END
chmod +x bin/agent

added() {
    "$tmp/bin/sluice" add --project default --external-id it --agent weak --escalate :sonnet,strong --until validate \
        --check "test -e $LIFE/made" 'make it'
}

# answered COMMAND [OPTION]: its answer about the task is in the file of the command.
answered() {
    "$tmp/bin/sluice" "$@" it --json >"$LIFE/$1" 2>>"$LIFE/log"
}

# No daemon runs, and none is being restarted.
is_down() {
    "$tmp/bin/sluice" down >>"$LIFE/log" 2>&1
    ! ls "$SLUICE_TEST_CLOCK"/alive.* >/dev/null 2>&1
}

# life NAME KILL: in a folder of its own. KILL: '' or 'N before' or 'N after'.
life() {
    LIFE=$tmp/lives/$1
    SLUICE_HOME=$LIFE/home SLUICE_TEST_COMMITS=$LIFE/commits SLUICE_TEST_KILL_AT=$2
    export LIFE SLUICE_HOME SLUICE_TEST_COMMITS SLUICE_TEST_KILL_AT
    mkdir -p "$LIFE/home" "$LIFE/clock"
    echo 0 >"$LIFE/commits"
    echo 0 >"$LIFE/clock/ahead"
    cat >"$LIFE/home/sluice.yaml" <<END
limits: {runs: 2}
retry: {failed: {max: 0}, lost: {delay_s: 0}, unfinished: {max: 9, delay_s: 0}}
runaway: {pause_s: 0}
tasks: {sandbox: none}
agents:
  weak: {adapter: plain, command: ['$tmp/bin/agent', '{model}'], model: haiku, env: ['LIFE=$LIFE'], escalate: [':sonnet'], slots: 1}
  strong: {adapter: plain, command: ['$tmp/bin/agent', '{model}'], model: opus, env: ['LIFE=$LIFE'], slots: 1}
END
    export SLUICE_TEST_CLOCK="$LIFE/clock"
    # A request that the daemon does not survive is repeated.
    soon added >>"$LIFE/log" 2>&1
    soon "$tmp/bin/sluice" wait it >>"$LIFE/log" 2>&1
    soon answered show
    soon answered events --task
    {
        tr '\n' ' ' <"$LIFE/models"
        grep -o '"state":"[a-z]*"' "$LIFE/show" | head -n 1
        grep -o '"step":[0-9]*,"steps":[0-9]*' "$LIFE/show" | head -n 1
        tr '{' '\n' <"$LIFE/events" | grep -o '"from":"[^"]*:[^"]*","to":"[^"]*","step":[0-9]*' | sort
    } >"$LIFE/result"
    : >"$SLUICE_TEST_CLOCK/over"
    soon is_down
}

life calm ''
cp lives/calm/result calm
[ -s lives/calm/models ] || sed "s/^/# /" lives/calm/log
rule 'the task takes its steps in order' grep -qF 'haiku haiku sonnet sonnet opus "state":"done"' calm
rule 'with one event for each' [ "$(grep -c '"step":[12]$' calm)" = 2 ]
commits=$(head -n 1 lives/calm/commits)
rule 'it has some commits' [ "$commits" -ge 10 ]
n=1
while [ $n -le "$commits" ]; do
    for when in before after; do
        [ "${KILL-$n $when}" = "$n $when" ] || continue
        life "$n-$when" "$n $when"
        if cmp -s calm "lives/$n-$when/result"; then
            report 0 "killed $when commit $n: the same steps"
        else
            report 1 "killed $when commit $n: the same steps"
            cat "lives/$n-$when/result" "lives/$n-$when/log" | sed 's/^/# /'
        fi
        rm -rf "lives/$n-$when"
    done
    n=$((n + 1))
done
no_process_is_left 'no process of a life is left'
finish
