# play.sh: one night, from 22:00 to the morning. README.md describes what to look at.
#
# The tests play it on a clock that they set (SLUICE_TEST_CLOCK). Without one there is no need to wait until 22:00: the
# schedule is run at once, its hours are those of the present, and the account is opened by hand instead of at 01:00.
# shellcheck shell=sh disable=SC1091,SC2154 # lib.sh sets wrong
. ../lib.sh

evening=${NIGHT_OF-}
morning=

# A daemon that was killed is started again, and the command repeated.
sluice() {
    until command sluice "$@"; do
        [ $? = 3 ] || return 1
        command sluice up >/dev/null 2>&1 || :
    done
}

# --- time --------------------------------------------------------------------------------------------

now() {
    echo $(($(date +%s) + $(cat "$SLUICE_TEST_CLOCK/ahead") / 1000))
}

epoch() { # 'YYYY-MM-DD HH:MM'
    TZ=Europe/Berlin date -d "$1" +%s
}

nothing_runs() {
    counts=$(sluice status --json | grep -o '"counts":{[^}]*}' | head -n 1)
    for name in starting running; do
        case $counts in *"\"$name\":0"*) ;; *) return 1 ;; esac
    done
}

# Nothing is running, so time may pass: a run, a call of a check or the removal of a worktree would be late.
is_quiet() {
    for id in $(sluice list --ids --state 'done'); do
        [ ! -e "$SLUICE_HOME/worktrees/$id.json" ] || return 1
    done
    nothing_runs || return 1
    curl -s --unix-socket "$SLUICE_HOME/sluice.sock" http://sluice/metrics | grep -q '^sluice_probes_running 0'
}

knows() { # EPOCH
    [ "$(sluice status --json | member now)" -ge $(($1 * 1000)) ]
}

# The daemon knows the time, and has decided what starts then, before is_quiet looks.
set_clock() { # EPOCH
    echo $((($1 - $(date +%s)) * 1000)) >"$SLUICE_TEST_CLOCK/.ahead"
    mv "$SLUICE_TEST_CLOCK/.ahead" "$SLUICE_TEST_CLOCK/ahead"
    until_true knows "$1"
}

# plan_window USED RESET: what the agent reports about the plan. Replaced as a whole: an agent may read it at any time.
plan_window() {
    echo "$1 $2" >.window
    mv .window window
}

# at DAY TIME: the clock shows this time.
at() {
    say "$2" "$3"
    [ -n "$evening" ] || return 0
    until_true is_quiet
    set_clock "$(epoch "$1 $2")"
}

# pass COMMAND...: time passes until the command succeeds.
pass() {
    if [ -z "$evening" ]; then
        until_true "$@"
        return
    fi
    for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        until_true is_quiet
        ! "$@" || return 0
        set_clock $(($(now) + 180))
    done
    return 1
}

# --- what is looked at -------------------------------------------------------------------------------

task() { # TITLE: its id
    sluice list --json --state all | tr '{' '\n' | grep -F "\"title\":\"$1\"" | member id | head -n 1
}

are_added() {
    [ "$(sluice list --ids --state all | wc -l)" = 3 ]
}

asks() {
    sluice questions | grep -q 'What shall the guide be about?'
}

is_reserved() {
    sluice limiter show claude --json | grep -q '"state":"reserved"'
}

all_done() {
    [ "$(sluice list --ids --state 'done' | wc -l)" = 3 ]
}

is_clean() {
    [ "$(git -C shop branch --format='%(refname:short)')" = main ]
}

in_main() { # FILE
    git -C shop show "main:$1"
}

# --- the night ---------------------------------------------------------------------------------------

work=$PWD
sed -i "s|@WORK@|$work|" ../sluice.yaml
PATH=$work/agents:$PATH
export PATH
git init -q -b main shop
git -C shop config user.name Owner
git -C shop config user.email owner@localhost
git -C shop add .
git -C shop commit -q -m 'open the shop'
hours=no
if sluice config explain projects.P.hours >/dev/null 2>&1; then
    hours=yes
fi
if sluice config explain projects.P.on_conflict >/dev/null 2>&1; then
    : >colleague # who changes the same line as an agent
    sed -i 's/    merge: direct/&\n    on_conflict: iterate/' ../sluice.yaml
