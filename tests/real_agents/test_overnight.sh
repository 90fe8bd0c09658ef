#!/bin/sh
# docs/guide/overnight.md: its five commands, word for word, with the real Claude Code and a plan that is used up while
# three tasks are at work.
# shellcheck disable=SC1091,SC2016,SC2154 # kit.sh sets root, home, tmp; $SLUICE_TASK is for the tool
. "$(dirname "$0")/kit.sh"
PATH=$(dirname "$SLUICE"):$PATH
export PATH

# The plan ends in the middle: three first steps, then nothing for a while; then each says that it is done.
step='tool echo $SLUICE_TASK >>steps; git add steps; git commit -qm step'
service "$step" "$step" "$step" 'limit 10' 'ok The work is committed.'
git init -q -b main "$HOME/src/web"
git config --global user.name tester
git config --global user.email tester@localhost
git -C "$HOME/src/web" commit -q --allow-empty -m first
config 'limiter: {margin_s: 1, jitter_s: 1, recovery_s: 0}'

# tests/cli/test_service.sh and make test-service have this one.
sluice() {
    [ "$*" = 'service install' ] || command sluice "$@"
}

awk '/^```/ { if (on) exit; on = /^```sh/; next } on' "$root/docs/guide/overnight.md" >commands
rule 'five commands' [ "$(grep -c . commands)" = 5 ]
typed=0
while read -r line; do
    eval "$line" >out 2>err </dev/null
    code=$?
    [ $code = 0 ] || report $code "$line"
    typed=$((typed + 1))
done <commands
rule 'all of them work' [ $typed = 5 ]

met_limit() { [ "$(answered limit)" -gt 0 ]; }
soon met_limit
reset=$(asked "[one['reset_at'] for one in r if one['scene'] == 'limit'][0]")
for id in web-1 web-2 web-3; do
    rule "$id is done" becomes $id 'done'
    rule "$id: each run in a sandbox" boxed $id
done
rule 'nobody asked between the limit and its end' \
    [ "$(asked "any(one['scene'] == 'limit' and one['at'] > min(o['at'] for o in r if o['scene'] == 'limit') + 5 for one in r)")" = False ]
rule 'nor before the margin was over' \
    [ "$(asked "min(one['at'] for one in r if one['scene'] == 'ok') >= $reset + 1")" = True ]
success=$(for id in web-1 web-2 web-3; do of $id "t['runs'][-1]['ended_at']"; done | sort -n | head -n 1)
rule 'then one went first: the others waited for its success' \
    [ "$(asked "sorted(one['at'] for one in r if one['scene'] == 'ok')[1] * 1000 >= $success")" = True ]
rule 'no retry was used up' \
    [ "$(for id in web-1 web-2 web-3; do of $id "t['counters']['failures']"; done | sort -u)" = 0 ]
rule 'every token is booked once' \
    [ "$(booked web-1 web-2 web-3 in) $(booked web-1 web-2 web-3 out)" = "$(charged in) $(charged out)" ]
rule 'each conversation went on where it was' \
    [ "$(asked "sum(one['turns'] for one in r if one['scene'] == 'ok')")" = 3 ]
rule 'three steps are committed, each on a branch of its own' \
    [ "$(git -C "$HOME/src/web" log --all --format=%s | grep -c step)" = 3 ]
rule 'and nothing is left of the agents' [ -z "$(left_of web-1)$(left_of web-2)$(left_of web-3)" ]
finish
