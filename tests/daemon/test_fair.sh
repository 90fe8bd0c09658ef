#!/bin/sh
# Shares, guarantees, budgets and workers of the preset agent-queue, with the real daemon and one run at a time.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"
config 'preset: agent-queue
limits: {runs: 1}
projects: {alpha: {weight: 3}, beta: {weight: 1}, idle: {active: false}}'
PATH=$(dirname "$SLUICE"):$PATH
start

# A run that prints its name and reports tokens.
cat >work.sh <<'END'
echo "$1" >>order
[ -z "${2-}" ] || sluice report --tokens-in "$2" --tokens-out 0
END
work() { # NAME TOKENS ADD-OPTIONS...
    name=$1 tokens=$2
    shift 2
    add "$@" -- sh ./work.sh "$name" "$tokens"
}
settle() { # waits until nothing is left to do
    soon nothing_runs
}
nothing_runs() {
    [ -z "$("$SLUICE" list --ids --state ready,starting,running)" ]
}
went() { # prints the order of the runs since the last time
    tr '\n' ' ' <order
    : >order
}
project() { # NAME MEMBER
    "$SLUICE" project show --json "$1" | first "$2"
}

# --- f038, f039, f040, f041, f047 -------------------------------------------------------------------------

"$SLUICE" pause >/dev/null
work a1 1000 --project alpha
work a2 '' --project alpha
work b1 500 --project beta
"$SLUICE" resume >/dev/null
settle
rule 'f038 a project without a completion in the window goes first, once each' [ "$(went)" = 'a1 b1 a2 ' ]
rule 'f040 1000 and 500 tokens are shares of 66.7 and 33.3 per cent' \
    [ "$(project alpha share) $(project beta share)" = '0.6667 0.3333' ]
"$SLUICE" pause >/dev/null
work b2 '' --project beta
work a3 '' --project alpha
rule 'f039 against targets of 75 and 25, by weight' [ "$(project alpha target) $(project beta target)" = '0.7500 0.2500' ]
"$SLUICE" resume >/dev/null
settle
rule 'f040 so alpha is behind its share and goes first' [ "$(went)" = 'a3 b2 ' ]
"$SLUICE" pause >/dev/null
work later '' --project alpha --priority 50
work second '' --project alpha --priority 20
work third '' --project alpha --priority 20
work top '' --project alpha --priority 1
"$SLUICE" resume >/dev/null
settle
rule 'f041 in a project the lower number first, then the order of arrival' [ "$(went)" = 'top second third later ' ]
"$SLUICE" pause >/dev/null
work a4 4000 --project alpha
work b3 '' --project beta
work a5 '' --project alpha
"$SLUICE" resume >/dev/null
settle
rule 'f047 an imbalance corrects itself: the one that used too much steps back' [ "$(went)" = 'a4 b3 a5 ' ]

# --- f012, f042, f043 ---------------------------------------------------------------------------------------

work never '' --project idle
run sluice why "$id"
rule 'f012 a project that is not active gets nothing, and says so' grep -Eq "project .*'idle'" out
run sluice config set projects.idle.active=true
rule 'f012 active again, it does' becomes "$id" 'done'
rule 'f042 no tokens at all divide nothing by zero' [ "$(project idle share)" = 0.0000 ]
run sluice config set fair.window_h=48
exits 0 'f043 the length of the window is a setting'
rule 'f043 what was used is still known' [ "$(project alpha tokens)" = 5000 ]
: >order

# --- f063, f064 ---------------------------------------------------------------------------------------------

run sluice config set limits.runs=8 projects.alpha.max_running=1
mkfifo go
for project in alpha alpha beta; do
    add --project $project -- sh -c 'read -r _ <go'
done
rule 'f063 a project at its cap is passed over: one of alpha, one of beta' \
    [ "$("$SLUICE" list --ids --state starting,running | sed 's/-.*//' | sort | tr '\n' ' ')" = 'alpha beta ' ]
"$SLUICE" cancel --now --all --state ready,starting,running >/dev/null
for id in $("$SLUICE" list --ids --state starting,running); do becomes "$id" canceled; done
run sluice config set projects.alpha.max_running=4 projects.alpha.budget=5001
work one-more 1 --project alpha
rule 'f064 below its budget a project goes on' becomes "$id" 'done'
work too-much '' --project alpha
run sluice why "$id"
rule 'f064 at its budget it stops, with the figures' grep -Eq 'project-budget .*5001' out
over=$id
work other '' --project beta
rule 'f064 the others go on' becomes "$id" 'done'
run sluice config set projects.alpha.budget=unlimited budget=5501
rule 'f064 the budget of all stops all' [ "$(value "$over" gate)" = budget ]
run sluice status
has 'budget:global' 'f064 status shows it'
run sluice config set budget=unlimited
rule 'f064 raised, work goes on at once' becomes "$over" 'done'

# --- pain 3: spend is bounded -------------------------------------------------------------------------------

run sluice config set projects.beta.budget=600 retry.failed.delay_s=0 retry.failed.cap_s=0
echo 'sluice report --tokens-in 60 --tokens-out 0; exit 1' >burn.sh
add --project beta --retries 5 -- sh ./burn.sh
burning=$id
is_stopped() {
    "$SLUICE" show --json "$burning" >out
    [ "$(field gate)" = project-budget ] || [ "$(field state)" = failed ]
}
soon is_stopped
rule 'pain 3: a task that fails and fails stops at the budget, not after a night' [ "$(value "$burning" gate)" = project-budget ]
rule 'pain 3: the excess is one run at most' [ "$(project beta tokens)" -le 660 ]
"$SLUICE" cancel "$burning" >/dev/null

# --- f013, f014: workers -----------------------------------------------------------------------------------

"$SLUICE" down >/dev/null 2>&1
config 'preset: agent-queue
projects: {alpha: , beta: }
agents:
  ann: {roster: true, slots: 1, command: [sh, -c, "read -r _ <go"]}
  bob: {roster: true, slots: 1, command: [sh, -c, "read -r _ <go"]}'
start
for project in alpha beta alpha; do
    add --project $project -- sh -c 'read -r _ <go'
done
running=$("$SLUICE" list --ids --state starting,running | sort)
rule 'f014 two idle workers, two runs; the third waits for one' [ "$(echo "$running" | wc -l)" = 2 ]
run sluice why "$("$SLUICE" list --ids --state ready)"
has 'lease:agents' 'f014 and says so'
for task in $running; do
    "$SLUICE" show --json "$task" | grep -oE '"agent":"(ann|bob)"' | sort -u
done | sort >workers
rule 'f013 each run has a task, a project and a worker of its own, in the order of the list' \
    [ "$(tr '\n' ' ' <workers)" = '"agent":"ann" "agent":"bob" ' ]
"$SLUICE" cancel --now --all --state ready,starting,running >/dev/null
finish
