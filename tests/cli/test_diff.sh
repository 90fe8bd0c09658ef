#!/bin/sh
# sluice diff: the changes of a task in its worktree, and the messages if they are not known.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # lib.sh and daemon.sh set home, id and tmp
. "$(dirname "$0")/lib.sh"
. "$here/daemon.sh"
. "$root/tests/daemon/repository.sh"

run sluice diff web-1
exits 3 'no daemon: exit code'
repository repo
config "projects: {web: {path: $tmp/repo, workspace_mode: worktree, merge: none}}"
start
add -p web -- sh -c 'echo more >>file; : >empty'
becomes "$id" 'done'
run sluice diff "$id"
exits 0 'diff: exit code'
grep -v '^index ' out >plain
cat >expected <<'END'
diff --git a/empty b/empty
new file mode 100644
diff --git a/file b/file
--- a/file
+++ b/file
@@ -1 +1,2 @@
 begin
+more
END
rule 'the patch, plain in a pipe' cmp -s plain expected
git -C repo apply --check <out
report $? 'which git can apply'
run sluice diff "$id" --stat
prints '     +0     -0  empty
     +1     -0  file
2 files, +1 -0' 'the files alone'
run sluice diff --iteration 1 --stat "$id"
has '2 files, +1 -0' 'of one iteration'
run sluice diff "$id" --json
has '"files":[{"path":"empty","old_path":null,"added":0,"removed":0,"binary":false}' 'as JSON'

run sluice diff nothing-99
exits 1 'no such task: exit code'
[ "$(wc -l <err)" = 1 ] && [ ! -s out ]
report $? 'no such task: one sentence'
run sluice diff "$id" --iteration 0
exits 2 'no such number'
run sluice diff
exits 2 'no id'
finish
