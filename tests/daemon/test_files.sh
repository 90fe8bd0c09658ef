#!/bin/sh
# Task files: all tasks are added or none, and errors are reported with their line.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"
config 'projects: {web: {weight: 3}, api: }
agents: {nothing: {slots: 1}}'
start

cat >good.yaml <<'END'
group: night
defaults: {project: web}
tasks:
  - {id: one, run: echo one >>order}
  - {id: three, needs: [one, two], run: echo three >>order}
  - {id: two, needs: one, project: api, run: echo two >>order}
END
run sluice add -f good.yaml
exits 0 'a file of tasks'
prints 'web-1 started (one)
web-2 queued, position 1 (three)
api-3 queued, position 2 (two)' 'every task is told, with its name'
becomes 2 'done'
rule 'in the order of their dependencies' [ "$(tr '\n' ' ' <order)" = 'one two three ' ]
run sluice group show night --json
rule 'and in their group' [ "$(grep -o '"state":"done"' out | wc -l)" = 3 ]

# Each of these files has an error in one line, and valid tasks before and after it.
bad() { # LINE 'message' 'what'; the file is bad.yaml
    before=$(last_event)
    run sluice add -f bad.yaml
    exits 2 "$3: exit code"
    grep -q "^sluice: bad.yaml:$1:.*$2" err && [ "$(wc -l <err)" = 1 ]
    report $? "$3: the line and a sentence"
    rule "$3: nothing was stored" [ "$(last_event)" = "$before" ]
}

file() { # the third line
    printf '%s\n' '- run: "true"' '- run: "true"' "$1" '- run: "true"' >bad.yaml
}

file '- {run: "true", need: one}'
bad 3 "did you mean 'needs'" 'a member that is not known'
file '- {run: "true", needs: nobody}'
bad 3 "nobody" 'a dependency that is not there'
file '- {run: "true", project: wep}'
bad 3 "there is no project 'wep'; did you mean 'web'" 'a project that is not there'
file '- {run: "true", priority: high}'
bad 3 "priority" 'a value of another type'
file '- {run: "true", timeout: -4}'
bad 3 "timeout" 'a time-out that is none'
file '- {run: "true", argv: ["true"]}'
bad 3 "" 'two commands in one task'
file '- {title: nothing to do}'
bad 3 "" 'a task without a command'
file '- {run: "true", id: a, needs: a}'
bad 3 "" 'a task that waits for itself'
file '- {prompt: do it, agent: nothing}'
bad 3 "command" 'a prompt for an agent without a command'
file '- {run: "true"'
bad '[0-9]*' "" 'a bracket that is not closed'
printf '%s\n' '- {id: a, needs: c, run: "true"}' '- {id: b, needs: a, run: "true"}' \
    '- {id: c, needs: b, run: "true"}' >bad.yaml
bad '[123]' 'cycle' 'a cycle'
rule 'a cycle is printed' grep -Eq 'a.*b.*c|b.*c.*a|c.*a.*b' err

# The daemon also refuses a complete batch: 200 valid tasks and one with an unknown agent.
i=0
while [ $i -lt 200 ]; do
    i=$((i + 1))
    echo "- {argv: ['true'], hold: true}"
done >bad.yaml
echo '- {argv: ["true"], depends_on: [web-4711]}' >>bad.yaml
bad 201 'web-4711' 'the last of 201 tasks'

# --- the standard input ------------------------------------------------------------------------------

printf -- '- {id: x, run: "echo $SLUICE_TASK"}\n' | "$SLUICE" add -f - >out 2>err
code=$?
exits 0 'a file through stdin'
prints 't-4 started (x)' 'a file through stdin: the task'
becomes t-4 'done' # its end is an event, and events are counted below
printf '[{"argv":["true"],"titel":"x"}]' | "$SLUICE" add -f - >out 2>err
code=$?
exits 2 'stdin with a mistake: exit code'
rule 'stdin with a mistake: the place' grep -q "^sluice: stdin:1:.*did you mean 'title'" err
run sluice add -f no-such.yaml
exits 2 'a file that is not there'
: >empty.yaml
run sluice add -f empty.yaml
exits 2 'an empty file'

# --- twice -------------------------------------------------------------------------------------------

cat >cards.yaml <<'END'
- {argv: ['true'], external_id: card-1, hold: true}
- {argv: ['true'], external_id: card-2, hold: true}
END
run sluice add -f cards.yaml
prints 't-5 held
t-6 held' 'tasks with names of elsewhere'
before=$(last_event)
run sluice add -f cards.yaml
exits 0 'the same file again is well'
prints 't-5 already: held
t-6 already: held' 'the same file again: they are there already'
rule 'the same file again: nothing new is stored' [ "$(last_event)" = "$before" ]
finish
