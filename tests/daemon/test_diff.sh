#!/bin/sh
# sluice diff with a daemon: all changes in a worktree, one iteration, after the merge; programs of the repository are not run.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"
. "$here/repository.sh"

repository repo
seq 1 40 >repo/moving
commit repo moved "$(seq 1 40)"
config "limits: {runs: 8}
retry: {failed: {max: 0}, unfinished: {max: 3, delay_s: 0.1}}
projects:
  web: {path: $tmp/repo, workspace_mode: worktree, merge: none}
  bare: {path: $tmp/repo}"
mkfifo go
clock_git
start

# --- everything, while it runs ----------------------------------------------------------------------

add -p web -- sh -c 'echo one >>file; git commit -qam one; echo two >>file; echo new >new
    git mv moved away; head -c 2000 /dev/zero >zero; : >"$0/ready"; read -r _ <"$0/go"' "$tmp"
live=$id
rule 'the task is ready to be looked at' soon [ -e ready ]
before=$(cksum <"$(git -C "$home/worktrees/$live" rev-parse --git-path index)")
run sluice diff "$live"
exits 0 'a diff of a task that runs'
has '+one' 'what is committed is in it'
has '+two' 'what is not committed, too'
has '+new' 'and what git has not been told of'
has 'rename to away' 'a renamed file is renamed'
has 'Binary files /dev/null and b/zero differ' 'a binary file is named'
rule 'its index is as it was' \
    [ "$(cksum <"$(git -C "$home/worktrees/$live" rev-parse --git-path index)")" = "$before" ]
rule 'nothing of ours is left in the git folder' \
    [ -z "$(find repo/.git -name 'sluice-index*')" ]
run sluice diff "$live" --stat
has '     +2     -0  file' 'stat: a changed file'
has 'moved => away' 'stat: both names'
has '        binary  zero' 'stat: a binary one has no lines'
has '4 files, +3 -0' 'stat: the sum'
run sluice diff "$live" --json
has '"head":null' 'JSON: compared with the files as they are'
has "\"base\":\"$(git -C repo rev-parse main)\"" 'JSON: from where its branch left the base'
has '{"path":"away","old_path":"moved","added":0,"removed":0,"binary":false}' 'JSON: a file'
run sluice diff "$live" --stat --json
has '"patch":null,"truncated":false' 'JSON: stat has no patch'
run sluice diff "$live" --iteration 1
has '+two' 'the iteration that runs: so far'
commit repo other other
run sluice diff "$live" --json
rule 'what others do in the base meanwhile is not in it' [ "$(grep -c '"path":"other"' out)" = 0 ]
unblock go
becomes "$live" 'done'
run sluice diff "$live"
has '+two' 'the worktree of a finished task is shown as long as it is there'

# --- iterations ------------------------------------------------------------------------------------

add -p web --until 'done' -- sh -c 'echo "turn $SLUICE_ITERATION" >>turns; echo x >"only$SLUICE_ITERATION"
    [ "$SLUICE_ITERATION" = 1 ] && git add turns && git commit -qm turns
    [ "$SLUICE_ITERATION" = 1 ] || : >"$SLUICE_DONE"'
loop=$id
becomes "$loop" 'done'
run sluice diff "$loop" --iteration 1
has '+turn 1' 'the first iteration: what it has changed'
rule 'and nothing of the second' [ "$(grep -c -e 'turn 2' -e only2 out)" = 0 ]
run sluice diff "$loop" --iteration 2
has '+turn 2' 'the second iteration'
rule 'the work of the first is not its own' [ "$(grep -c -e '+turn 1' -e only1 out)" = 0 ]
run sluice diff "$loop" --stat
has '3 files, +4 -0' 'all of it: both'
run sluice diff "$loop" --iteration 3
exits 1 'an iteration that was not: exit code'
complains "'$loop' has no iteration 3: it is in iteration 2" 'an iteration that was not: the sentence'
rm "$home/tasks/$loop/iterations/002/diff.json"
run sluice diff "$loop" --iteration 2
complains "what iteration 2 of '$loop' changed was not recorded" 'what was not recorded is said'
rule 'the user sees no refs of it in the repository' [ -z "$(git -C repo for-each-ref 'refs/sluice' 'refs/worktree')" ]

# --- after the merge -------------------------------------------------------------------------------

add -p web --merge direct -- sh -c 'echo merged >merged'
merged=$id
becomes "$merged" 'done'
rule 'its worktree goes' soon [ ! -e "$home/worktrees/$merged.json" ]
run sluice diff "$merged"
has '+merged' 'when the worktree has gone: what was merged'
run sluice diff "$merged" --json
has "\"head\":\"$(git -C repo rev-parse main)\"" 'up to the commit that was merged'
run sluice diff "$merged" --iteration 1
has '+merged' 'and its iteration'

# While git removes the worktree, some of its files are missing.
echo 'before worktree remove' >stop
add -p web --merge local -- sh -c 'echo going >going'
becomes "$id" 'done'
rule 'its worktree is about to be removed' stops 'worktree remove'
rm "$home/worktrees/$id/file"
run sluice diff "$id"
has '+going' 'while the worktree is being removed: what was noted'
rule 'and not the files that git has removed already' [ "$(grep -c 'deleted file' out)" = 0 ]
unblock continue

