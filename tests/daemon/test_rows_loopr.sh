#!/bin/sh
# Document 000 with the real daemon: the record of a task, the order of starts, caps.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"
PATH=$(dirname "$SLUICE"):$PATH
export PATH
config 'preset: loopr
limits: {runs: 1}
score: {age_per_minute: 0}
projects: {web: }'
start
mkfifo go

# KIND ARGS...: adds a task that writes its kind and number to a file when it runs
note() {
    kind=$1
    shift
    add --project web --kind "$kind" "$@" -- sh -c 'echo "$SLUICE_TASK" >>order'
}

# prints the order of the runs since the last time
ran() {
    tr '\n' ' ' <order
    : >order
}

# IDS...: waits until all are done
all_done() {
    for each; do
        becomes "$each" 'done' || return 1
    done
}

# --- the record ------------------------------------------------------------------------------------------

add --project web --kind plan -- sh -c 'read -r _ <go'
plan=$id
becomes "$plan" running
add --project web --kind spec --parent "$plan" --artifact "$tmp/plan.md" -- true
spec=$id
run sluice show --json "$spec"
rule 'f002 a record has id, kind, parent and state' \
    [ "$(field id) $(field kind) $(field parent) $(field state)" = "$spec spec $plan waiting" ]
rule 'f002 and what triggers it' grep -qF "\"artifact\":\"$tmp/plan.md\"" out
rule 'f002 and its iteration' [ "$(field iteration)" = 1 ]
rule 'f002 and when it was made and changed' [ "$(field created_at)" -le "$(field changed_at)" ]
run sluice show --json "$plan"
rule 'f002 one that runs has a phase' [ "$(field phase)" = working ]
made=$(field created_at)
unblock go
becomes "$plan" 'done'
"$SLUICE" down >/dev/null 2>&1
start
run sluice show --json "$plan"
rule 'f002 the record is the same after a restart' \
    [ "$(field id) $(field kind) $(field state) $(field created_at)" = "$plan plan done $made" ]
rule 'f002 a change moves the time of the change' [ "$(field changed_at)" -gt "$made" ]

# --- states ----------------------------------------------------------------------------------------------

rule 'f003 pending: it waits' [ "$(value "$spec" state)" = waiting ]
rule 'f003 complete: done' [ "$(value "$plan" state)" = 'done' ]
"$SLUICE" again "$plan" >/dev/null
rule 'f003 invalidated: its parent iterates' becomes "$spec" invalidated
rule 'f003 running' becomes "$plan" running
unblock go
becomes "$plan" 'done'
add --project web --until exit --retries 0 -- false
rule 'f003 failed' becomes "$id" failed
add --project web --hold -- true
"$SLUICE" cancel "$id" >/dev/null
rule 'f003 canceled' [ "$(value "$id" state)" = canceled ]

# --- only what is pending ------------------------------------------------------------------------------

before=$(last_event)
run sluice tick
rule 'f015 what is done, failed, canceled or invalidated is never started' [ "$(last_event)" = "$before" ]
rule 'f015 an invalidated task has not run' [ "$(value "$spec" attempt)" = 0 ]

# --- order -------------------------------------------------------------------------------------------------

: >order
"$SLUICE" pause >/dev/null
note plan && plan=$id
note spec && spec=$id
note phase && phase=$id
note ralph && ralph=$id
note ralph && younger=$id
cat >again.yaml <<'END'
project: web
defaults: {kind: ralph, argv: [sh, -c, 'echo "$SLUICE_TASK" >>order']}
tasks:
  - {title: fifth, iteration: 5}
  - {title: ninth, iteration: 9}
END
"$SLUICE" add --file again.yaml --json >out
fifth=$(grep -o '"id":"[^"]*"' out | sed -n '1s/.*:"\(.*\)"/\1/p')
ninth=$(grep -o '"id":"[^"]*"' out | sed -n '2s/.*:"\(.*\)"/\1/p')
# no child runs before its parent, so the depth is that of children of a plan that is done
"$SLUICE" resume >/dev/null
rule 'f141 everything that may run has run' all_done "$plan" "$spec" "$phase" "$ralph" "$younger" "$fifth" "$ninth"
rule 'f028 f031 f033 f141 by score: 100, 100, 80 twice, 70, 60, 40' \
    [ "$(ran)" = "$ralph $younger $phase $fifth $ninth $spec $plan " ]

