# lib.sh: what the examples share. Read by their play.sh, which `examples/run` starts in a copy of the
# example's folder, with a home of its own.
#
#   say 'text'...              a heading, and lines below it
#   show ARGS...               a sluice command as one types it, and what it says
#   try CODE ARGS...           the same; it must end with this exit code
#   wait_for STATE ID...       until each of these tasks is in that state (a minute at most)
#   idle                       until nothing runs and nothing can start
#   check 'what' COMMAND...    the command succeeds, or the example has failed
#   field ID MEMBER            a member of a task: field shop-1 state
#   over                       the last line, and the exit code
# shellcheck shell=sh
set -eu

wrong=0
checks=0
bold=
plain=
if [ -t 1 ] && [ -z "${NO_COLOR-}" ]; then
    bold=$(printf '\033[1m')
    plain=$(printf '\033[0m')
fi

say() {
    printf '\n%s%s%s\n' "$bold" "$1" "$plain"
    shift
    for line; do
        printf '%s\n' "$line"
    done
}

show() {
    printf '\n%s$ sluice %s%s\n' "$bold" "$*" "$plain"
    sluice "$@" 2>&1
}

try() {
    due=$1
    shift
    got=0
    show "$@" || got=$?
    check "exit code $due" [ "$got" = "$due" ]
}

check() {
    what=$1
    shift
    checks=$((checks + 1))
    if "$@"; then
        printf '  ok     %s\n' "$what"
    else
        printf '  WRONG  %s\n' "$what"
        wrong=$((wrong + 1))
    fi
}

# The first member of that name: members of the task itself come before those inside.
field() {
    sluice show --json "$1" | grep -oE "\"$2\":(\"[^\"]*\"|[^],}]*)" | head -n 1 |
        sed -e 's/^"[^"]*"://' -e 's/^"//' -e 's/"$//'
}

# A member of the answer of any other command, from stdin.
member() {
    grep -oE "\"$1\":(\"[^\"]*\"|[^],}]*)" | head -n 1 | sed -e 's/^"[^"]*"://' -e 's/^"//' -e 's/"$//'
}

state_is() {
    [ "$(field "$1" state)" = "$2" ]
}

# Looks again whenever something has happened.
until_true() {
    deadline=$(($(date +%s) + ${SLUICE_TEST_PATIENCE:-60}))
    last=$(sluice events --limit 1 --json | member seq)
    until "$@"; do
        [ "$(date +%s)" -lt $deadline ] || return 1
        timeout 1 sluice events --follow --after "$last" 2>/dev/null | head -n 1 >/dev/null || :
        last=$(sluice events --limit 1 --json | member seq)
    done
}

wait_for() {
    state=$1
    shift
    for id; do
        until_true state_is "$id" "$state" ||
            { printf '  WRONG  %s is %s and not %s\n' "$id" "$(field "$id" state)" "$state" && wrong=$((wrong + 1)); }
    done
}

is_idle() {
    counts=$(sluice status --json | grep -o '"counts":{[^}]*}' | head -n 1) # the first: those of all projects
    for name in starting running ready held; do
        case $counts in *"\"$name\":0"*) ;; *) return 1 ;; esac
    done
}

idle() {
    until_true is_idle || { echo '  WRONG  not everything ended' && wrong=$((wrong + 1)); }
}

over() {
    if [ $wrong = 0 ]; then
        printf '\n%sall as it should be: %d checks%s\n' "$bold" $checks "$plain"
        exit 0
    fi
    printf '\n%s%d of %d checks are wrong%s\n' "$bold" $wrong $checks "$plain"
    exit 1
}
