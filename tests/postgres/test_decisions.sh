#!/bin/sh
# The store does not influence decisions: the same tasks, generated from a seed, start in the same order with SQLite and
# with PostgreSQL. One run at a time, so that there are no races between processes.
# shellcheck disable=SC1091,SC2034,SC2154 # kit.sh sets home and tmp
: "${SLUICE_TEST_STORE:?is not set: run it by make test-postgres T=postgres_decisions}"
server=$SLUICE_TEST_STORE
. "$(dirname "$0")/../daemon/kit.sh"
trap 'for home in "$tmp"/home*; do SLUICE_HOME=$home; stop_daemon; done; rm -rf "$tmp"' EXIT
homes=0
run true

# 120 tasks in four projects: priorities, dependencies on earlier ones, phases, a resource, some that fail.
tasks() { # SEED
    awk -v seed="$1" 'BEGIN {
        srand(seed)
        print "{\"tasks\":["
        for (i = 1; i <= 120; i++) {
            printf "%s{\"name\":\"t%d\",\"title\":\"task %d\",\"project\":\"p%d\",\"priority\":%d", (i > 1 ? "," : ""), i, i,
                1 + int(4 * rand()), 10 * int(8 * rand())
            if (i > 10 && rand() < 0.4)
                printf ",\"depends_on\":[\"t%d\",\"t%d\"]", i - 1 - int(5 * rand()), i - 6 - int(4 * rand())
            if (rand() < 0.2)
                printf ",\"serial\":\"phase-%d\"", int(3 * rand())
            if (rand() < 0.2)
                printf ",\"resources\":[\"gpu\"]"
            printf ",\"argv\":[\"%s\"],\"cwd\":\"/\"}\n", (rand() < 0.05 ? "false" : "true")
        }
        print "]}"
    }'
}

# Runs the tasks of a seed in a separate home, and prints the starts in order.
order() { # STORE CONFIG SEED
    homes=$((homes + 1))
    home=$tmp/home$homes SLUICE_HOME=$tmp/home$homes SLUICE_TEST_STORE=$1
    mkdir "$home"
    config "$2
limits: {runs: 1, resource: {gpu: 1}}
projects: {p1: {weight: 4}, p2: {weight: 2}, p3: , p4: }
retry: {failed: {max: 0}}"
    start
    "$SLUICE" pause >/dev/null
    "$SLUICE" add --file "$tmp/tasks.$3" >/dev/null || echo "Bail out! the tasks of seed $3 are not taken"
    "$SLUICE" resume >/dev/null
    soon drained || echo "Bail out! the tasks of seed $3 do not end"
    "$SLUICE" events --after 0 --json | tr '{' '\n' | grep -B 1 '"to":"starting"' | grep -o '"task":"[^"]*"'
    "$SLUICE" down --wait >/dev/null 2>&1
}

drained() {
    [ -z "$("$SLUICE" list --ids --state ready,starting,running)" ]
}

same() { # 'what' CONFIG SEED
    tasks "$3" >"$tmp/tasks.$3"
    order '' "$2" "$3" >sqlite
    order "$server" "$2" "$3" >postgres
    rule "$1, seed $3: more than 100 starts" [ "$(wc -l <sqlite)" -gt 100 ]
    rule "$1, seed $3: in the same order" cmp sqlite postgres
}

same 'no preset' '' 1
same 'no preset' '' 2
same agent-queue 'preset: agent-queue' 3
finish
