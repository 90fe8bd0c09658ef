#!/bin/sh
# Before and after a run in a sandbox, the daemon executes no file that the run wrote outside of that sandbox.
#
# Each attack is first made in a run without a sandbox, where it must succeed, else it proves nothing.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets id, home, tmp; the shell of the run expands the rest
. "$(dirname "$0")/kit.sh"
. "$here/repository.sh"
needs bwrap
run true
git config --global user.name Owner
git config --global user.email owner@localhost
mkdir -p "$HOME/.ssh"
echo secret-key >"$HOME/.ssh/id"

# evil.sh NAME: when the daemon has started it, and not the run itself, it steals a key and leaves a file in the home
# directory. Then it is a filter, or a merge driver.
cat >evil.sh <<'END'
#!/bin/sh
if [ -n "${SLUICE_ASIDE+set}" ]; then
    echo "$SLUICE_SANDBOX" >>"$HOME/pwned.$1"
    cat "$HOME/.ssh/id" >>"$HOME/pwned.$1" 2>/dev/null
    echo "$1" >>"${SLUICE_WORKSPACE:-.}/ran.$1"
fi
case $1 in
driver) cat "$3" >"$2" ;;
check | mr) ;;
*) cat ;;
esac
END
chmod +x evil.sh

# NAME: a repository whose owner has made a script of it a filter and a merge driver.
plain_victim() {
    repository "$1"
    cp evil.sh "$1/evil.sh"
    printf '#!/bin/sh\ncat\n' >"$1/filter.sh"
    printf '#!/bin/sh\ncat "$3" >"$2"\n' >"$1/driver.sh"
    chmod +x "$1/filter.sh" "$1/driver.sh"
    printf '%s\n' 'ran.*' >"$1/.gitignore"
    git -C "$1" add .
    git -C "$1" commit -qm scripts
}

names='filter nested driver check forged'
{
    echo 'limits: {runs: 8}'
    echo 'git: {retries: 0}'
    echo 'agents:'
    echo "  shell: {command: [sh, -c, '{prompt}'], prompt: argument, sandbox: bubblewrap}"
    echo "  open: {command: [sh, -c, '{prompt}'], prompt: argument, sandbox: none}"
    echo 'projects:'
    for name in $names; do
        echo "  $name: {path: $tmp/$name, workspace_mode: worktree, merge: direct, prefix: $name}"
        echo "  $name-open: {path: $tmp/$name.open, workspace_mode: worktree, merge: direct, prefix: ${name}open}"
    done
    echo "  mr: {path: $tmp/mr, workspace_mode: worktree, merge: mr, prefix: mr,"
    echo "    mr_command: [sh, -c, 'cat ~/.ssh/id \"\$0/new\"', '{repository}']}"
    for agent in shell open; do # the task works in a folder of the project
        echo "  prepare-$agent: {path: $tmp/prepare, workspace_mode: worktree, merge: local, prefix: prepare$agent, env_file: $tmp/key.env,"
        echo "    prepare: [sh, -c, 'pwd; cat ~/.ssh/id; echo \"\$KEY\"; echo made >made']}"
    done
} >projects.yaml
(umask 077 && echo KEY=sk-4f8a0c23 >key.env)
config "$(cat projects.yaml)"
start

# AGENT NAME SCRIPT OPTION...: a run of the script, to its end. The base moves meanwhile, so that it must be rebased.
attack() {
    agent=$1 name=$2 script=$3
    shift 3
    [ "$agent" = shell ] || name=$name.$agent
    add -p "$(echo "$name" | tr . -)" --agent "$agent" --retries 0 --cwd - "$@" -- "mkfifo go; echo ready; read -r _ <go; rm go; $script"
    appears ready "$home/runs/$id/1/out.log"
    commit "$name" "${moves:-moved}" "$agent"
    unblock "$home/worktrees/$id/go"
    timeout "$patience" "$SLUICE" wait "$id" >/dev/null 2>&1
}

