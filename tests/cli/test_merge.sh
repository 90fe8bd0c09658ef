#!/bin/sh
# sluice merge: refused calls. tests/daemon/test_merge_hand.sh tests the merge itself.
# shellcheck disable=SC2154 # lib.sh and daemon.sh set home, id, root and tmp
. "$(dirname "$0")/lib.sh"
. "$here/daemon.sh"

start
run sluice project add web
add --project web --draft -- true
run sluice merge web-1
exits 4 'a draft: exit code'
rule_file=$tmp/err
rule 'a draft is named' grep -qF "web-1" "$rule_file"
run sluice merge web-9
exits 1 'no such task: exit code'
says "sluice: there is no task 'web-9'" 'no such task'
usage='usage: sluice merge [--into BRANCH] [--dry-run] [--no-checks] ID...'
run sluice merge
exits 2 'no task: exit code'
says "sluice: 'merge' needs at least 1 argument
$usage" 'no task'
run sluice merge --into '' web-1
exits 2 'an empty branch: exit code'
rule 'nothing has changed' [ "$(value web-1 state)" = draft ]
finish
