# play.sh: a convoy of drafts, slung under a cap, tick by tick. README.md describes what to look at.
# shellcheck shell=sh disable=SC1091
. ../lib.sh

# Prints the maximum number of concurrent runs, counted from the events.
most_at_once() {
    sluice events --limit 1000 --json | grep -oE '"kind":"run\.(started|ended)"' |
        awk '/started/ { n++ } /ended/ { n-- } n > most { most = n } END { print most + 0 }'
}

say '1. A convoy' 'Five beads are known. Nothing is scheduled.'
show project add rig --path "$PWD"
show project add town
show add --file convoy.yaml
check 'five drafts' [ "$(sluice list --state draft --ids | wc -l)" = 5 ]

say '2. Slung' 'Never at the wrong rig. One command schedules the convoy; the dispatcher starts two per tick, three at the most at once.'
try 4 sling rig-1 town
show sling release rig
show tick --dry-run
show status
idle

say '3. What became of it' 'The bead whose agent is not installed was tried three times: its breaker is open, for good.'
show list --state all --order old
show show rig-4
check 'four are done' [ "$(sluice list --state 'done' --ids | wc -l)" = 4 ]
check 'one is failed by its breaker' [ "$(field rig-4 state) $(field rig-4 reason)" = 'failed breaker' ]
check 'after three attempts' [ "$(field rig-4 attempt)" = 3 ]
check 'never more than three at once' [ "$(most_at_once)" -le 3 ]
check 'what was to be shipped came last' [ "$(tail -n 1 merged.txt)" = rig-5 ]
show group list

say '4. By hand' 'No breaker of this preset closes by itself. The agent is installed; somebody says retry.'
cp agents/polecat.sh agents/not-there.sh
show retry rig-4
show tick
wait_for 'done' rig-4
check 'it is done' state_is rig-4 'done'

say '5. A formula on a bead' 'The steps are made when it is slung, and followed as a group.'
show add --draft --project rig --title 'the login page' -- true
show sling --on polecat-work --var reviewer=refinery rig-6
idle
show list --state all --order old --project rig
check 'three steps and the bead are done' [ "$(sluice list --state 'done' --ids | wc -l)" = 9 ]
over
