#!/bin/sh
# sluice mcp: arguments, and registration with agents. tests/mcp tests the protocol.
# shellcheck disable=SC2154 # lib.sh sets tmp
. "$(dirname "$0")/lib.sh"

HOME=$tmp/home
export HOME
unset SLUICE_HOME XDG_CONFIG_HOME CODEX_HOME CLAUDE_CONFIG_DIR
mkdir -p "$HOME"
usage='usage: sluice mcp [install --agent NAME [--project] [--yes]]'

run sluice mcp </dev/null
exits 0 'no input: exit code'
rule 'no input, no output' [ ! -s out ]
run sluice mcp serve
exits 2 'another argument'
run sluice mcp --yes
exits 2 'an option of install alone'
run sluice mcp install
exits 2 'no agent: exit code'
says "sluice: 'install' needs --agent: claude, codex, gemini, opencode
$usage" 'no agent'
run sluice mcp install --agent emacs
exits 2 'an unknown agent: exit code'

# The change is shown first, and written once, with --yes.
run sluice mcp install --agent codex
exits 0 'shown: exit code'
has '+ [mcp_servers.sluice]' 'shows the change'
has 'nothing is written yet; --yes does it' 'and says that it was not made'
rule 'nothing was written' [ ! -e "$HOME/.codex" ]
run sluice mcp install --agent codex --yes
exits 0 'written: exit code'
rule 'the table is there' grep -q "^command = \"$SLUICE\"$" "$HOME/.codex/config.toml"
run sluice mcp install --agent codex --yes
prints "$HOME/.codex/config.toml has it already" 'a second time'
rule 'changes nothing' [ "$(grep -c mcp_servers.sluice "$HOME/.codex/config.toml")" -eq 1 ]

# Existing entries are kept.
mkdir -p "$HOME/.gemini"
printf '{\n  "theme": "dark",\n  "mcpServers": {"other": {"command": "x"}}\n}\n' >"$HOME/.gemini/settings.json"
chmod 600 "$HOME/.gemini/settings.json"
run sluice mcp install --agent gemini --yes
exits 0 'gemini: exit code'
cat >want <<END
{
  "theme": "dark",
  "mcpServers": {"other": {"command": "x"}, "sluice": {"command": "$SLUICE", "args": ["mcp"]}}
}
END
compare want "$HOME/.gemini/settings.json" 'the others stay, as they were written'
rule 'and so do the rights of the file' [ "$(stat -c %a "$HOME/.gemini/settings.json")" = 600 ]
SLUICE_HOME=$tmp/elsewhere
export SLUICE_HOME
run sluice mcp install --agent gemini
has '- {"command"' 'an entry that was there is shown as it was'
has '"SLUICE_HOME": "'"$tmp/elsewhere"'"' 'another home goes with it'
unset SLUICE_HOME

run sluice mcp install --agent claude --project --yes
exits 0 'claude, of a project: exit code'
rule 'its file is here' grep -q '"type": "stdio"' .mcp.json
run sluice mcp install --agent opencode --yes --json
has '"written":true' 'as JSON'
rule 'opencode' grep -q '"type": "local"' "$HOME/.config/opencode/opencode.json"
run sluice mcp install --agent codex --project
exits 2 'codex has no file for a project'

printf '{\r\n\t// my comment\r\n\t"theme": "x", // another\r\n}' >opencode.jsonc
run sluice mcp install --agent opencode --project --yes
exits 0 'a file with comments: exit code'
printf '{\r\n\t// my comment\r\n\t"theme": "x", // another\r\n\t"mcp": {\r\n\t\t"sluice": {\r\n\t\t\t"type": "local",\r\n\t\t\t"command": [\r\n\t\t\t\t"%s",\r\n\t\t\t\t"mcp"\r\n\t\t\t],\r\n\t\t\t"enabled": true\r\n\t\t}\r\n\t}\r\n}' "$SLUICE" >want
compare want opencode.jsonc 'only the entry is added'
rule 'to the file that is there' [ ! -e opencode.json ]
rm opencode.jsonc

# A file that cannot be parsed is not changed.
printf '{\n  "mcp": [}\n' >opencode.json
cp opencode.json before
run sluice mcp install --agent opencode --project --yes
exits 1 'a file that is not JSON: exit code'
rule 'says what to add by hand' grep -q 'add this manually' err
compare before opencode.json 'and changes nothing'
for table in '[mcp_servers.sluice]' '[ mcp_servers . "sluice" ]' "[mcp_servers.'sluice']"; do
    printf '%s\ncommand = "mine"\n' "$table" >"$HOME/.codex/config.toml"
    run sluice mcp install --agent codex --yes
    exits 1 "an entry of the same name, $table: exit code"
done
printf '[mcp_servers.sluice_two]\ncommand = "mine"\n' >"$HOME/.codex/config.toml"
run sluice mcp install --agent codex --yes
exits 0 'one of another name that begins so: exit code'
finish
