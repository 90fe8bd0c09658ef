# repository.sh: git repositories for the tests of workspaces. Source it after kit.sh.
#
#   repository NAME               creates $tmp/NAME with a committer and one commit on main
#   commit NAME FILE TEXT         adds a commit to the branch that is checked out in NAME
#   in_main NAME FILE             prints FILE of the branch main
#   commits NAME RANGE            prints the number of commits
#   clock_git                     gives the daemon a git that can be stopped: write `before WORDS` or `after WORDS`
#                                 to $tmp/stop; $tmp/stopped appears when it waits there,
#                                 and `unblock continue` lets it continue
#   stops WHEN                    waits until it is stopped
#   crash                         kills the daemon and waits for its end; also kills a running git, which the next
#                                 daemon would wait for
# shellcheck shell=sh disable=SC2154 # kit.sh sets tmp

GIT_CONFIG_SYSTEM=/dev/null
export GIT_CONFIG_SYSTEM
needs git

repository() {
    git init -q -b main "$tmp/$1"
    git -C "$tmp/$1" config user.name Test
    git -C "$tmp/$1" config user.email test@localhost
    echo begin >"$tmp/$1/file"
    git -C "$tmp/$1" add file
    git -C "$tmp/$1" commit -q -m begin
}

commit() {
    echo "$3" >"$tmp/$1/$2"
    git -C "$tmp/$1" add "$2"
    git -C "$tmp/$1" commit -q -m "$2: $3"
}

in_main() {
    git -C "$tmp/$1" show "main:$2" 2>/dev/null
}

commits() {
    git -C "$tmp/$1" rev-list --count "$2" 2>/dev/null
}

clock_git() {
    mkdir "$tmp/bin"
    mkfifo "$tmp/continue"
    real=$(command -v git)
    cat >"$tmp/bin/git" <<END
#!/bin/sh
[ -n "\${SLUICE_ASIDE+set}" ] && [ -e "$tmp/stop" ] || exec "$real" "\$@"
words=
for word; do
    case \$word in
    -c | *=*) ;;
    *) words="\$words \$word" ;;
    esac
done
wait_at() {
    { read -r wanted <"$tmp/stop"; } 2>/dev/null || return
    case "\$1\$words " in
    "\$wanted "*)
        [ -n "\$SLUICE_ASIDE" ] || echo \$\$ >"$tmp/unmarked"
        rm "$tmp/stop" && : >"$tmp/stopped" && read -r _ <"$tmp/continue" && rm -f "$tmp/unmarked"
        ;;
    esac
}
wait_at before
"$real" "\$@"
code=\$?
wait_at after
exit \$code
END
    chmod +x "$tmp/bin/git"
    PATH=$tmp/bin:$PATH
    export PATH
}

stops() {
    soon [ -e "$tmp/stopped" ] || { echo "# git was not asked for: $1" && return 1; }
    rm "$tmp/stopped"
}

crash() {
    daemon=$(pid_of_daemon)
    kill -9 "$daemon"
    is_gone "$daemon"
    [ ! -e "$tmp/unmarked" ] || kill -9 "$(cat "$tmp/unmarked")"
    rm -f "$tmp/unmarked"
}
