#!/bin/sh
# Programs that a run configures in its repository, or in a replacement of it, are never executed outside of a shim.
#
# Each attack tries to run evil.sh as a process that is not a descendant of a shim, so that the owner's socket accepts it as
# the owner. It is first made with plain git, where it must succeed, else it proves nothing. Then a run makes it in its
# worktree, and the daemon works there.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"
. "$here/repository.sh"

# evil.sh NAME: records "below" or "outside" of a shim, and whether the owner's socket accepts it; then it acts as a filter.
cat >evil.sh <<END
#!/bin/sh
pid=\$\$ where=outside
while [ "\$pid" -gt 1 ]; do
    case \$(cat /proc/\$pid/comm) in sluice-shim*) where=below ;; esac
    pid=\$(sed -n 's/^PPid:[[:space:]]*//p' /proc/\$pid/status)
done
env -u SLUICE_TOKEN -u SLUICE_SOCKET -u SLUICE_RUN -u SLUICE_TASK SLUICE_HOME="$home" "$SLUICE" status >/dev/null 2>&1 &&
    answer=answered || answer=refused
echo "\$where \$answer" >>"$tmp/seen.\$1"
case \$1 in
driver) cat "\$3" >"\$2" ;;
check | external) ;;
*) cat ;;
esac
END
chmod +x evil.sh

names='clean process smudge hooks hookspath fsmonitor driver attributes include commondir place alternates
    submodule nested promisor replaced folder fifo link huge live flip textconv external alias check mr stuck old older'
{
    echo 'limits: {runs: 8}'
    echo 'git: {retries: 0}'
    echo 'loop: {stuck_iterations: 2}'
    echo 'retry: {failed: {max: 0}, unfinished: {max: 2, delay_s: 0}}'
    echo 'projects:'
    for name in $names; do
        echo "  $name: {path: $tmp/$name, workspace_mode: worktree, merge: none, mr_command: [git, status], prefix: $name}"
    done
} >projects.yaml
config "$(cat projects.yaml)"
mkfifo go
clock_git
start
run sluice status # creates the files out and err

# --- functions of this test --------------------------------------------------------------------------

# NAME: creates a repository, and a worktree for the attack with plain git.
victim() {
    repository "$1"
    git -C "$1" worktree add -q -b plain "$tmp/$1.plain"
    : >"seen.$1"
}

# NAME SCRIPT: makes the attack with plain git.
plain() {
    (cd "$1.plain" && sh -c "$2" "$tmp" "$1" </dev/null >/dev/null 2>&1)
    rule "plain git: '$1' runs outside of any shim, and is taken for the owner" grep -qx 'outside answered' "seen.$1"
    : >"seen.$1"
}

# NAME: checks the result of the daemon.
held() {
    rule "'$1' is never run outside of a shim, nor taken for the owner" \
        [ "$(grep -c -e outside -e answered "seen.$1")" = 0 ]
}

# NAME SCRIPT OPTION...: runs the script in a worktree and waits for its end. In the script $0 is $tmp, and $1 is NAME.
attack() {
    name=$1 script=$2
    shift 2
    add -p "$name" "$@" -- sh -c "$script" "$tmp" "$name"
    task=$id
    timeout "$patience" "$SLUICE" wait "$task" >/dev/null 2>&1
}

# The same, until the script reports that it is ready; `unblock go` lets it continue.
begin() {
    name=$1 script=$2
    shift 2
    rm -f ready
    add -p "$name" "$@" -- sh -c "$script"'; : >"$0/ready"; read -r _ <"$0/go"' "$tmp" "$name"
    task=$id
    rule "the run of '$name' has begun" soon [ -e ready ]
}

end() {
    unblock go
    timeout "$patience" "$SLUICE" wait "$task" >/dev/null 2>&1
}

filter='git config filter.evil.clean "$0/evil.sh $1"; echo "* filter=evil" >.gitattributes; echo x >new'

# --- filters -----------------------------------------------------------------------------------------

victim clean
plain clean "$filter; git add -A"
attack clean "$filter" --merge local
rule 'its work is committed' [ "$(git -C clean show "sluice/$task:new")" = x ]
held clean
rule 'the filter was run, as a run' grep -q below seen.clean

