#!/bin/sh
# README.md: the first steps.
# shellcheck disable=SC1091,SC2154 # kit.sh sets log, bin, root
. "$(dirname "$0")/kit.sh"
document README.md
repository "$HOME/src/web"
repository "$HOME/src/site"
mkdir "$HOME/src/api"
printf 'test:\n\t@echo all tests passed\n' >"$HOME/src/web/Makefile"
ln -s "$root/examples" "$HOME/work/examples"
cat >"$bin/xdg-open" <<'OPENER'
#!/bin/sh
printf '%s\n' "$*" >"$(dirname "$0")/opened"
OPENER
chmod +x "$bin/xdg-open"
DISPLAY=:0
ANTHROPIC_API_KEY=not-a-key
export DISPLAY ANTHROPIC_API_KEY
agents_can_log
first_is_done() {
    becomes t-1 'done'
}
before 'sluice status' first_is_done
first_agent() {
    [ "$(started claude)" = 1 ]
}
first_prompt() {
    soon first_agent
    run=$(cut -d ' ' -f 1 "$log/argv")
    rule 'the first prompt is done' becomes "${run%.*}" 'done'
    rule 'the agent runs in the folder of the project' [ "$(cat "$log/$run.cwd")" = "$HOME/src/web" ]
    rule 'the settings are in force' [ "$("$SLUICE" config get agents.claude.failover)-$("$SLUICE" config get budget_usd)" = codex-20 ]
    start_over
}
before 'sluice config set projects.site.path' first_prompt
merged() {
    git -C "$HOME/src/site" show HEAD:README.md | grep -q 'make test'
    report $? 'the first change is in the branch of the repository'
}
after 'sluice merge site-1' merged
best_merged() {
    rule 'the best of three is in it, too' [ "$(git -C "$HOME/src/site" show HEAD:README.md | grep -c 'make test')" = 2 ]
}
after 'sluice best site-2' best_merged
# The six commands for the night start from an empty system, like those of the first change.
before 'sluice config set projects.web.path' start_over
play
says_that 'sluice status' runs
rule 'the dashboard is opened in the browser' [ -s "$bin/opened" ]
says_that 'sluice logs -f t-1' 'all tests passed'
says_that 'sluice list --all' t-2
says_that 'sluice why t-1' 'done'
says_that 'sluice digest' failed
for id in web-1 web-2 web-3; do
    rule "$id is done" becomes $id 'done'
    rule "the branch of $id has its work" [ "$(git -C "$HOME/src/web" log -1 --format=%s "sluice/$id")" = "work of $id.1" ]
done
prompted 'Make the tests of the parser pass.' 'the prompt of the first steps'
rule 'claude knows the queue as a server of tools' grep -q sluice "$HOME/.claude.json"
rule 'the night is drawn' [ -s "$HOME/work/night.svg" ]
played