fi
if [ -n "$evening" ]; then
    morning=$(date -d "$evening + 1 day" +%Y-%m-%d)
    [ $hours = no ] || sed -i 's/    merge: direct/&\n    hours: "22:30-06:00"/' ../sluice.yaml
    plan_window 0.85 "$(epoch "$morning 01:00")"
else
    sed -i 's/every: 2m/every: 1s/' night.yaml
    plan_window 0.85 $(($(date +%s) + 18000))
fi
command sluice up >/dev/null 2>&1 || sluice status >/dev/null

at "$evening" 22:00 'A schedule adds three tasks.'
[ -n "$evening" ] || sluice schedule run night >/dev/null
until_true are_added
show schedule show night
show list --order old
guide=$(task 'write the guide')
prices=$(task 'raise the prices')
total=$(task 'add up a basket')

if [ -n "$evening" ] && [ $hours = yes ]; then
    check 'they wait for the opening hours of their project' [ "$(field "$guide" gate)" = hours ]
    show why "$guide"
fi

at "$evening" 22:30 'The hours of the project begin. Two tasks start; one of them has a question.'
until_true asks
pass is_reserved
show limiter show claude
check 'the third one waits, because 85 % of the plan is used' [ "$(field "$total" state)" = ready ]
show why "$total"

at "$evening" 23:15 'You look at your phone before you go to sleep.'
show questions
show answer "$guide" tea
check 'the answer waits for the plan' [ "$(field "$guide" state)" = ready ]

at "$morning" 01:00 'The window of the plan is over.'
if [ -n "$evening" ]; then
    plan_window 0.1 "$(epoch "$morning 06:00")"
else
    plan_window 0.1 $(($(date +%s) + 18000))
    until_true nothing_runs # a run of before would close the account again
    show limiter clear claude
fi
pass all_done || :

at "$morning" 06:30 'You get up.'
show list --state all --order old
for id in $(sluice list --ids --state all); do
    [ "$(field "$id" state)" = 'done' ] || { show show "$id" && show logs "$id"; }
done
check 'the guide is about what you answered' [ "$(in_main guide.md)" = '# How to make tea' ]
check 'the answer was used once' [ "$(grep -l -e '^The answer' -e '^Answer: ' prompts/guide.* | wc -l)" = 1 ]
check 'CI was red, then green' [ "$(field "$total" iteration)" = 2 ]
check 'the total is right' [ "$(in_main total.sh | sh -s 2 3 4)" = 9 ]
if [ -e colleague ]; then
    check 'the conflict was repaired' [ "$(field "$prices" iteration)" = 2 ]
    check 'both changes are there' [ "$(in_main prices.txt)" = "$(printf 'coffee 3\ntea 4 (green tea: 5)')" ]
else
    check 'the price is raised' [ "$(in_main prices.txt)" = "$(printf 'coffee 3\ntea 4')" ]
fi
# If an attempt is lost, its work is saved in a commit of its own.
check 'nothing is merged twice' [ -z "$(git -C shop log --format=%s main | grep -v '^WIP: saved before recovery' | sort | uniq -d)" ]
check 'no branch is left' until_true is_clean
check 'the schedule has added its tasks once' [ "$(sluice schedule show night --json | member fired)" = 1 ]
check 'nothing waits for you' [ "$(sluice questions --json | grep -c '"question"')" = 0 ]

# The same after each night, whatever happened to the daemon.
{
    for id in "$guide" "$prices" "$total"; do
        echo "$id $(field "$id" state) iteration $(field "$id" iteration) failures $(field "$id" failures)"
    done
    git -C shop rev-parse 'main^{tree}'
    sluice schedule show night --json | grep -o -e '"fired":[0-9]*' -e '"skipped":[0-9]*'
} >"${NIGHT_RESULT:-result}"
# A test restarts the daemon each time it is killed: wait until none runs and none is being restarted.
is_down() {
    sluice down >down.log 2>&1
    ! ls "$SLUICE_TEST_CLOCK"/alive.* >/dev/null 2>&1
}
[ -z "$evening" ] || { : >"$SLUICE_TEST_CLOCK/over" && until_true is_down; }
over