"$SLUICE" pause >/dev/null
note ralph && free=$id
note spec --parent "$plan" && below=$id
note phase && level=$id
"$SLUICE" debug scheduler >out
score() {
    awk -v id="$1" '$1 == id { print $3 }' out
}
rule 'f028 a ralph of now has 100' [ "$(score "$free")" = 100 ]
rule 'f030 a spec below a plan has ten more: 70' [ "$(score "$below")" = 70 ]
rule 'f028 a phase has 80' [ "$(score "$level")" = 80 ]
"$SLUICE" config set score.per_depth=45 >/dev/null
"$SLUICE" resume >/dev/null
all_done "$free" "$below" "$level"
rule 'f030 depth decides: 60 + 45 goes before 100' [ "$(ran)" = "$below $free $level " ]
"$SLUICE" config unset score.per_depth >/dev/null

"$SLUICE" pause >/dev/null
note plan && a=$id
note plan && b=$id
note spec --parent "$a" && a1=$id
note phase --parent "$a1" && a1a=$id
note phase --parent "$a1" && a1b=$id
note ralph --parent "$a1a" && a1a1=$id
"$SLUICE" debug scheduler >out
rule 'f032 the tree of the document: 40, 70, 100, 130' \
    [ "$(score "$a") $(score "$a1") $(score "$a1a") $(score "$a1a1")" = '40 70 100 130' ]
"$SLUICE" resume >/dev/null
all_done "$a" "$a1" "$a1a" "$a1b" "$a1a1" "$b"
rule 'f034 the branch is finished before another plan begins' [ "$(ran)" = "$a $a1 $a1a $a1a1 $a1b $b " ]

# --- age ---------------------------------------------------------------------------------------------------

"$SLUICE" config unset score.age_per_minute >/dev/null
# TASK MINUTES: sets its creation time back; the daemon must be down
made_earlier() {
    if ! store_is_file; then
        psql -Xqc "UPDATE $(schema_of "$home").task SET created_at = created_at - 60000 * $2 WHERE number = ${1#*-}" "$SLUICE_TEST_STORE"
        return
    fi
    python3 -c 'import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
db.execute("UPDATE task SET created_at = created_at - ? WHERE number = ?", (60000 * int(sys.argv[3]), int(sys.argv[2].split("-")[1])))
db.commit()' "$home/sluice.db" "$1" "$2"
}
"$SLUICE" pause >/dev/null
note spec && young=$id
begin=$(date +%s)
note plan && old=$id
note plan && ancient=$id
"$SLUICE" down >/dev/null 2>&1
made_earlier "$old" 25 && made_earlier "$ancient" 6000
start
"$SLUICE" debug scheduler >out
later=$((($(date +%s) - begin) / 60)) # 0, unless the machine was suspended
rule 'f029 a point for each whole minute: a plan that waits for 25 has 65' \
    sh -c '[ "$1" -ge 65 ] && [ "$1" -le $((65 + $2)) ]' - "$(score "$old")" $later
rule 'f029 at most fifty: one that waits for days has 90' [ "$(score "$ancient")" = 90 ]
"$SLUICE" resume >/dev/null
all_done "$young" "$old" "$ancient"
"$SLUICE" config set score.age_per_minute=0 >/dev/null
rule 'f029 so both go before a spec of now, which has 60' [ "$(ran)" = "$ancient $old $young " ]

# --- a bonus for iteration 0 ------------------------------------------------------------------------------

echo '{project: web, tasks: [{kind: ralph, iteration: 0, run: "true"}]}' >zero.yaml
before=$(last_event)
run sluice add -f zero.yaml
rule 't12 iterations are counted from 1: 0 is refused' [ "$code $(last_event)" = "2 $before" ]

# --- starvation -------------------------------------------------------------------------------------------

# each leaf adds the next one before it ends: there is always one
cat >leaf.sh <<'END'
echo leaf >>leaves
[ -e enough ] || sluice add --project web --kind ralph -- sh leaf.sh >/dev/null
END
: >leaves
"$SLUICE" pause >/dev/null
add --project web --kind plan -- true
plan=$id
add --project web --kind ralph -- sh leaf.sh
"$SLUICE" resume >/dev/null
many_leaves() {
    [ "$(wc -l <leaves)" -ge 20 ]
}
soon many_leaves
rule 't01 as the document has it a plan starves behind a stream of leaves' \
    [ "$(value "$plan" attempt)" = 0 ]
