#!/bin/sh
# Promises about where something is done, and by whom alone: read in the code. Prints TAP.
# usage: test_structure.sh SOURCE
set -u
cd "$1/src" || exit 1
number=0

# PATTERN GREP-ARGUMENTS...: the lines of C where it occurs; comments do not count
uses() {
    pattern=$1
    shift
    grep -rnE --include='*.c' "\\b($pattern)" "$@" | grep -vE '^[^:]*:[0-9]+: *(\*|/\*|//)'
}

# 'what' FILES PATTERN: the only files outside the core where it occurs. Comments do not count.
only() {
    number=$((number + 1))
    found=$(uses "$3" --exclude-dir=core . | sed 's|^\./||; s|:.*||' | sort -u | paste -sd ' ')
    if [ "$found" = "$2" ]; then
        echo "ok $number - $1"
    else
        echo "not ok $number - $1"
        echo "# expected: $2"
        echo "# found:    $found"
        echo "# If another place is right, the promise has changed: say so in this test and in tests/conformance/table.txt."
    fi
}

# 'what' PATTERN FOLDERS...: it occurs in none of them
nowhere() {
    what=$1 pattern=$2
    number=$((number + 1))
    shift 2
    found=$(uses "$pattern" "$@")
    if [ -n "$found" ]; then
        echo "not ok $number - $what"
        echo "$found" | sed 's/^/# /'
    else
        echo "ok $number - $what"
    fi
}

spawns='v?fork\(|posix_spawnp?\(|execv[pe]*\(|execl[pe]*\(|clone3?\(|popen\('

only 'f105 all scheduling goes through one door, besides the rows of a restart and the snapshots of plan and sim' \
    'engine/load.c engine/tasks/add.c snapshot/coming.c snapshot/snapshot.c snapshot/write.c' 'FACT_TASK_ADDED'
only 'f105 all dispatch goes through one door, here or to Slurm' 'engine/slurm/executors.c executor/executor.c' 'executor_start\('
only 'f105 which one place opens' 'engine/launch/launch.c engine/slurm/executors.c' 'executors_launch\('
only 'f105 the daemon decides in one place, and in one that only says what it would do' \
    'cli/cmd_plan.c engine/configure.c engine/turn.c sim/forecast.c sim/player.c' 'core_decide\('
nowhere 'f152 only the engine tells the core what happened: neither operations nor interfaces do' \
    'core_apply\(' ops api daemon executor store cli
nowhere 'f152 no lock, no second thread: one owner' 'pthread_(create|mutex_lock)|thrd_create' core engine ops api
nowhere 'f153 who decides never spawns' "$spawns" core config store engine ops api daemon
only 'f153 runs are spawned by the executor, their commands by the shim, and what these need inside the run by themselves' \
    'acp/acp_main.c cli/daemon.c cli/program.c executor/spawner.c shim/command.c' "$spawns"
echo "1..$number"
