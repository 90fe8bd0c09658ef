# lib.sh: shared functions of the examples. Sourced by their play.sh, which `examples/run` starts in a copy of the
# example's folder, with a temporary home.
#
#   say 'text'...              prints a heading, and lines below it
#   show ARGS...               prints and runs a sluice command
#   try CODE ARGS...           the same; the exit code must be CODE
#   wait_for STATE ID...       waits until each of these tasks is in that state (at most a minute)
#   idle                       waits until nothing runs and nothing can start
#   check 'what' COMMAND...    checks that the command succeeds; if not, the example fails
#   field ID MEMBER            prints a member of a task: field shop-1 state
#   over                       prints the summary and exits
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

# The first member of that name: members of the task come before those of nested objects.
field() {
    sluice show --json "$1" | grep -oE "\"$2\":(\"[^\"]*\"|[^],}]*)" | head -n 1 |
        sed -e 's/^"[^"]*"://' -e 's/^"//' -e 's/"$//'
}

# Prints a member of a JSON value on stdin.
member() {
    grep -oE "\"$1\":(\"[^\"]*\"|[^],}]*)" | head -n 1 | sed -e 's/^"[^"]*"://' -e 's/^"//' -e 's/"$//'
}

state_is() {
    [ "$(field "$1" state)" = "$2" ]
}

# Repeats the command after each event until it succeeds.
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
