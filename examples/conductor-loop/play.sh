# play.sh: DONE loops, a graph of dependencies, children, the bus. README.md describes what to look at.
# shellcheck shell=sh disable=SC1091
. ../lib.sh

when_done() { # ID: number of the event that reports it done
    sluice events --task "$1" --limit 1000 --json | tr '{' '\n' | grep -A1 '"seq"' | grep -B1 '"to":"done"' | member seq
}

say '1. A graph that cannot be' 'Checked when it is submitted; nothing is stored.'
show project add book --path "$PWD"
try 2 add --file cycle.yaml
check 'nothing was added' [ -z "$(sluice list --all --ids)" ]

say '2. A graph that can' 'Two root tasks may be at work at the same time; the others are queued, with their position.'
show add --file tasks.yaml
idle
show list --state all --order old
check 'all five are done, the child too' [ "$(sluice list --state 'done' --ids | wc -l)" = 5 ]

say '3. Loops' 'A task is started again until its DONE marker exists. An exit code says nothing.'
show show book-1
check 'three notes, three launches' [ "$(field book-1 attempt)" = 3 ]
check 'the draft failed once, and was started again' [ "$(field book-2 attempt)" = 2 ]
check 'the marker is a file' [ -f ../done/book-1 ]

say '4. Children' 'A task that is done waits for the children that are at work (300 s at most).'
child=$(sluice list --state 'done' --parent book-3 --ids)
check 'the child of book-3 was done before it' [ "$(when_done "$child")" -lt "$(when_done book-3)" ]
check 'what needs both was last' [ "$(when_done book-3)" -lt "$(when_done book-4)" ]

say '5. The bus' 'What agents and daemon say, in files that only grow.'
show bus read --task book-1
show bus read --project book
check 'three messages of progress' [ "$(grep -c '^type: PROGRESS' ../bus/book/book-1.md)" -ge 3 ]
check 'one completion per task' [ "$(grep -c '^type: FACT' ../bus/book.md)" = 5 ]
over