"$SLUICE" config set max_wait_s=1 >/dev/null
rule 'f035 t01 with max_wait_s it does not wait for ever' becomes "$plan" 'done'
rule 'f035 t01 and the leaves go on' many_leaves
: >enough
run sluice doctor
rule 'f035 doctor has nothing to say about it' sh -c '! grep -q max_wait_s out'
"$SLUICE" config set 'order=score, seq' >/dev/null
run sluice doctor
has "'max_wait_s' has no effect" 'f035 unless the order was set without it: then doctor says so'
"$SLUICE" config unset order max_wait_s >/dev/null
"$SLUICE" config set pace.tick_s=5 pace.batch=unlimited >/dev/null
run sluice doctor
has "'pace.tick_s' has no effect: 'pace.batch' is unlimited" 'doctor says that a tick without a batch does nothing'
"$SLUICE" config unset pace.tick_s pace.batch >/dev/null
idle() {
    [ "$("$SLUICE" list --ids --state ready,waiting,starting,running | wc -l)" = 0 ]
}
soon idle

# --- caps --------------------------------------------------------------------------------------------------

"$SLUICE" config unset limits.runs >/dev/null
"$SLUICE" config set kinds.odd.base=50 agents.caller.limiter=account >/dev/null
live() {
    "$SLUICE" status --json | grep -o '"key":"'"$1"'","used":[0-9]*' | sed 's/.*://'
}
gate() {
    becomes "$1" ready &&
    value "$1" gate
}
rule 'f048 fifty runs at once' [ "$("$SLUICE" config get --live limits.runs)" = 50 ]
for _ in 1 2 3; do
    add --project web --kind plan -- sh -c 'read -r _ <go'
done
rule 'f050 two plans at once, the third waits for its kind' \
    [ "$(live kind:plan) $(gate "$id")" = '2 lease:kind:plan' ]
third=$id
rule 't13 a plan has no parent that could be incomplete' [ "$(value "$id" parent)" = null ]
add --project web --kind spec -- sh -c 'read -r _ <go'
rule 'f050 another kind has its own cap' becomes "$id" running
add --project web --kind odd -- sh -c 'read -r _ <go'
rule 'f050 a kind without a cap has none' becomes "$id" running
for _ in 1 2 3 4 5 6 7 8 9 10 11; do
    add --project web --limiter account -- sh -c 'read -r _ <go'
done
rule 'f049 ten users of an account, the eleventh waits for it' \
    [ "$("$SLUICE" limiter list --json | first used) $(gate "$id")" = '10 lease:limiter:account' ]
now=$(live runs)
"$SLUICE" config set limits.runs="$now" >/dev/null
add --project web --kind odd -- sh -c 'read -r _ <go'
rule 'f048 with all places taken nothing starts, and it is told why' \
    [ "$(gate "$id") $(value "$id" attempt)" = 'lease:runs 0' ]
"$SLUICE" config set limits.runs=1 >/dev/null
run sluice tick
rule 'f048 more running than places is no free place' [ "$(value "$id" attempt) $(live runs)" = "0 $now" ]
"$SLUICE" config set limits.runs=0 >/dev/null
"$SLUICE" cancel --now --all --state starting,running >/dev/null
for each in $("$SLUICE" list --ids --all --state canceled,starting,running); do
    becomes "$each" canceled
done
rule 'f048 t04 with no places nothing starts at all' [ "$(live runs) $(value "$third" attempt)" = '0 0' ]

# --- a loop that ends at once -----------------------------------------------------------------------------

says_quick() { # ID
    "$SLUICE" why "$1" | grep -Eq 'its last [0-9]+ runs have each ended in less than 5 s'
}
run sluice config set runaway.pause_s=1 runaway.alert_after=2 limits.runs=50
add --project web --kind ralph -- false
quick=$id
rule 'f162 a loop whose runs end at once: why says so' soon says_quick "$quick"
rule 'f162 and there is an alert' appears "alert runaway:$quick" "$home/sluice.log"
"$SLUICE" hold "$quick" >/dev/null
"$SLUICE" events --json --task "$quick" --limit 100 >out
# The starts of attempts 1, 2 and 3 are at least 1 s and 2 s apart: n starts take 2^(n-1) - 1 s.
starts=$(grep '"kind":"run.started"' out | sed 's/.*"at":\([0-9]*\).*/\1/')
# shellcheck disable=SC2086 # one word for each start
rule 'f162 the pause before each attempt doubles, from 1 s' sh -c '
    count=$# first=$1 least=0 step=1000
    while [ "$count" -gt 1 ]; do
        least=$((least + step)) step=$((step * 2)) count=$((count - 1))
    done
    for last; do :; done
    [ $# -ge 2 ] && [ $((last - first)) -ge "$least" ]' - $starts
"$SLUICE" cancel --now "$quick" >/dev/null
finish
