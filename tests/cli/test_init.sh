#!/bin/sh
# sluice init: writes a commented configuration, and never overwrites a file.
# shellcheck disable=SC1091,SC2154 # lib.sh and daemon.sh set here, home, root and tmp
. "$(dirname "$0")/lib.sh"
. "$here/daemon.sh"

file=$home/sluice.yaml
umask 022
run sluice init
exits 0 'init: exit code'
rule 'only its owner can read it: secrets of agents may come into it' [ "$(stat -c %a "$file")" = 600 ]
has "wrote $file (preset sluice)" 'it says what it wrote'
has 'sluice run -- echo hello' 'and what to do next'
has '  git          /' 'it says what is installed'
rule 'it ends with the next command' [ "$(tail -n 1 out)" = '  sluice run -- echo hello' ]
rule 'and asks nothing without a terminal' not grep -qF '?' out
cp "$file" first.yaml
"$SLUICE" config show --file /dev/null | sed 's/ *default$//; s/ *preset sluice$//' >before
"$SLUICE" config show | sed 's/ *default$//; s/ *preset sluice$//; s/ *sluice.yaml:[0-9]*$//' >after
compare before after 'the file changes nothing'

run sluice init
exits 4 'a file that is there: exit code'
says "sluice: '$file' already exists; use --force to overwrite it" 'a file that is there is not touched'
compare first.yaml "$file" 'not one byte of it'
run sluice init --preset loopr --force --json
prints "{\"file\":\"$file\",\"preset\":\"loopr\"}" 'init --force --json'
rule 'the preset is in it' grep -q '^preset: loopr$' "$file"

# Without its #, every line is a valid setting, for each preset.
for preset in sluice loopr conductor gastown agency agent-queue; do
    "$SLUICE" init --force --preset "$preset" >/dev/null
    sed 's/^#\([a-z]\)/\1/; s/^#\(  \)/\1/' "$file" >all.yaml
    run sluice config show --file all.yaml
    exits 0 "preset $preset: every line is a setting"
    grep -q '^#pace:' "$file" && grep -q '^#breaker:' "$file" && grep -q '^#  roots: ' "$file"
    report $? "preset $preset: pace, breaker and roots are among them"
done
has 'agents.mine.limiter' 'an agent is among them'

# Users type the hints as they are printed: none of them may loop forever, or a hundred times.
printf 'test:\n\t@echo tested\n' >Makefile
hint() { # WORD...: the command of the hint that begins with these words
    sed -n "s/^  \(sluice $1\)   *[a-z].*/\1/p" hints
}
for preset in sluice loopr conductor gastown agency agent-queue; do
    "$SLUICE" init --force --preset "$preset" >hints
    run sh -c "PATH=$(dirname "$SLUICE"):\$PATH && $(hint 'run.*')"
    [ "$code" = 0 ] && [ "$(cat out)" = hello ]
    report $? "preset $preset: $(hint 'run.*'): once, and it ends"
    run sh -c "PATH=$(dirname "$SLUICE"):\$PATH && $(hint 'add.*')"
    id=$(cut -d ' ' -f 1 out)
    run sluice wait "$id"
    [ "$code" = 0 ] && [ "$(value "$id" attempt)" = 1 ]
    report $? "preset $preset: $(hint 'add.*'): once, and it ends"
    stop_daemon
done

run sluice init --preset lopr
exits 2 'no such preset: exit code'
says "sluice: unknown preset 'lopr'; expected one of sluice, loopr, conductor, gastown, agency, agent-queue
usage: sluice init [--preset NAME] [--yes] [--force] [--service]" 'no such preset'
run env SLUICE_HOME=/dev/null/home "$SLUICE" init
exits 1 'a folder that cannot be: exit code'
rule 'a folder that cannot be: one sentence' [ "$(wc -l <err)" = 1 ]
# On a terminal of 80x24 it asks at most four questions.
. "$here/terminal.sh"
mkdir bin run run/systemd
printf '#!/bin/sh\necho 2.1.0\n' >bin/claude
chmod +x bin/claude
mkdir "$HOME/.claude"
echo '{}' >"$HOME/.claude/.credentials.json"
: >run/systemd/private
for program in git env sh; do
    ln -s "$(command -v "$program")" "bin/$program"
done
export XDG_RUNTIME_DIR="$tmp/run"
mux new-session -d -x 80 -y 24 "env PATH=$tmp/bin SLUICE_HOME=$home $SLUICE init --force; sh"
shows 'How many tasks may run at the same time?' 'the first question'
rule 'an agent was found, and its login' grep -q '^  claude .*logged in' out
rule 'a missing program comes with the command that installs it' grep -q 'apt install bubblewrap' out
keys many Enter
shows "expected a whole number" 'a bad answer is refused'
keys 3 Enter
shows 'dollars may agents spend per day? [unlimited]' 'the second question'
keys 7.50 Enter
shows 'Run agents without a sandbox? [Y/n]' 'the third question'
keys n Enter
shows 'Start the daemon at boot' 'the fourth question'
keys n Enter
shows 'next, type:' 'and no fifth one'
screen
rule 'the next command is the last line' [ "$(grep -A 1 '^next, type:' out | tail -n 1)" = '  sluice run -- echo hello' ]
rule 'it fits the screen' grep -qF "wrote $home/sluice.yaml" out
for value in limits.runs=3 budget_usd=7.5 tasks.sandbox=bubblewrap; do
    run sluice config get "${value%=*}"
    prints "${value#*=}" "the answer is a setting: $value"
done
mux new-window "env PATH=$tmp/bin $SLUICE init --force --yes; sh"
shows 'next, type:' '--yes asks nothing'
run sluice config get limits.runs
rule '--yes: the default' [ "$(cat out)" != 3 ]

run sluice init now
exits 2 'an argument too many'
finish
