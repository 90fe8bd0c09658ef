#!/bin/sh
# docs/guide/import.md: issues as tasks, importing again, and the result on the standard input of on_end.
# shellcheck disable=SC1091,SC2154 # kit.sh sets bin and root
. "$(dirname "$0")/kit.sh"
document docs/guide/import.md
ln -s "$root/contrib" "$HOME/work/contrib"
# The tracker has one issue from the time when the schedule polls.
cat >"$bin/gh" <<'END'
#!/bin/sh
cat "$HOME/tracker"
END
chmod +x "$bin/gh"
echo '[]' >"$HOME/tracker"
new_issue() {
    echo '[{"number":9,"title":"Log out","body":"","url":"https://github.com/acme/shop/issues/9","labels":[{"name":"agent"}],"state":"OPEN"}]' >"$HOME/tracker"
}
before 'sluice schedule add github' new_issue
play
rule 'the result of a canceled task was delivered' appears '"external_id":"acme/shop#8"' "$HOME/ended.jsonl"
sed 's/^{//' "$HOME/ended.jsonl" | tr ',' '\n' | sed 's/[:{].*//' >delivered
sed -n 's/^{"schema_version/"schema_version/p' "$root/docs/guide/import.md" | tr ',' '\n' | sed 's/[:{].*//' >documented
rule 'with the members that the document shows' cmp documented delivered
played
