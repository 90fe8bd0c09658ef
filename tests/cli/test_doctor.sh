#!/bin/sh
# sluice doctor: checks the installation, the daemon and the store.
# shellcheck disable=SC2154 # lib.sh and daemon.sh set home, id, root and tmp
. "$(dirname "$0")/lib.sh"
. "$here/daemon.sh"

# The exit code is 1 exactly if a line is marked: the test does not depend on what this machine lacks.
honest() {
    if grep -q '^  BAD' out; then
        exits 1 "$1: something must be put right"
    else
        exits 0 "$1: all well"
    fi
}

chmod 700 "$home"
run sluice doctor
exits 0 'an empty home: exit code'
has '  ok    daemon          not running' 'no daemon runs'
has '  ok    store           nothing stored yet' 'nothing stored yet'
rule 'what the kernel lets a daemon do' grep -Eq '^  (ok|less)  +cgroup.kill' out
rule 'and nothing was made' [ -z "$(ls -A "$home")" ]
start
run sluice doctor
honest 'with a daemon'
has "  ok    home            $home" 'with a daemon: the home'
has '  ok    daemon          running, version ' 'with a daemon: it runs'
rule 'with a daemon: its store, and where it is' grep -qE "^  ok    store +(sqlite at '$home/sluice.db'|postgresql at 'postgresql://)" out
rule 'with a daemon: what the kernel lets it do' grep -Eq '^  (ok|less)  +cgroup.kill' out
rule 'nothing is told twice' [ "$(grep -c ' home  ' out)" -eq 1 ]
# A daemon that runs as root works; doctor prints a warning.
[ "$(id -u)" -ne 0 ] || has '  warn  isolation ' 'root is a warning'
rule 'isolation is never a fault' not grep -q 'BAD   isolation' out
run sluice doctor --json
has '"running":true' 'as JSON'
has '"there":' 'as JSON: the features'
run sluice down
run sluice doctor
exits 0 'after it: exit code'
has ': sound; ' 'after it: the database was looked at'
rule 'after it: and the kernel' grep -Eq '^  (ok|less)  +cgroup.kill' out

# Problems are reported with a remedy.
config 'limits: {rnus: 1}'
run sluice doctor
exits 1 'a mistake in the configuration: exit code'
has "  BAD   configuration   $home/sluice.yaml:1: unknown key 'limits.rnus'; did you mean 'limits.runs'?" \
    'a mistake in the configuration'
has '  warn  store           not checked' 'and the database is not blamed for it'
config ''
cp "$home/sluice.db" good.db
dd if=/dev/urandom of="$home/sluice.db" bs=4096 count=4 conv=notrunc 2>/dev/null
run sluice doctor
exits 1 'a damaged database: exit code'
has '  BAD   store ' 'a damaged database'
cp good.db "$home/sluice.db"
chmod 755 "$home"
run sluice doctor
exits 1 'a home that others may read: exit code'
has "  BAD   home            $home" 'a home that others may read'
chmod 700 "$home"

# A file with secrets that other users can read.
secrets() { # MODE: what doctor prints for the file with this mode
    chmod "$1" "$home/sluice.yaml"
    run sluice doctor
}
config 'limits: {runs: 2}'
secrets 644
rule 'a file without a secret may have any mode' not grep -q ' secrets ' out
config 'agents: {claude: {env: ["ANTHROPIC_API_KEY=sk-1"]}}'
secrets 600
rule 'one with a secret is for its owner alone' not grep -q ' secrets ' out
secrets 644
exits 0 'a looser one in a folder that is private: exit code'
has "  warn  secrets         $home/sluice.yaml has mode 644, and 'agents.claude.env' may hold" 'a looser one in a folder that is private'
mkdir open
chmod 755 open
cp "$home/sluice.yaml" open/sluice.yaml
chmod 644 open/sluice.yaml
mkdir -p open/.config/sluice
chmod 755 open/.config open/.config/sluice
cp open/sluice.yaml open/.config/sluice/sluice.yaml
chmod 644 open/.config/sluice/sluice.yaml
run env -u SLUICE_HOME HOME="$tmp/open" "$SLUICE" doctor
has '  BAD   secrets ' 'a looser one that others get to'
exits 1 'a looser one that others get to: exit code'
run env -u SLUICE_HOME HOME="$tmp/open" "$SLUICE" config set limits.runs=3
rule 'and any change makes it private' [ "$(stat -c %a open/.config/sluice/sluice.yaml)" = 600 ]
# Each fix is a line for a shell: a command that exists here or in Sluice, or a comment.
pasteable() { # 'which doctor'
    sed -n 's/^ *-> //p' out >fixes
    rule "$1: fixes are shell commands" sh -n fixes
    PATH=$(dirname "$SLUICE"):$PATH
    sed 's/^sudo //; s/^\([^ ;]*\).*/\1/' fixes | sort -u | while read -r word; do
        case $word in
        '#' | '"${EDITOR:-vi}"' | '${EDITOR:-vi}' | apt | systemctl) ;;
        *) command -v "$word" >/dev/null || echo "$word" ;;
        esac
    done >unknown
    compare /dev/null unknown "$1: fixes begin with a program"
}
config 'agents: {claude: {command: [no-such-program]}}'
run sluice doctor
pasteable 'without a daemon'
chmod 755 "$home"
run sluice doctor
has "-> chmod 700 '$home'" 'the fix of a home that others may read'
pasteable 'an open home'
run sh -c "$(sed -n "s/^ *-> \(chmod 700 .*\)/\1/p" out | head -n 1)"
rule 'and it can be pasted' [ "$(stat -c %a "$home")" = 700 ]
config ''
start
run sluice doctor
pasteable 'with a daemon'
run sluice doctor now
exits 2 'an argument'
finish