# NAME SCRIPT OPTION...
held() {
    victim "$1"
    git clone -q "$1" "$1.open" # what is merged there is not the owner's here
    cp "$1/.git/config" "$1.open/.git/config"
    sed -i 's/pwned/open/' "$1.open/evil.sh"
    git -C "$1.open" commit -qam 'name it'
    attack open "$@"
    rule "'$1' steals a key after a run without a sandbox" grep -qs secret-key "$HOME/open.$1"
    attack shell "$@"
    rule "'$1' does not after one in a sandbox" [ ! -e "$HOME/pwned.$1" ]
}

# --- git in the worktree ---------------------------------------------------------------------------------------

# A filter that the owner has set up is a script of the repository.
filter='cp evil.sh filter.sh; echo "* filter=own" >.gitattributes; echo "$SLUICE_TASK" >new'
victim() {
    plain_victim "$1"
    git -C "$1" config filter.own.clean './filter.sh filter'
    git -C "$1" config merge.own.driver './driver.sh driver %A %B'
}
held filter "$filter"
rule 'the work is merged all the same' [ "$(in_main filter new)" = "$id" ]
rule 'its worktree goes' disappears "$home/worktrees/$id"
rule 'and that is no way out either' [ ! -e "$HOME/pwned.filter" ]

nested='git init -q nested; cd nested; echo s >s; git add s; git -c user.name=t -c user.email=t@t commit -qm s; cd ..
    git add nested; cd nested; git config filter.evil.clean "../evil.sh nested"; echo "* filter=evil" >.gitattributes; echo S >s; touch -d 2001-01-01 s; cd ..'
held nested "$nested"

moves='file'
held driver 'cp evil.sh driver.sh; echo "file merge=own" >.gitattributes; git add .; git commit -qm x; echo "$SLUICE_TASK" >file'
moves=

# --- checks after a merge --------------------------------------------------------------------------------------

held check 'cp evil.sh check.sh; echo "$SLUICE_TASK" >new' --until validate --check './check.sh check'
rule 'its check ran once more, in its worktree' [ "$(in_main check new)" = "$id" ]

# --- what needs the owner's login --------------------------------------------------------------------------------

victim mr
echo of-the-owner >mr/new
add -p mr --agent shell --retries 0 --cwd - -- 'echo x >new'
rule 'mr_command has the login of the owner' becomes "$id" 'done'
run sluice show "$id"
has of-the-owner 'and is told the folder of the owner'

# --- what prepares a worktree ---------------------------------------------------------------------------------------

victim prepare
mkdir prepare/sub
commit prepare sub/file x
for agent in open shell; do
    add -p "prepare-$agent" --agent "$agent" --retries 0 --cwd "$tmp/prepare/sub" -- 'pwd; cat ../made; test "$KEY" = "$(printf sk-; printf 4f8a0c23)"'
    ends "$id"
    rule "$agent: the command has its folder, what was prepared, and secrets" \
        [ "$(value "$id" exit_code) $(tr '\n' ' ' <"$home/runs/$id/1/out.log")" = "0 $home/worktrees/$id/sub made " ]
    cp "$home/runs/$id/1/prepare.log" "prepared.$agent"
    rule "$agent: what prepares it has the project's folder" grep -qx "$home/worktrees/$id" "prepared.$agent"
    rule "$agent: and secrets, which its log does not show" grep -q '^[*]*$' "prepared.$agent"
done
rule 'what prepares a worktree reads a key without a sandbox' grep -q secret-key prepared.open
rule 'not in one' [ "$(grep -c secret-key prepared.shell)" = 0 ]

# --- nothing says which sandbox it was ------------------------------------------------------------------------------

victim forged
add -p forged --agent shell --retries 0 --cwd - -- 'echo x >new; mkfifo go; echo ready; read -r _ <go; rm go'
appears ready "$home/runs/$id/1/out.log"
run sluice diff "$id"
exits 0 'what a run in a sandbox has changed is shown'
lock=$home/runs/$id/1/lock
cp "$lock" lock.saved
sed 's/bubblewrap/bubblewrop/g' lock.saved >"$lock" # of the same length
run sluice diff "$id"
exits 0 'also if what its shim was told is not what the daemon wrote: that executes nothing'
unblock "$home/worktrees/$id/go"
ends "$id"
run sluice show "$id"
has 'it is not known in which sandbox its run was' 'but then git does not commit what it has left'
rule 'and nothing is merged' [ -z "$(in_main forged new)" ]
finish
