#!/bin/sh
# Preflight checks of agents: doctor and add warn before a task fails; init writes the agents that it finds.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # lib.sh and daemon.sh set home, root and tmp
. "$(dirname "$0")/lib.sh"
. "$here/daemon.sh"
for name in ANTHROPIC_API_KEY ANTHROPIC_AUTH_TOKEN CLAUDE_CODE_OAUTH_TOKEN CLAUDE_CODE_USE_BEDROCK CLAUDE_CODE_USE_VERTEX \
    CLAUDE_CONFIG_DIR CODEX_HOME OPENAI_API_KEY CODEX_API_KEY GEMINI_API_KEY GOOGLE_API_KEY; do
    unset $name
done

mkdir bin
agent() { # NAME SCRIPT
    printf '#!/bin/sh\n%s\n' "$2" >"bin/$1"
    chmod +x "bin/$1"
}
# No other program that a developer's machine may have.
PATH=$tmp/bin:/usr/bin:/bin
export PATH
agent claude '[ "$1" = --version ] && echo "2.1.325 (Claude Code)"'
agent codex 'echo "WARNING: 1 odd thing" >&2; echo hello; echo "codex-cli 0.166.0"'
chmod 700 "$home"
none() { ! command -v "$1" >/dev/null; }

run sluice doctor
exits 0 'an agent that cannot work is no fault'
has "  warn  agent claude    $tmp/bin/claude, 2.1.325 (Claude Code), not logged in" 'program, version, login'
has "-> claude # log in once; or put ANTHROPIC_API_KEY=... in a file and run: sluice config set agents.claude.env_file=FILE" 'what to do'
has "codex-cli 0.166.0, not logged in" 'the version is the line that has one, and not a warning'
none gemini && ! grep -q 'agent gemini' out
report $? 'agents that are neither here nor configured are not listed'
run sluice doctor --json
has "{\"name\":\"claude\",\"program\":\"claude\",\"path\":\"$tmp/bin/claude\",\"version\":\"2.1.325 (Claude Code)\",\"login\":\"no\"" 'as JSON'

# How a login is detected: from files and variables, without a request to the provider.
mkdir -p "$HOME/.claude" "$HOME/.codex"
login() { # AGENT: what doctor prints about its login
    "$SLUICE" doctor --json | sed "s/.*{\"name\":\"$1\",\"program\"/\"program\"/" | first login
}
: >"$HOME/.claude/.credentials.json"
rule_login() { # 'what' AGENT yes|no
    rule "$1" [ "$(login "$2")" = "$3" ]
}
rule_login 'by the file of a login' claude yes
rm "$HOME/.claude/.credentials.json"
echo '{"env": {"ANTHROPIC_API_KEY": "x"}}' >"$HOME/.claude/settings.json"
rule_login 'by a key in its settings' claude yes
echo '{}' >"$HOME/.claude/settings.json"
mkdir other
: >other/.credentials.json
CLAUDE_CONFIG_DIR=$tmp/other
export CLAUDE_CONFIG_DIR
rule_login 'in the folder that it uses' claude yes
unset CLAUDE_CONFIG_DIR
printf 'export ANTHROPIC_API_KEY=sk-1\n' >key.env
config "agents: {claude: {env_file: $tmp/key.env}}"
rule_login 'by a key in env_file' claude yes
printf 'OPENAI_API_KEY=sk-1\n' >key.env
config "agents: {codex: {env_file: $tmp/key.env}}"
rule_login 'not by a key that it does not read: codex exec ignores OPENAI_API_KEY' codex no
printf 'CODEX_API_KEY=sk-1\n' >key.env
rule_login 'by the one that it reads' codex yes
config "agents: {second: {adapter: claude, command: [claude]}}"
run sluice doctor
has 'agents.second.env_file=FILE' 'the setting of that agent is named'
config 'agents: {codex: {env_command: [cat, key.env]}}'
rule_login 'by secrets of a command' codex yes
config ''
ANTHROPIC_API_KEY=sk-secret
export ANTHROPIC_API_KEY
run sluice doctor
has 'ANTHROPIC_API_KEY is set in this' 'a key of the shell that runs do not get'
rule 'its value is not shown' not grep -q sk-secret out
config 'tasks: {env: [PATH, HOME, ANTHROPIC_API_KEY]}'
rule_login 'and one that they get' claude yes
unset ANTHROPIC_API_KEY
config ''

# The MCP server.
run sluice doctor
grep -A2 'agent claude' out | tr -s '\n ' ' ' | grep -q 'MCP server not installed'
report $? 'the MCP server is not installed'
"$SLUICE" mcp install --agent claude --yes >/dev/null
run sluice doctor --json
has '"mcp":true' 'the MCP server is installed'