# The base moves during the run; the check fails once on the new base.
add -p web --merge direct --until validate --check 'test ! -e moved.twice || test -e fixed' -- sh -c '
    echo "work $SLUICE_ITERATION" >"work$SLUICE_ITERATION"; [ "$SLUICE_ITERATION" = 1 ] || echo x >fixed
    [ "$SLUICE_ITERATION" != 1 ] || { : >"$0/based"; read -r _ <"$0/go"; }' "$tmp"
moving=$id
rule 'the task that will be rebased is at work' soon [ -e based ]
commit repo moved.twice moved
unblock go
becomes "$moving" 'done'
run sluice diff "$moving" --stat
has '3 files, +3 -0' 'a rebased change: what is its own, and not what came with the base'
run sluice diff "$moving" --iteration 2 --stat
has '2 files, +2 -0' 'the iteration behind a rebase begins on the new base'

# The daemon is killed after the merge, before the result is stored: the earlier record is not lost.
echo 'after merge --ff-only' >stop
add -p web --merge direct -- sh -c 'echo crashed >crashed'
crashed=$id
stops 'the merge'
crash
start
becomes "$crashed" 'done'
rule 'it is merged once' [ "$(in_main repo crashed)" = crashed ]
run sluice diff "$crashed"
has '+crashed' 'a daemon that was killed behind the merge still tells what was merged'

add -p web --merge local -- sh -c 'echo kept >kept'
becomes "$id" 'done'
rule 'the worktree of local work goes, too' soon [ ! -e "$home/worktrees/$id.json" ]
run sluice diff "$id"
has '+kept' 'and its change is shown'
printf '{"from":"%040d","to":"%040d","repository":"%s","base":"main"}' 1 2 "$tmp/repo" >"$home/tasks/$id/diff.json"
run sluice diff "$id"
exits 1 'what git has collected: exit code'
complains 'is no longer recorded: git has collected it' 'what git has collected: the sentence'

# --- hostile ---------------------------------------------------------------------------------------

cat >evil.sh <<END
#!/bin/sh
echo "\$0 \$*" >>$tmp/evil
cat
END
chmod +x evil.sh
name=$(printf 'red\033[31m\nline')
add -p web --review -- sh -c 'printf "\033]0;title\007 text\n" >"$1"
    echo "* filter=evil diff=evil" >.gitattributes
    yes 0123456789 | head -c 5000000 >large; head -c 5000000 /dev/zero | tr "\0" x >line
    git init -q nested; cd nested; echo same >s; git add s; git -c user.name=t -c user.email=t@t commit -qm s; cd ..
    git add nested; cd nested; git config filter.evil.clean "$0/evil.sh"; echo "* filter=evil" >.gitattributes
    echo SAME >s; touch -d 2001-01-01 s; cd ..; git init -q empty
    : >"$0/hostile"; read -r _ <"$0/go"' "$tmp" "$name"
hostile=$id
rule 'the hostile task is ready' soon [ -e hostile ]
for setting in filter.evil.clean filter.evil.process filter.evil.smudge diff.evil.textconv diff.evil.command \
    diff.external core.fsmonitor core.pager pager.diff core.sshCommand; do
    git -C repo config "$setting" "$tmp/evil.sh"
done
git -C repo config filter.evil.required true
for hook in post-index-change pre-commit reference-transaction; do
    cp evil.sh "repo/.git/hooks/$hook"
done
rm -f evil
run sluice diff "$hostile" --json
exits 0 'a hostile repository: exit code'
has '"truncated":true' 'five megabytes are cut'
rule 'to a mebibyte' [ "$(wc -c <out)" -lt 1500000 ]
has 'red\u001b[31m\nline' 'a name with escape codes and a newline is a text in JSON'
rule 'nothing of the repository was run' [ ! -e evil ]
run sluice diff "$hostile" --stat
rule 'a list has no escape codes, and a line for each file' \
    [ "$(tr -d -c '\033' <out | wc -c)" = 0 -a "$(wc -l <out)" = 6 ]
COLUMNS=80 TERM=xterm script -qec "'$SLUICE' diff '$hostile'" /dev/null </dev/null >out 2>err
rule 'a terminal gets colours' grep -q "$(printf '\033\\[32m')" out
rule 'and no title' [ "$(grep -c "$(printf '\033]0;')" out)" = 0 ]
unblock go
becomes "$hostile" held
rule 'neither at the end of the run' [ ! -e evil ]
for setting in filter.evil diff.evil; do git -C repo config --remove-section "$setting"; done
git -C repo config --unset diff.external && git -C repo config --unset core.fsmonitor
rm -f repo/.git/hooks/*

# --- no diff ---------------------------------------------------------------------------------------

add -p bare -- true
becomes "$id" 'done'
run sluice diff "$id"
exits 1 'a task without a worktree: exit code'
complains "'$id' has no git worktree of its own, so what it changed is not known" 'a task without a worktree: the sentence'
add -p web --hold -- true
run sluice diff "$id"
complains "'$id' has no worktree yet: it has not run" 'a task that has not run'
add -p web -- true
becomes "$id" 'done'
run sluice diff "$id"
exits 0 'a task that changed nothing: exit code'
says "sluice: '$id' changed nothing" 'a task that changed nothing: a sentence'
mv repo elsewhere
run sluice diff "$merged"
complains "the repository '$tmp/repo' of '$merged' is gone" 'a repository that is gone'
finish
