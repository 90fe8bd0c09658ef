#!/bin/sh
# sluice store: shows the contents of a store, and copies it into another one.
# shellcheck disable=SC2154 # lib.sh and daemon.sh set home, id, root and tmp
. "$(dirname "$0")/lib.sh"
. "$here/daemon.sh"

run sluice store show
exits 0 'nothing there: exit code'
prints "nothing is stored at '$home/sluice.db'" 'nothing there'
run sluice store show --json
prints "{\"there\":false,\"store\":\"$home/sluice.db\"}" 'nothing there, as JSON'
[ ! -e "$home/sluice.db" ] && [ ! -e "$home/sluice.db-lock" ]
report $? 'to look makes nothing'
start
run sluice project add web
add --project web -- true
becomes web-1 'done'
run sluice store show
exits 4 'a daemon has it: exit code'
rule 'a daemon has it: how to end that' grep -q "^sluiced: store '$home/sluice.db' is in use by another process .*: stop that daemon first ('sluice down' ends" err
run sluice store copy current copy.db
exits 4 'a copy of a store in use'
rule 'of which nothing is made' [ ! -e copy.db ]
run sluice down

run sluice store show
exits 0 'show'
has "store        $home/sluice.db" 'show: where'
has 'kind         sqlite, version ' 'show: what'
has 'tasks        1' 'show: how much'
has 'closed properly' 'show: how it was left'
run sluice store show --json
has '"tasks":1,' 'show as JSON'
has '"rows":{"projects":1,"limiters":0,' 'show as JSON: every table'

run sluice store copy current copy.db
exits 0 'copy'
has 'copied: 1 tasks, 1 runs, ' 'copy: what'
has ", verified" 'copy: and that it is'
has "from  $home/sluice.db" 'copy: from where'
has "next  sluice config set store.url=$tmp/copy.db && sluice up" 'copy: how to go on'
rule 'no progress where nobody looks' [ ! -s err ]
rule 'it belongs to its owner alone' [ "$(stat -c %a copy.db)" = 600 ]
run sluice store copy current copy.db
exits 4 'into one that is not empty: exit code'
says "sluiced: store '$tmp/copy.db' is not empty: give another place, or move away what is there" 'into one that is not empty'
run sluice store copy --json copy.db other.db
has "{\"from\":\"$tmp/copy.db\",\"to\":\"$tmp/other.db\",\"resumed\":false," 'copy as JSON'
"$SLUICE" store show --json copy.db | sed 's/.*"rows"://' >one
"$SLUICE" store show --json other.db | sed 's/.*"rows"://' >two
rule 'a copy of a copy has as many rows' cmp -s one two

run sluice store copy missing.db new.db
exits 2 'from nowhere: exit code'
says "sluiced: cannot read 'missing.db': No such file or directory" 'from nowhere'
rule 'nothing is made of it' [ ! -e new.db ]
run sluice store copy copy.db ./copy.db
exits 2 'into itself: exit code'
says "sluiced: a store cannot be copied into itself: give another place" 'into itself'
ln -s copy.db link.db
run sluice store copy copy.db link.db
exits 2 'into itself by another name'
run sluice store copy current mysql://db/sluice
exits 2 'no such kind of store: exit code'
says "sluiced: 'mysql://db/sluice' is no store that is kept: give the path of a file, postgresql://…, or 'current'" 'no such kind of store'
run sluice store copy memory:x new.db
exits 2 'from what is not kept'
echo 'this is no database, however one looks at it, and it never was one' >junk.db
run sluice store copy junk.db new.db
exits 1 'from junk: exit code'
run sluice store show junk.db
exits 1 'show junk: exit code'
rule 'show junk: which is named' grep -q "'$tmp/junk.db' is damaged\|'junk.db' is damaged" err
run sluice store copy current "$tmp/no/such/folder/x.db"
exits 2 'to nowhere'
run sluice store copy current
exits 2 'one word is missing'
run sluice store frob
exits 2 'no such subcommand'
run sluice store copy --help
has 'usage: sluice store copy FROM TO' 'its help'
finish
