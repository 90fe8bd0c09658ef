#!/bin/sh
# The settings, hooks, MCP servers, commands and skills of the real agents, in a home directory as people have it: a run in a
# sandbox changes none of them, however it tries, and adds none. The agents work with them all the same.
# shellcheck disable=SC1091,SC2016,SC2086,SC2154 # kit.sh sets id, home, work, accounts; the tool expands the rest; lists are split
. "$(dirname "$0")/kit.sh"
PATH=$(dirname "$SLUICE"):$PATH
export PATH
service ok
config "$accounts"
start
sed -i 's/^{"env"/{"permissions": {"allow": ["Bash", "mcp__sluice"]}, "env"/' "$HOME/.claude/settings.json" # also without a sandbox
for agent in claude codex; do
    run sluice mcp install --agent $agent --yes
    exits 0 "$agent: the MCP server is in its settings"
done

# What people have, and what a run could add to make the owner's next agent do something. A space is in none of them.
files=".claude.json .claude/settings.json .claude/CLAUDE.md .claude/hooks/hook.sh .claude/commands/c.md .claude/agents/a.md \
.claude/skills/s/SKILL.md .claude/plugins/p.json .claude/rules/r.md .codex/config.toml .codex/AGENTS.md .codex/hooks.json \
.codex/prompts/p.md .codex/rules/r.rules .codex/skills/s/SKILL.md .config/gh/hosts.yml .gemini/settings.json .bashrc .npmrc"
new=".claude/settings.local.json .claude/output-styles/new.md .claude/keybindings.json .codex/AGENTS.override.md .codex/new.toml .mcp.json \
.config/opencode/opencode.json .copilot/mcp-config.json .profile"
for file in $files; do
    mkdir -p "$HOME/$(dirname "$file")"
    [ -e "$HOME/$file" ] || case $file in
    *.json) echo '{}' ;;
    *.md) printf -- '---\nname: s\ndescription: mine\n---\nmine\n' ;;
    *) echo '# mine' ;;
    esac >"$HOME/$file"
done

# Appends to each, replaces it, changes its mode, moves its folder away; creates what is not there.
cat >"$work/mischief" <<END
cd
for file in $files $new; do
    mkdir -p "\$(dirname "\$file")"
    echo '# evil' >>"\$file"
    echo '# evil' >"\$file.evil" && mv -f "\$file.evil" "\$file"
    ln -sf "\$file" "\$file.link"
    chmod 777 "\$file"
done
for folder in .claude/hooks .claude/commands .codex/prompts .claude .codex; do
    mv \$folder \$folder.evil && mkdir \$folder
done
: >"$work/tried"
END
scene='tool sh ./mischief 2>/dev/null; true'

# All files and links of the home directory with content and mode, but for those in which agents keep sessions and logs.
picture() {
    (cd "$HOME" && find . \( -path './.claude*/projects' -o -path './.codex*/sessions' -o -path ./.claude/todos -o -path ./.cache \) -prune -o \
        \( -type f -o -type l \) -printf '%p %m %l ' \( -type l -printf '\n' -o -exec sha256sum {} \; \) | sort)
}

# Without a sandbox all of it succeeds.
cp -a "$HOME" saved
scenes "$scene" 'ok The end.'
add --agent claude --sandbox none --retries 0 --cwd "$work" 'Do what you are told.'
ends "$id"
rule 'without a sandbox it changes all of them' [ "$(grep -rlxF '# evil' "$HOME" | wc -l)" = "$(echo $files $new | wc -w)" ]
rule 'and moves the folders away' [ -d "$HOME/.claude.evil" ]
rm -f "$work/tried"
find "$HOME" -mindepth 1 -delete
cp -a saved/. "$HOME"

for agent in claude codex; do
    picture >before
    scenes "$scene" "mcp post_message {\"text\":\"hello from $agent\"}" 'ok The end.'
    add --agent $agent --retries 0 --cwd "$work" 'Do what you are told.'
    rule "$agent: it works with these settings" becomes "$id" 'done'
    rule "$agent: in a sandbox" boxed "$id"
    rule "$agent: it has tried" [ -e "$work/tried" ]
    rm -f "$work/tried"
    run sluice bus read --task "$id"
    has "hello from $agent" "$agent: with the MCP server of its settings"
    picture >after
    diff before after >changed
    report $? "$agent: no file of the home directory has changed, and none was added"
    sed 's/^/# /' changed
done
finish
