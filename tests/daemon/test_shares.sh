#!/bin/sh
# Distribution of slots: weights, caps, and limits that are never exceeded.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"
config 'limits: {runs: 4, resource: {gpu: 1}}
projects: {web: {weight: 3}, api: {weight: 1}, docs: {max_running: 1}}
kinds: {review: {max_running: 1}}'
start

running() { # of a project
    "$SLUICE" list --ids --state starting,running --project "$1" | wc -l
}

# Runs keep their slots until the fifo is opened for writing.
mkfifo go
"$SLUICE" pause >/dev/null
for project in api web; do
    for _ in 1 2 3 4 5 6; do
        "$SLUICE" add --project $project -- sh -c 'read -r _ <go' >/dev/null
    done
done
"$SLUICE" resume >/dev/null
run sluice status --json
rule 'all places are used' [ "$("$SLUICE" list --ids --state starting,running | wc -l)" = 4 ]
rule 'weights 3 and 1 share four places 3 to 1' [ "$(running web) $(running api)" = '3 1' ]
run sluice why "$("$SLUICE" list --ids --state ready --project web --limit 1)"
has 'lease:runs' 'the others wait for a place'
run sluice config set limits.runs=8
exits 0 'a cap is raised'
rule 'which starts work at once: 6 to 2' [ "$(running web) $(running api)" = '6 2' ]
run sluice config set limits.runs=1
rule 'lowering it stops nothing' [ "$("$SLUICE" list --ids --state starting,running | wc -l)" = 8 ]
run sluice cancel --all --now
run sluice config set limits.runs=8

# Every run writes at its start and its end; no run may see more than the cap.
cat >count.sh <<'END'
echo "+ $1" >>diary
sha256sum "$2" >/dev/null
echo "- $1" >>diary
END
most() { # of a name in the diary
    awk -v name="$1" '$2 == name { n += $1 == "+" ? 1 : -1; if (n > most) most = n } END { print most + 0 }' diary
}
for i in 1 2 3 4 5 6; do
    echo "- {argv: [sh, ./count.sh, docs, '$SLUICE'], project: docs}"
    echo "- {argv: [sh, ./count.sh, review, '$SLUICE'], kind: review}"
    echo "- {argv: [sh, ./count.sh, gpu, '$SLUICE'], resources: [gpu]}"
    echo "- {argv: [sh, ./count.sh, plan, '$SLUICE'], serial: plan, parallelizable: false}"
done >tasks.yaml
run sluice add --group caps -f tasks.yaml
exits 0 '24 tasks under four caps'
for id in $("$SLUICE" list --ids --all --group caps); do
    becomes "$id" 'done' || break # counted below
done
for name in docs review gpu plan; do
    rule "never more than one at a time: $name" [ "$(most $name)" = 1 ]
done
rule 'and all of them ran' [ "$(grep -c '^-' diary)" = 24 ]
finish
