# lib.sh: shared functions of the shell tests. Source it with `. "$(dirname "$0")/lib.sh"`.
#
#   run sluice ARGS...        runs it; sets $code, writes the files out and err
#   rule 'what' COMMAND...    asserts that the command succeeds; `not COMMAND...` inverts it
#   exits N 'what'            asserts that the exit code was N
#   prints TEXT 'what'        asserts that stdout is exactly TEXT
#   says TEXT 'what'          asserts that stderr is exactly TEXT
#   has TEXT 'what'           asserts that stdout contains TEXT
#   like FILE 'what'          asserts that stdout equals the file; UPDATE=1 writes the file instead
#   shown PAGE ARGS...        asserts that the page shows `$ sluice ARGS...` with its current output
#   soon COMMAND...           waits until the command succeeds; fails after $patience seconds
#   appears TEXT FILE         waits until the file has a line with this text
#   disappears FILE           waits until the file does not exist
#   needs PROGRAM...          fails unless the programs are installed; scripts/setup --test installs them
#   finish                    prints the plan; the last line of each test
#
# SLUICE is the program. To run one test: SLUICE=build/sluice tests/cli/test_plan.sh
# To accept changed outputs: UPDATE=1 SLUICE=build/sluice tests/cli/test_plan.sh, then read the diff.
# shellcheck shell=sh
set -u

: "${SLUICE:?is not set: SLUICE=build/sluice $0}"
case $SLUICE in
/*) ;;
*) SLUICE=$PWD/$SLUICE ;;
esac
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
tmp=$(mktemp -d)
late=$tmp/.late # waits that timed out
trap 'rm -rf "$tmp"' EXIT
cd "$tmp" || exit 1
# Isolated from the user: no dot files (git, curl, tmux), no proxy, no variables of a surrounding Sluice run.
for name in $(env | sed -n 's/^\(SLUICE_[A-Z_]*\|GIT_[A-Z_]*\|XDG_[A-Z_]*\|[A-Za-z]*_[Pp][Rr][Oo][Xx][Yy]\)=.*/\1/p'); do
    case $name in
    SLUICE_TEST_*) ;;
    *) unset "$name" ;;
    esac
done
unset NO_COLOR COLUMNS LINES CDPATH
HOME=$tmp/.user
mkdir "$HOME"
export HOME
number=0
code=0
# Timeout of every wait, in seconds; scripts/run-tests sets it according to the speed of the machine.
patience=${SLUICE_TEST_PATIENCE:-300}
await=${SLUICE_TEST_AWAIT:-$(dirname "$SLUICE")/tests/harness/await}

run() {
    [ "$1" != sluice ] || { shift && set -- "$SLUICE" "$@"; }
    timeout -k 10 "$patience" "$@" >"$tmp/out" 2>"$tmp/err"
    code=$?
}

# RESULT 'what': prints one line of TAP; after a failure also the output, as comments.
report() {
    number=$((number + 1))
    if [ "$1" = 0 ]; then
        printf '%s\n' "ok $number - $2"
        return
    fi
    printf '%s\n' "not ok $number - $2"
    echo "# exit code $code"
    sed 's/^/# out: /' "$tmp/out" | head -n 40
    sed 's/^/# err: /' "$tmp/err" | head -n 40
    [ ! -s "$tmp/diff" ] || sed 's/^/# diff: /' "$tmp/diff" | head -n 40
    echo "# repeat: SLUICE=$SLUICE $here/$(basename "$0")"
    : >"$tmp/diff"
}

rule() {
    what=$1
    shift
    "$@"
    report $? "$what"
}

not() {
    ! "$@"
}

exits() {
    [ "$code" -eq "$1" ]
    report $? "$2"
}

compare() { # FILE FILE 'what'
    diff "$1" "$2" >"$tmp/diff" 2>&1
    report $? "$3"
}

prints() {
    printf '%s\n' "$1" >"$tmp/want"
    compare "$tmp/want" "$tmp/out" "$2"
}

says() {
    printf '%s\n' "$1" >"$tmp/want"
    compare "$tmp/want" "$tmp/err" "$2"
}

has() {
    grep -qF -e "$1" "$tmp/out"
    report $? "$2"
}

like() {
    if [ -n "${UPDATE-}" ]; then
        cp "$tmp/out" "$1"
    fi
    compare "$1" "$tmp/out" "$2"
}

shown() {
    page=$1
    shift
    (cd "$root" && "$SLUICE" "$@") >"$tmp/out" 2>"$tmp/err"
    code=$?
    awk -v line="\$ sluice $*" '$0 == line { on = 1; next } /^```/ { on = 0 } on' "$root/$page" >"$tmp/want"
    compare "$tmp/want" "$tmp/out" "$page shows 'sluice $*'"
}

# Between two attempts it sleeps until something changes below $tmp (tests/harness/await.c).
soon() {
    deadline=$(($(date +%s) + patience))
    until "$@"; do
        "$await" change "$tmp" "$deadline" || { echo "# not within $patience s: $*" | tee -a "$late" && return 1; }
    done
}

appears() {
    soon grep -qsF -e "$1" "$2"
}

disappears() {
    soon [ ! -e "$1" ]
}

# For tests whose last daemon may be killed: it leaves its cgroup to the next daemon, which is never started. The cgroup cannot be
# removed before the last process in it, such as a shim that is about to exit, has ended. Without a cgroup of its own, the test
# would see those of other daemons.
cgroups_are_removed() {
    find "$own_cgroup" -mindepth 1 -depth -type d -path '*/sluice-*' -exec rmdir {} + 2>/dev/null
    [ -z "$(find "$own_cgroup" -type d -name 'sluice-*')" ]
}

no_process_is_left() { # 'what'
    own_cgroup=$(awk '/ - cgroup2 / { print $5; exit }' /proc/self/mountinfo)$(sed -n 's/^0:://p' /proc/self/cgroup)
    [ -z "${SLUICE_TEST_CGROUP-}" ] || rule "$1" soon cgroups_are_removed
}

needs() {
    for name; do
        command -v "$name" >/dev/null || { echo "Bail out! there is no program '$name': run scripts/setup --test" && exit 1; }
    done
}

finish() {
    [ ! -s "$late" ] || report 1 'nothing was waited for in vain'
    echo "1..$number"
}