victim process
process='git config filter.evil.process "$0/evil.sh $1"; echo "* filter=evil" >.gitattributes; echo x >new'
plain process "$process; git add -A"
attack process "$process" --merge local
held process

# The work is merged into a checkout of the owner, and another task gets a worktree.
victim smudge
smudge='git config filter.evil.smudge "$0/evil.sh $1"; echo "* filter=evil" >.gitattributes; echo x >new'
plain smudge "$smudge; git add -A; git commit -qm x; rm new; git checkout new"
attack smudge "$smudge" --merge direct
rule 'it is merged into the checkout of its owner' [ "$(cat smudge/new)" = x ]
attack smudge 'echo y >more' --merge direct
rule 'and so is the next one' [ "$(cat smudge/more)" = y ]
held smudge

# --- hooks, and other programs that git runs ----------------------------------------------------------------

hooks='hooks=$(git rev-parse --git-common-dir)/hooks; mkdir -p "$hooks"
    for hook in pre-commit commit-msg post-commit post-checkout post-index-change post-merge pre-rebase post-rewrite reference-transaction; do
        printf "#!/bin/sh\n%s/evil.sh %s </dev/null\n" "$0" "$1" >"$hooks/$hook"; chmod +x "$hooks/$hook"
    done; echo x >new'
victim hooks
plain hooks "$hooks; git add -A; git commit -qm x"
attack hooks "$hooks" --merge direct
rule 'hooks do not keep it from being merged' [ "$(in_main hooks new)" = x ]
held hooks

