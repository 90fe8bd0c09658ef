#!/bin/sh
# `sluice list --order queue` shows the order in which tasks start, considering shares, limits and dependencies.
# shellcheck disable=SC1091,SC2154 # kit.sh sets home and tmp
. "$(dirname "$0")/kit.sh"
PATH=$(dirname "$SLUICE"):$PATH

cat >work.sh <<'END'
sluice report --tokens 1000
END
work() { # ADD-OPTIONS...
    add "$@" -- sh ./work.sh
}
nothing_waits() {
    [ -z "$("$SLUICE" list --ids --state waiting,ready,starting,running)" ]
}
starts_since() { # NUMBER
    "$SLUICE" events --json --after "$1" | sed -n 's/.*"kind":"task.state","task":"\([^"]*\)".*"to":"starting".*/\1/p'
}

play() { # PRESET
    empty_home
    config "preset: $1
limits: {runs: 1}
projects: {alpha: {weight: 3, prefix: a}, beta: {weight: 1, prefix: b}}"
    start
    work --project alpha # so that each has used something
    work --project beta
    soon nothing_waits
    "$SLUICE" pause >/dev/null
    for _ in 1 2 3 4 5 6; do
        work --project beta
    done
    for _ in 1 2 3 4 5 6; do
        work --project alpha
    done
    first=$id
    work --project alpha --priority 10 --after "$first" # urgent, but not yet
    work --project beta --priority 10
    held=$("$SLUICE" add --json --hold --project beta -- true | first id)
    "$SLUICE" list --order queue --ids >listed
    "$SLUICE" list --order queue --ids --limit 5 >head5
    before=$(last_event)
    "$SLUICE" resume >/dev/null
    soon nothing_waits
    starts_since "$before" >started
    rule "$1: the list is the order in which they start" cmp listed started
    rule "$1: it has all that start" [ "$(wc -l <listed)" -eq 14 ]
    head -n 5 listed | cmp - head5
    report $? "$1: the first page is its beginning"
    rule "$1: shares alternate the projects" [ "$(head -n 8 listed | cut -c1 | uniq | wc -l)" -ge 3 ]
    stop_daemon
}
play sluice
play agent-queue

# Tasks that wait for a person come last, in the order of the queue; a list of live runs needs no forecast.
start
"$SLUICE" pause >/dev/null
work --project beta
blocked=$id
work --project alpha --after "$held"
last=$id
rule 'what waits for a held task is the last' [ "$("$SLUICE" list --order queue --ids | tr '\n' ' ')" = "$blocked $last " ]
work --project alpha --priority 1
rule 'a task that was added just now is in it' [ "$("$SLUICE" list --order queue --ids --limit 2 | grep -c "$id")" -eq 1 ]
finish
