#!/bin/sh
# The real agents in a sandbox: a worktree of a repository, a limit and the same conversation after it, tools of the MCP
# server; and what they cannot reach.
# shellcheck disable=SC1091,SC2016,SC2154 # kit.sh sets id, home, work, accounts; the tool expands the rest
. "$(dirname "$0")/kit.sh"
PATH=$(dirname "$SLUICE"):$PATH
export PATH
service ok
git init -q -b main "$HOME/src/web"
git config --global user.name tester
git config --global user.email tester@localhost
git -C "$HOME/src/web" commit -q --allow-empty -m first
mkdir -p "$HOME/.ssh"
echo secret-key >"$HOME/.ssh/id"
config "$accounts
projects: {web: {path: '$HOME/src/web', workspace_mode: worktree, merge: direct}}"
start
run sluice status --json
has '"sandbox":{"auto":"bubblewrap"' 'bubblewrap works here'
sed -i 's/^{"env"/{"permissions": {"allow": ["Bash", "mcp__sluice"]}, "env"/' "$HOME/.claude/settings.json" # also without a sandbox
for agent in claude codex; do
    run sluice mcp install --agent $agent --yes
    exits 0 "$agent: the MCP server is in its settings"
done
cp "$HOME/.claude/settings.json" settings.json
cp "$HOME/.codex/config.toml" config.toml

# What the agent is asked to do besides, and whether it did.
mischief='tool cat ~/.ssh/id; echo x >>~/.claude/settings.json; echo x >>~/.codex/config.toml; echo x >$(git rev-parse --git-common-dir)/hooks/post-merge; echo x >/tmp/'"from-$wait_for"'; true'
read_key() { grep -rqs secret-key "$home/runs/$id" "$HOME/.claude/projects" "$HOME/.codex/sessions"; }
is_changed() { ! cmp -s settings.json "$HOME/.claude/settings.json" && ! cmp -s config.toml "$HOME/.codex/config.toml"; }
is_same() { cmp -s settings.json "$HOME/.claude/settings.json" && cmp -s config.toml "$HOME/.codex/config.toml"; }
# What its check says: the sandbox it is in, what it sees of the key, and the last commit.
check='echo "$SLUICE_SANDBOX $(cat ~/.ssh/id 2>/dev/null)"; git log -1 --format=%s'
checked() { sed -n 1p "$home/runs/$id"/*/check.log; }
hook=$HOME/src/web/.git/hooks/post-merge
trace=/tmp/from-$wait_for

# Without a sandbox it does all of it.
scenes "$mischief" 'ok The end.'
add --project web --agent claude --sandbox none --retries 0 --cwd - --check "$check" 'Do what you are told.'
becomes "$id" 'done'
rule 'without a sandbox its check sees the key' [ "$(checked)" = ' secret-key' ]
rule 'without a sandbox it reads the key' read_key
rule 'changes its settings' is_changed
rule 'adds a hook' [ -e "$hook" ]
rule 'and writes to /tmp' [ -e "$trace" ]
cp settings.json "$HOME/.claude/settings.json"
cp config.toml "$HOME/.codex/config.toml"
rm -rf "$hook" "$trace" "$HOME/.claude/projects"

in_main() { git -C "$HOME/src/web" show "main:$1" 2>/dev/null; }
for agent in claude codex; do
    : >"$stub/requests"
    scenes "tool echo $agent >$agent && git add $agent && git commit -qm $agent && git status --short" 'limit 3' \
        "mcp post_message {\"text\":\"hello from $agent\"}" \
        "$mischief" \
        'ok The end.'
    add --project web --agent $agent --retries 0 --cwd - --check "$check" 'Add a file, commit it, and say so.'
    rule "$agent: done, with a limit in the middle" becomes "$id" 'done'
    rule "$agent: each run was in a sandbox" boxed "$id"
    rule "$agent: in one conversation" [ "$(asked "max(one.get('turns', 0) for one in r) >= 3")" = True ]
    rule "$agent: resumed" [ "$(of "$id" "t['runs'][-1]['resumed']")" = True ]
    rule "$agent: its commit is in main" [ "$(in_main $agent)" = $agent ]
    rule "$agent: its check was in the sandbox" [ "$(checked)" = 'bubblewrap ' ]
    run sluice bus read --project web --task "$id"
    has "hello from $agent" "$agent: its message came through the MCP server"
    rule "$agent: it did not read the key" not read_key
    rule "$agent: its settings are as they were" is_same
    rule "$agent: no hook was added" [ ! -e "$hook" ]
    rule "$agent: /tmp was its own" [ ! -e "$trace" ]
done
finish
