#!/bin/sh
# Preparation of a new worktree: files that are not in git are copied into it, and a command of the project runs once, as
# the first part of the first run.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"
. "$here/repository.sh"

repository repo
mkdir -p repo/sub repo/config
printf '%s\n' .env '*.local' made node_modules >repo/.gitignore
commit repo config/base.conf tracked
commit repo sub/inner yes
git -C repo add .gitignore
git -C repo commit -q -m ignore
echo SECRET=1 >repo/.env
chmod 600 repo/.env
echo one >repo/config/one.local
echo two >repo/config/two.local
echo sub >repo/sub/.env
echo plain >repo/plain
ln -s /etc/passwd repo/link.local
cat >prepare.sh <<'END'
# Prints its environment, then executes the file `how`.
echo "$(pwd) $SLUICE_WORKSPACE $SLUICE_TASK $SLUICE_ATTEMPT" >>"$0.log"
echo preparing; echo also here >&2
. "$0.how"
END
how() {
    printf '%s\n' "$1" >prepare.sh.how
}
prepare="prepare: [sh, $tmp/prepare.sh]"
config "limits: {runs: 20}
retry: {failed: {max: 3, delay_s: 0}, lost: {delay_s: 0}}
breaker: {max: 2, agent_max: 3}
agents: {helper: {command: ['true']}, broken: {command: [no-such-agent]}}
projects:
  plain: {path: $tmp}
  web: {path: $tmp/repo, workspace_mode: worktree, merge: none, $prepare, copy: [.env, config/*.local, config/*.none]}
  sub: {path: $tmp/repo/sub, workspace_mode: worktree, merge: none, $prepare, copy: [.env]}
  direct: {path: $tmp/repo, workspace_mode: worktree, $prepare, copy: [.env], merge: direct}
  quick: {path: $tmp/repo, workspace_mode: worktree, merge: none, $prepare, prepare_timeout_s: 1}
  gone: {path: $tmp/repo, workspace_mode: worktree, merge: none, copy: [config/missing.conf]}
  open: {path: $tmp/repo, workspace_mode: worktree, merge: none, copy: [plain]}
  link: {path: $tmp/repo, workspace_mode: worktree, merge: none, copy: ['*.local']}
  word: {path: $tmp/repo, workspace_mode: worktree, merge: none, prepare: [no-such-program]}
  here: {path: $tmp/repo, $prepare, copy: [.env]}"
start
mkfifo go ready

worktree() {
    echo "$home/worktrees/$1"
}
rounds() {
    grep -c "$1" prepare.sh.log 2>/dev/null
}

# --- once, before the first run -------------------------------------------------------------------------

how 'echo prepared >made'
add -p web --cwd repo/sub -- sh -c 'pwd; cat ../made ../.env ../config/one.local; stat -c %a ../.env; [ "$SLUICE_ATTEMPT" != 1 ]'
rule 'a task in a prepared worktree is done' becomes "$id" 'done'
run sluice logs --attempt 1 "$id"
prints "$(worktree "$id")/sub
prepared
SECRET=1
one
600" 'its run finds what was made and copied, with its mode'
rule 'it was prepared once, for two attempts' [ "$(rounds " $id ")" = 1 ]
rule 'in the folder of the project in the worktree, whatever the task works in' \
    grep -qx "$(worktree "$id") $(worktree "$id") $id 1" prepare.sh.log
run sluice logs --prepare --attempt 1 "$id"
prints 'preparing
also here' 'logs --prepare shows what it wrote'
run sluice logs --prepare --attempt 2 "$id"
exits 0 'the second attempt has no such log'
rule 'and prints nothing' [ ! -s out ]
run sluice show --json "$id"
rule 'what was in force says so, of the first attempt alone' [ "$(grep -o '"applied":"[^"]*prepared' out | wc -l)" = 1 ]

add -p sub -- sh -c 'pwd; cat made .env'
becomes "$id" 'done'
run sluice logs "$id"
prints "$(worktree "$id")/sub
prepared
sub" 'a project in a folder of its repository has both there'

add -p direct -- sh -c 'echo work >work; git add --all; git commit -q -m work; echo more >more'
becomes "$id" 'done'
rule 'work is merged' [ "$(in_main repo more)" = more ]
rule 'what was copied or made is not' [ -z "$(in_main repo .env)$(in_main repo made)" ]

run sluice add -p here -- true
exits 2 'a project without worktrees has nothing to prepare'
complains 'projects.here.prepare is for worktrees: set projects.here.workspace_mode to worktree' 'which is said, because it would have no effect'

# --- it fails ---------------------------------------------------------------------------------------------

how 'echo no network; exit 3'
add -p web -- touch "$tmp/began"
rule 'a failed preparation is a failed launch' becomes "$id" held
run sluice show "$id"
has "prepare 'sh $tmp/prepare.sh' failed with exit code 3; 'sluice logs --prepare' shows its output" 'with the command, and its exit code'
run sluice logs --prepare "$id"
has 'no network' 'its output is there'
run sluice logs "$id"
rule 'and logs says why there is nothing else' grep -q 'failed with exit code 3' err
rule 'it was tried as launches are' [ "$(rounds " $id ")" = 2 ]
rule 'the command has not begun' [ ! -e began ]
how 'echo prepared >made'
"$SLUICE" release "$id" >/dev/null
becomes "$id" 'done'
rule 'and begins when it succeeds' [ -e began ]

# A project whose worktrees cannot be created or prepared does not block an agent for other projects.
for project in word gone; do
    for n in 1 2; do
        add -p $project --agent helper hi
        becomes "$id" held
    done
    add -p plain --agent helper hi
    rule "four failed launches in project $project do not close the agent" becomes "$id" 'done'
done
for n in 1 2; do
    add -p plain --agent broken hi
done
rule 'those of an agent that cannot be run do' soon sh -c '"$1" why "$2" | grep -q "agent"' - "$SLUICE" "$id"
add -p word -- true
becomes "$id" held
run sluice show "$id"
has "prepare: cannot run 'no-such-program'" 'a program that does not exist is named'

# The launch timeout is one second here. Preparation does not count: it takes longer than two launches that time out.
how "read -r _ <$tmp/go"
"$SLUICE" config set tasks.launch_s=1 >/dev/null
add -p web -- true
long=$id
add -p quick -- true
becomes "$id" held
run sluice show "$id"
has 'it took longer than its time-out' 'it has a time-out of its own'
unblock go
becomes "$long" 'done'
rule 'its launch does not count as too slow' [ "$(value "$long" attempt)" = 1 ]
"$SLUICE" config set tasks.launch_s=60 >/dev/null

# --- it is interrupted ----------------------------------------------------------------------------------------

how "echo begun >$tmp/ready; read -r _ <$tmp/go; echo prepared >made"
begins() {
    timeout "$patience" cat "$tmp/ready" >/dev/null
}
add -p web -- cat made
begins
run sluice status --json
has '"doing":"prepares its worktree"' 'status says what it does'
"$SLUICE" cancel "$id" >/dev/null
rule 'a cancel ends it' becomes "$id" canceled
run sluice show "$id"
has 'stopped before its worktree was prepared' 'and says where it was'

add -p web -- cat made
begins
kill -9 "$(shim_of "$id" 1)"
begins
unblock go
rule 'one that was killed is repeated' becomes "$id" 'done'
rule 'in the next attempt' [ "$(rounds " $id ")" = 2 ]

add -p web -- sh -c 'echo started; read -r _ <"$0"' "$tmp/go"
begins
kill -9 "$(pid_of_daemon)"
start
unblock go
rule 'it outlives the daemon' appears started "$home/runs/$id/1/out.log"
kill -9 "$(shim_of "$id" 1)"
appears started "$home/runs/$id/2/out.log"
unblock go
becomes "$id" 'done'
rule 'one that had succeeded is not repeated, though its run was lost' [ "$(rounds " $id ")" = 1 ]

# --- copies that are refused ------------------------------------------------------------------------------------

refused() { # PROJECT TEXT 'what'
    add -p "$1" -- true
    becomes "$id" held
    run sluice show "$id"
    has "$2" "$3"
}
refused gone "cannot copy 'config/missing.conf' from '$tmp/repo': there is no such file" 'a file that is missing is named'
refused open "'plain' was copied, but git does not ignore it" 'so is one that would be committed'
refused link "cannot copy 'link.local' from '$tmp/repo': it is a symbolic link" 'and a symbolic link'
echo found >repo/config/missing.conf
echo config/missing.conf >>repo/.git/info/exclude
for id in $("$SLUICE" list --ids --project gone --state held); do
    "$SLUICE" release "$id" >/dev/null
    rule 'it goes on when the file is there' becomes "$id" 'done'
done
run sluice config set projects.web.copy=../secret
exits 2 'a path that leads out of the folder is refused as a setting'

# A branch of a run with a link at the target of a copy.
mkdir outside
git -C repo worktree add -q -b evil "$tmp/proof" main
git -C proof rm -rq config
ln -s "$tmp/outside" proof/config
git -C proof add config
git -C proof commit -q -m evil
cp repo/config/one.local proof/config/proof
rule 'cp follows a link in a worktree' [ -e outside/proof ]
add -p web --base-branch evil -- true
becomes "$id" held
run sluice show "$id"
has "cannot copy 'config/" 'a copy does not' # the order of the files depends on the file system
rule 'and nothing is written there' [ ! -e outside/one.local ]
finish
