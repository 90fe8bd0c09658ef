#!/bin/sh
# docs/guide/slinging.md: a draft, a group, a formula.
# shellcheck disable=SC1091,SC2016,SC2154 # kit.sh sets bin and log; $(VERSION) is for make
. "$(dirname "$0")/kit.sh"
document docs/guide/slinging.md
agents_can_log
cat >"$bin/notify-send" <<'NOTIFY'
#!/bin/sh
printf '%s\n' "$*" >>"$(dirname "$0")/notified"
NOTIFY
chmod +x "$bin/notify-send"
printf 'all:\n\t@echo built $(VERSION)\n' >"$HOME/work/Makefile"
# The first task of the document has number 17.
"$SLUICE" project add web --path "$HOME/src" >/dev/null 2>&1
awk 'BEGIN { print "project: web\ntasks:"; while (i++ < 16) print "  - run: \"true\"" }' >"$tmp/sixteen.yaml"
"$SLUICE" add --draft --file "$tmp/sixteen.yaml" >/dev/null
drafts_are_done() {
    rule 'what is slung runs' becomes web-17 'done'
}
after 'sluice sling web-17' drafts_are_done
play
says_that 'sluice add --draft' 'web-17 draft'
says_that 'sluice sling web-17' 'web-17 slung: ready, in group-1'
prompted 'make the login work' 'with its prompt'
says_that 'sluice formula list' 'build, test and publish'
says_that 'sluice formula show release' version
rule 'the first step' becomes t-18 'done'
rule 'the second one waits for a review' becomes t-19 held
prompted 'Publish 1.2 to stable.' 'and has the values of the variables'
"$SLUICE" logs t-18 >"$tmp/out" 2>&1
has 'built 1.2' 'so has the first one'
"$SLUICE" approve t-19 >/dev/null
are 'done' t-19
"$SLUICE" sling web-1 --group evening >/dev/null
rule 'the command for groups is run when one closes' appears 'evening: 1 done, 0 failed' "$bin/notified"
played
