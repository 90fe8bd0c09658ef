#!/bin/sh
# Real agents as candidates, and as the chooser, which has their diffs in its prompt and picks by a command.
# shellcheck disable=SC1091,SC2154 # kit.sh sets id, work, accounts
. "$(dirname "$0")/kit.sh"
. "$here/../daemon/repository.sh"
service ok
git init -q -b main "$work"
git -C "$work" config user.name Test
git -C "$work" config user.email test@localhost
git -C "$work" commit -q --allow-empty -m begin
config "$accounts
projects: {web: {path: '$work', workspace_mode: worktree}}"
start
run sluice config set limits.runs=1 # one after the other: the scenes have an order

waits() { # for a pick
    [ "$(value "$id" state) $(value "$id" hold)" = 'held review' ]
}

for chooser in claude codex; do
    : >"$stub/requests"
    scenes "tool echo first >$chooser.txt" 'ok It is written.' "tool echo second >$chooser.txt" 'ok It is written.' \
        "tool $SLUICE pick \"\$SLUICE_TASK\" \"\${SLUICE_TASK%-*}-\$((\${SLUICE_TASK##*-} - 1))\" --reason 'It is better.'" 'ok I have picked.'
    add --project web --cwd - --best-of 2 --agents claude,codex --chooser $chooser --merge direct "Write the file, $chooser."
    count=${id##*-}
    rule "$chooser picks, and the task is done" becomes "$id" 'done'
    rule "$chooser: the candidates are of claude and codex" \
        [ "$(of "$id" "[c['agent'] + ' ' + c['state'] for c in t['best_of']['candidates']]")" = "['claude done', 'codex done']" ]
    rule "$chooser: it has the diffs of both" \
        [ "$(asked "any('+first' in x['prompt'] and '+second' in x['prompt'] for x in r)")" = True ]
    rule "$chooser: the pick is the second" [ "$(of "$id" "t['best_of']['picked']")" = "web-$((count + 2))" ]
    rule "$chooser: its reason is kept" [ "$(of "$id" "t['best_of']['reason']")" = 'It is better.' ]
    rule "$chooser: the pick is merged" [ "$(git -C "$work" show "main:$chooser.txt")" = second ]
    becomes "web-$((count + 3))" 'done'
    rule "$chooser: the tokens of all are shown" \
        [ "$(of "$id" "t['best_of']['tokens']")" = $(($(charged in) + $(charged out))) ]
done

scenes 'ok I like both.'
add --project web --cwd - --best-of 2 --agents claude,codex --chooser claude 'Say something.'
rule 'an agent that picks nothing leaves it to a person' soon waits
finish