hookspath='mkdir -p evil; printf "#!/bin/sh\n%s/evil.sh %s </dev/null\n" "$0" "$1" >evil/reference-transaction
    chmod +x evil/*; git config core.hooksPath "$PWD/evil"; echo x >new'
victim hookspath
plain hookspath "$hookspath; git update-ref refs/x HEAD"
attack hookspath "$hookspath" --merge direct
held hookspath

fsmonitor='git config core.fsmonitor "$0/evil.sh $1 </dev/null;"; echo x >new'
victim fsmonitor
plain fsmonitor "$fsmonitor; git status"
attack fsmonitor "$fsmonitor" --merge direct
held fsmonitor

# The base changes the same lines, so that both sides must be merged.
driver='git config merge.evil.driver "$0/evil.sh $1 %A %B"; echo theirs >file
    echo "file merge=evil" >"$(git rev-parse --git-common-dir)/info/attributes"'
victim driver
commit driver file ours
plain driver "$driver; git add -A; git commit -qm x; git rebase main"
begin driver "$driver" --merge direct
commit driver file newer
end
rule 'its merge driver was run, as a run' grep -q below seen.driver
held driver

attributes='git config core.attributesFile "$0/attributes.$1"; echo "* filter=evil" >"$0/attributes.$1"
    git config filter.evil.clean "$0/evil.sh $1"; echo x >new'
victim attributes
plain attributes "$attributes; git add -A"
attack attributes "$attributes" --merge local
held attributes

include='git config -f "$0/included" filter.evil.clean "$0/evil.sh $1"; git config include.path "$0/included"
    echo "* filter=evil" >.gitattributes; echo x >new'
victim include
plain include "$include; git add -A"
attack include "$include" --merge local
held include

# --- which repository it is ---------------------------------------------------------------------------

# The git folder of the worktree refers to another common folder, which has its own settings.
commondir='own=$(git rev-parse --absolute-git-dir); common=$(git rev-parse --path-format=absolute --git-common-dir)
    cp -r "$common" "$0/other.$1.$$"; git config -f "$0/other.$1.$$/config" core.fsmonitor "$0/evil.sh $1 </dev/null;"
    git config -f "$0/other.$1.$$/config" filter.evil.clean "$0/evil.sh $1"; echo "* filter=evil" >.gitattributes
    echo "$0/other.$1.$$" >"$own/commondir"; echo x >new'
victim commondir
plain commondir "$commondir; git add -A"
begin commondir "$commondir" --merge direct
run sluice diff "$task"
end
held commondir
rule 'a worktree that shares another git folder is not delivered' [ "$(value "$task" state)" = failed ]

# Files of a merge go where core.worktree says.
victim place
mkdir prey
git -C place config core.worktree "$tmp/prey"
git -C place/.git checkout -q -f main
rule 'plain git writes where core.worktree says' [ -e prey/file ]
git -C place config --unset core.worktree
rm prey/*
attack place 'git config core.worktree "$0/prey"; echo x >new' --merge direct
rule 'the daemon writes nothing there' [ -z "$(ls prey)" ]

alternates='common=$(git rev-parse --path-format=absolute --git-common-dir); git init -q --bare "$0/$1.alternate.$$"
    echo "$0/$1.alternate.$$/objects" >"$common/objects/info/alternates"
    git config core.alternateRefsCommand "$0/evil.sh $1 </dev/null; true"; echo x >new'
victim alternates
repository alternates.far
plain alternates "$alternates; git fetch -q '$tmp/alternates.far'"
attack alternates "$alternates" --merge direct
held alternates

submodule='git init -q nested; cd nested; echo s >s; git add s; git -c user.name=t -c user.email=t@t commit -qm s; cd ..
    git add nested; cd nested; git config filter.evil.clean "$0/evil.sh $1"; git config core.fsmonitor "$0/evil.sh $1 </dev/null;"
    echo "* filter=evil" >.gitattributes; echo S >s; touch -d 2001-01-01 s; cd ..'
victim submodule
plain submodule "$submodule; git status"
begin submodule "$submodule" --merge direct
run sluice diff "$task"
end
held submodule

# The worktree is kept, and examined again after its task is deleted. The sandbox of its run is then unknown.
victim nested
plain nested "$submodule; git status"
attack nested "$submodule; git commit -qm nested"
run sluice delete "$task"
exits 0 'a task with a repository below its worktree is deleted'
is_kept() {
    run sluice doctor --json
    grep -qF "$home/worktrees/$task" out
}
rule 'its worktree is kept' soon is_kept
rule 'and the settings of the repository below it were not used' [ ! -s seen.nested ]

# A commit without its tree: git would fetch it, with a program that the repository configures.
promisor='git config extensions.partialClone far; git config remote.far.url ssh://nowhere/x; git config remote.far.promisor true
    git config core.repositoryFormatVersion 1; git config core.sshCommand "$0/evil.sh $1 </dev/null;"
    lost=$(printf "tree %040d\nauthor t <t@t> 0 +0000\ncommitter t <t@t> 0 +0000\n\nx\n" 7 | git hash-object -t commit -w --literally --stdin)'
victim promisor
plain promisor "$promisor; git diff HEAD \$lost"
begin promisor "$promisor"'; git update-ref "refs/heads/$SLUICE_BRANCH" "$lost"' --merge direct
run sluice diff "$task"
end
held promisor

# --- another .git -------------------------------------------------------------------------------------

replaced='git init -q .evil; mv .evil/.git .evil/git; git --git-dir .evil/git config core.fsmonitor "$0/evil.sh $1 </dev/null;"
    git --git-dir .evil/git config filter.evil.clean "$0/evil.sh $1"
    git --git-dir .evil/git symbolic-ref HEAD "refs/heads/${SLUICE_BRANCH-main}"
    echo "* filter=evil" >.gitattributes; rm .git; echo "gitdir: .evil/git" >.git; echo x >new'
victim replaced
plain replaced "$replaced; git add -A"
begin replaced "$replaced" --merge direct
run sluice diff "$task"
end
held replaced
rule 'such a task fails' [ "$(value "$task" state)" = failed ]
run sluice show "$task"
has "'$home/worktrees/$task/.git' is not the one that was made for it" 'and the message says why'

# KIND SCRIPT: objects other than a small file. They are refused at once, without blocking.
other_git() {
    victim "$1"
    attack "$1" "rm -rf .git; $2; echo x >new" --merge direct
    rule "a .git that is a $1 is refused" [ "$(value "$task" state)" = failed ]
    rule "and nothing is merged ($1)" [ -z "$(in_main "$1" new)" ]
}
other_git folder 'git init -q .'
other_git fifo 'mkfifo .git'
other_git link 'ln -s "$0/link/.git" .git'
other_git huge 'head -c 3000000 /dev/zero >.git'

# --- diffs --------------------------------------------------------------------------------------------

victim live
plain live "$filter; git add -N new; touch -d 2001-01-01 file; git diff"
begin live "$filter"'; touch -d 2001-01-01 file'
run sluice diff "$task"
exits 0 'a diff of a run with a filter'
end
held live

# The filter does not exist yet when the daemon lists the filters.
victim flip
plain flip "$filter; touch -d 2001-01-01 file; git diff"
git -C flip config --remove-section filter.evil
begin flip 'echo "* filter=evil" >.gitattributes; echo x >new; touch -d 2001-01-01 file'
echo 'after config' >stop
"$SLUICE" diff "$task" >/dev/null 2>&1 &
stops 'the list of filters'
git -C flip config filter.evil.clean "$tmp/evil.sh flip"
unblock continue
wait $!
held flip
end

textconv='git config diff.evil.textconv "$0/evil.sh $1 </dev/null;"; echo "* diff=evil" >.gitattributes; echo x >>file'
victim textconv
plain textconv "$textconv; git diff"
begin textconv "$textconv" --merge direct
run sluice diff "$task"
end
held textconv

external='git config diff.external "$0/evil.sh $1"; git config diff.evil.command "$0/evil.sh $1"; echo "* diff=evil" >.gitattributes; echo x >>file'
victim external
plain external "$external; git diff"
begin external "$external" --merge direct
run sluice diff "$task"
end
held external

alias='for word in add commit rebase status diff merge worktree; do git config "alias.$word" "!$0/evil.sh $1"; done
    git config alias.evil "!$0/evil.sh $1 </dev/null"; echo x >new'
victim alias
plain alias "$alias; git evil"
begin alias "$alias" --merge direct
run sluice diff "$task"
end
held alias

# --- commands that the owner has given ------------------------------------------------------------------

# A check runs first as a descendant of the shim of its run, and again after a rebase.
victim check
plain check '"$0/evil.sh" check'
begin check 'echo x >new' --merge direct --until validate --check "$tmp/evil.sh check"
commit check moved yes
end
rule 'its check runs again on the new base' [ "$(grep -c . seen.check)" = 2 ]
rule 'and it is merged' [ "$(in_main check new)" = x ]
held check

victim mr
plain mr "$fsmonitor; git status"
attack mr "$fsmonitor" --merge mr
rule 'mr_command was run' grep -q . seen.mr
held mr

victim stuck
plain stuck "$filter; git add -A"
attack stuck "$filter" --until 'done'
rule 'the loop is stuck' [ "$(value "$task" reason)" = stuck ]
held stuck

# --- worktrees of earlier versions ------------------------------------------------------------------------

# NAME: a task whose first run has failed, with a record from before git folders were stored.
forget_folders() {
    attack "$1" 'echo x >new; [ -e "$0/again.$1" ] || { : >"$0/again.$1"; exit 1; }' --merge direct
    run sluice down --wait
    sed -i 's/"git_dir":"[^"]*","common_dir":"[^"]*",//' "$home/worktrees/$task.json"
    rule "the record of '$1' is an old one" [ "$(grep -c -e git_dir -e common_dir "$home/worktrees/$task.json")" = 0 ]
}

victim old
forget_folders old
start
run sluice retry "$task"
becomes "$task" 'done'
rule 'work in a worktree of an earlier version is merged' [ "$(in_main old new)" = x ]
rule 'and the worktree goes' disappears "$home/worktrees/$task.json"

victim older
forget_folders older
(cd "$home/worktrees/$task" && sh -c "$replaced" "$tmp" older)
start
run sluice retry "$task"
is_refused() {
    run sluice show "$task"
    grep -qF "'$home/worktrees/$task/.git' is not the one that was made for it" out
}
rule 'one that has another .git is refused' soon is_refused
held older
finish
