# play.sh: cards in phase folders, with flows, serial locks and retries. README.md describes what to look at.
# shellcheck shell=sh disable=SC1091
. ../lib.sh

card() { # NAME: prints the agent_status of the card
    sed -n 's/^agent_status: *//p' "$(find project -name "$1.md")"
}

card_is() {
    [ "$(card "$1")" = "$2" ]
}

task() { # NAME: prints the id of the task of the card
    sluice list --state all --all --json | tr '{' '\n' | grep "\"title\":\"$1\"" | member id
}

# Checks by their events whether two tasks ran at the same time.
beside() {
    sluice events --limit 1000 --json | tr '{' '\n' |
        awk -v a="\"task\":\"$1\"" -v b="\"task\":\"$2\"" '
            /"run.started"/ && index($0, a) { x = 1 } /"run.ended"/ && index($0, a) { x = 0 }
            /"run.started"/ && index($0, b) { y = 1 } /"run.ended"/ && index($0, b) { y = 0 }
            x && y { met = 1 } END { exit !met }'
}

apart() {
    ! beside "$1" "$2"
}

say '1. The board' 'Six cards in the backlogs of two phases. What is in done/ is over.'
find project -name '*.md' | sort
show project add app --path "$PWD"
show import cards --agent codex --project app project
check 'six tasks' [ "$(sluice list --state all --all --ids | wc -l)" = 6 ]

say '2. A card has one run' 'Asked again while it is queued or runs: the answer is the task that it has already.'
show import cards --agent codex --project app project
check 'still six' [ "$(sluice list --state all --all --ids | wc -l)" = 6 ]
idle

say '3. What became of them'
show list --state all --order old
login=$(task 'Login form')
logout=$(task 'Logout button')
icons=$(task 'Icons')
look=$(task 'Look at the form')
hopeless=$(task 'A card that never works')
check 'two cards of one phase and flow were apart' apart "$login" "$logout"
check 'the parallelizable one ran beside one of them' beside "$icons" "$login"
check 'a failed run was repeated' [ "$(field "$look" state) $(field "$look" attempt)" = 'done 2' ]
check 'after five retries it is failed' [ "$(field "$hopeless" state) $(field "$hopeless" attempt)" = 'failed 6' ]

say '4. What the cards say' 'Their text is untouched; agent_status and history are mirrored.'
cat "$(find project -name look.md)"
until_true card_is hopeless failed
until_true card_is login succeeded
check 'login.md says succeeded' [ "$(card login)" = succeeded ]
check 'hopeless.md says failed' [ "$(card hopeless)" = failed ]
check 'the card in done/ was left alone' [ "$(card repo)" = succeeded ]

say '5. By hand' 'A manual rerun begins with fresh counters.'
touch spark # the file that the task needs
show retry "$hopeless"
until_true state_is "$hopeless" 'done'
check 'now it works' state_is "$hopeless" 'done'
until_true card_is hopeless succeeded
check 'hopeless.md says so' [ "$(card hopeless)" = succeeded ]
over
