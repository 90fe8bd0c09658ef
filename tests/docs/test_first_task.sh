#!/bin/sh
# docs/guide/first-task.md: a command, a project, an agent whose change is merged, a file of tasks.
# shellcheck disable=SC1091,SC2154 # kit.sh sets log
. "$(dirname "$0")/kit.sh"
document docs/guide/first-task.md
repository "$HOME/src/web"
cat >"$bin/xdg-open" <<'OPENER'
#!/bin/sh
printf '%s\n' "$*" >"$(dirname "$0")/opened"
OPENER
chmod +x "$bin/xdg-open"
DISPLAY=:0
export DISPLAY
agents_can_log
play
rule 'the dashboard is opened in the browser' [ -s "$bin/opened" ]
prompted 'Say in the README how to run the tests.' 'the task for the agent'
rule 'the change is merged' [ "$(git -C "$HOME/src/web" show HEAD:README.md)" = 'Run the tests with make test.' ]
played