# Programs that hang, print without end or print garbage do no harm.
agent codex 'printf "v1 \033[31mred\033[0m\007\n"; sleep 1000 & exit 0'
run sluice doctor
[ "$code" = 0 ] && grep -q 'agent codex' out && ! grep -q "$(printf '\033')" out
report $? 'escape sequences are not passed on'
agent codex 'yes 1'
agent claude 'yes 2 >&2'
agent gemini 'echo 0.59.0; exec sleep 1000'
run sluice doctor
grep -q 'agent codex' out && grep -A1 'agent claude' out | tr -s '\n ' ' ' | grep -q 'version unknown'
report $? 'neither does a flood, nor one that hangs'
rule 'the version of one that prints it and hangs is known' grep -q 'agent gemini.*0\.59\.0' out
rm bin/gemini

# add prints the warning once, and adds the task.
config 'tasks: {sandbox: none}'
agent claude 'exit 0'
run sluice add --draft --agent claude 'Do it.'
exits 0 'add: exit code'
rule 'add warns of a missing login' grep -q "agent 'claude': it seems not to be logged in; claude # log in once" err
: >"$HOME/.claude/.credentials.json"
run sluice add --draft --agent claude 'Do it.'
grep -q "agent 'claude': without a sandbox it may edit files, but commands will be denied; sluice config set agents.claude.args" err
report $? 'add warns of commands that will be denied'
echo '{"permissions": {"allow": ["Bash"]}}' >"$HOME/.claude/settings.json"
run sluice add --draft --agent claude 'Do it.'
[ "$code" = 0 ] && [ ! -s err ]
report $? 'not if its own settings allow them'
echo '{}' >"$HOME/.claude/settings.json"
run sluice add --draft --agent claude --sandbox bubblewrap 'Do it.'
rule 'nor in a sandbox' not grep -q "agent 'claude'" err
run sluice config set agents.claude.args=--allowedTools=Bash
run sluice add --draft --agent claude --json 'Do it.'
[ "$code" = 0 ] && [ ! -s err ]
report $? 'nor if they are allowed by args'
run sluice add --draft --agent gemini 'Do it.'
rule 'add warns of a missing program' grep -q "agent 'gemini': its program 'gemini' was not found; sluice config set agents.gemini.command=PROGRAM" err
rule 'and adds the task' [ "$code" = 0 ]

# The same for every command that adds tasks or starts them: once for each agent.
missing="agent 'gemini': its program 'gemini' was not found"
warns() { # 'what'
    rule "$1" [ "$(grep -c "$missing" err)" = 1 ]
}
printf 'tasks:\n  - {agent: gemini, prompt: a, draft: true}\n  - {agent: gemini, prompt: b, draft: true}\n' >tasks.yaml
run sluice add --file tasks.yaml
warns 'add --file warns, too'
mkdir -p "$home/formulas"
printf 'steps:\n  - {id: a, agent: gemini, prompt: a, hold: true}\n  - {id: b, agent: gemini, prompt: b, needs: [a]}\n' >"$home/formulas/two.yaml"
run sluice add --formula two
warns 'add --formula'
add --draft --agent gemini 'Do it.'
run sluice sling "$id"
warns 'sling, of the agent that the task names'
run sluice run --agent gemini --timeout 1s 'Do it.'
warns 'run'
stop_daemon
config 'agents: {mine: {command: [./here.sh, --, "{prompt}"], prompt: argument}}'
start
run sluice add --draft --agent mine 'Do it.'
[ "$code" = 0 ] && [ ! -s err ]
report $? 'of a program in the folder of the task nothing is known'
stop_daemon

# Agents that use the Agent Client Protocol need their own program and sluice-acp.
config "agents:
  here: {adapter: acp, command: [$tmp/bin/claude]}
  lost: {adapter: acp, command: [$tmp/bin/none, --acp]}"
run sluice doctor
exits 0 'acp: exit code'
rule 'acp: its command is found' grep -q "  ok    agent here .*$tmp/bin/claude" out
has "'$tmp/bin/none' was not found" 'or not'
has '-> sluice config set agents.lost.command=PROGRAM # or install it' 'and what to do'
mkdir installed
cp "${SLUICE%/*}/sluice" "${SLUICE%/*}/sluiced" "${SLUICE%/*}/sluice-shim" installed
run env PATH="$tmp/bin" "$tmp/installed/sluice" doctor
has "  warn  agent here      $tmp/bin/claude, but 'sluice-acp' was not found" 'acp: our own program is missing'
has "-> # install the package of Sluice again" 'and where it belongs'
config ''

# init.
rm -f "$home/sluice.yaml"
run sluice init
has 'sluice run --agent claude ' 'init names an agent that can work'
has "agent 'codex' was found, but it seems not to be logged in" 'and what another one needs'
grep -q '^#  claude: # found here' "$home/sluice.yaml" && grep -q '^#  codex: #' "$home/sluice.yaml"
report $? 'it writes those that are there'
rule 'and no others' not grep -q '^#  gemini' "$home/sluice.yaml"
sed 's/^#\([a-z]\)/\1/; s/^#\(  \)/\1/' "$home/sluice.yaml" >all.yaml
run sluice config show --file all.yaml
exits 0 'every line is a setting'
finish
