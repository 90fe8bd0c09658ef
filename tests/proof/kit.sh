# kit.sh: functions for the parts of scripts/proof. A part sources it and works in chunks until its time is over.
#
# PROOF_BUILD is the build folder, PROOF_SECONDS the time of this part, PROOF_STATE its folder: `figures` has one "NAME VALUE"
# per line and belongs to one proof, the folder `keep` outlives it. After every chunk both are complete, so a part that is
# interrupted loses one chunk at most.
# shellcheck shell=sh
set -eu
: "${PROOF_BUILD:?run by scripts/proof}" "${PROOF_STATE:?}" "${PROOF_SECONDS:?}"

proof_begin=$(date +%s)
proof_spent=$(cat "$PROOF_STATE/spent" 2>/dev/null || echo 0)

# Notes the seconds that this part has used; scripts/proof divides what is left.
note_time() {
    echo $((proof_spent + $(date +%s) - proof_begin)) >"$PROOF_STATE/spent"
}
trap note_time EXIT
trap 'exit 130' INT TERM HUP

time_left() {
    note_time
    [ $(($(date +%s) - proof_begin)) -lt "$PROOF_SECONDS" ]
}

seconds_left() {
    echo $((PROOF_SECONDS + proof_begin - $(date +%s)))
}

figure() { # NAME [DEFAULT]
    awk -v name="$1" -v value="${2-0}" '$1 == name { value = $2 } END { print value }' "$PROOF_STATE/figures" 2>/dev/null ||
        echo "${2-0}"
}

set_figure() { # NAME VALUE
    touch "$PROOF_STATE/figures"
    awk -v name="$1" '$1 != name' "$PROOF_STATE/figures" >"$PROOF_STATE/figures.new"
    echo "$1 $2" >>"$PROOF_STATE/figures.new"
    mv "$PROOF_STATE/figures.new" "$PROOF_STATE/figures"
}

add_figure() { # NAME NUMBER
    set_figure "$1" "$(awk -v a="$(figure "$1")" -v b="$2" 'BEGIN { printf "%.15g", a + b }')"
}

raise_figure() { # NAME NUMBER: the largest one stays
    set_figure "$1" "$(awk -v a="$(figure "$1")" -v b="$2" 'BEGIN { printf "%.15g", (a + 0 > b + 0 ? a : b) }')"
}

# The next of the numbers (seeds) that this part has not used, also in earlier proofs. Reserves COUNT of them.
take_numbers() { # COUNT
    next=$(cat "$PROOF_STATE/keep/next" 2>/dev/null || echo 1)
    echo $((next + $1)) >"$PROOF_STATE/keep/next"
    echo "$next"
}

skip() { # REASON
    echo "$1"
    exit 77
}

# The first number before WORD in FILE: "2000 seeds, 5 failed" → number_before failed FILE prints 5
number_before() { # WORD FILE
    awk -v word="$1" '{ for (i = 2; i <= NF; i++) { w = $i; gsub(/[,;:.()]/, "", w); n = $(i - 1); gsub(/,/, "", n)
        if (!found && w == word && n ~ /^[0-9.]+$/) found = n } }
        END { print found + 0 }' "$2"
}

# Runs a test and keeps its output in $PROOF_STATE/out. A failure ends the part: its figures and its log stay.
run_chunk() { # COMMAND...
    set_figure failed "$(figure failed)"
    if ! "$@" >"$PROOF_STATE/out" 2>&1; then
        cat "$PROOF_STATE/out"
        echo "failed: $*"
        add_figure failed 1
        exit 1
    fi
    tail -n 3 "$PROOF_STATE/out"
}

# Writes the milliseconds of processor time that the commands of this part have used to $PROOF_STATE/processor_ms: unlike time it
# says the same on a busy machine. Not in a subshell, which has its own count.
note_processor_ms() {
    times >"$PROOF_STATE/times"
    awk 'NR == 2 { split($1, user, /[ms]/); split($2, kernel, /[ms]/)
        printf "%d\n", (user[1] * 60 + user[2] + kernel[1] * 60 + kernel[2]) * 1000 }' \
        "$PROOF_STATE/times" >"$PROOF_STATE/processor_ms"
}
