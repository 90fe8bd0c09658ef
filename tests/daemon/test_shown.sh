#!/bin/sh
# Every text that is shown does nothing to a terminal or a page: controls (C0, DEL, C1) and characters that turn the order of
# letters around are refused where people write names, and harmless where agents write.
# shellcheck disable=SC1091,SC2016,SC2154 # kit.sh sets id, tmp; the shell of the run expands the rest
. "$(dirname "$0")/kit.sh"

config 'projects: {web: }'
start

# The UTF-8 bytes of C1 CSI and OSC, override, isolate, mark, line separator, DEL.
bad='\302\233 \302\235 \342\200\256 \342\201\246 \342\200\217 \330\234 \342\200\250 \177'
steers() { # FILE: true if it contains any of them
    LC_ALL=C grep -qaE "$(printf '\302[\200-\237]|\342\200[\216\217\250-\256]|\342\201[\246-\251]|\330\234|[\001-\010\013-\037\177]')" "$1"
}
printf "$bad" >sample
rule 'control: the pattern finds them' steers sample

# NAME OCTAL: a title and a name with this character.
refused() {
    text=$(printf "a${2}b")
    run sluice add --title "$text" -- true
    exits 2 "a title with $1 is refused: exit code"
    complains "option '--title': expected one line of at most 500 bytes without control characters" "a title with $1 is refused"
    run sluice add --project web --serial "$text" -- true
    exits 2 "so is a name with $1"
}
refused CSI '\302\233'
refused OSC '\302\235'
refused 'an override' '\342\200\256'
refused 'an isolate' '\342\201\246'
refused 'a mark of direction' '\342\200\217'
refused 'an Arabic mark' '\330\234'
refused 'a separator of lines' '\342\200\250'
refused DEL '\177'
run sluice project add "$(printf 'w\342\200\256b')"
exits 2 'a project with an override is refused'
run sluice group open "$(printf 'w\302\233b')"
exits 2 'a group with a C1 control is refused'
run sluice add --title 'שלום עולם — naïve 日本' -- true
exits 0 'letters of any writing are fine'

# A title that was made from a prompt or a command.
all=$(printf "x $bad y")
add -- sh -c ': "$1"' - "$all"
ends "$id"
run sluice list --json
rule 'as JSON nothing steers the terminal' not steers out
value "$id" title >title
rule 'its title is clean' not steers title

# What an agent prints as its last message, and what a run posts.
printf 'echo "%s" >&2; printf "%%s\\n" "%s"; sluice bus post --type FACT "%s"; exit 3\n' "$all" "$all" "$all" >loud.sh
PATH=$(dirname "$SLUICE"):$PATH
export PATH
add --project web --retries 0 -- sh "$tmp/loud.sh"
ends "$id"
becomes "$id" failed
rule 'control: the run has printed them' steers "$home/runs/$id/1/out.log"
for command in "show $id" "show --json $id" "why $id" "logs $id" "bus read --task $id" "bus read --task $id --json" 'events --limit 100' \
    'events --json --limit 100' status 'list' digest 'digest --html' 'graph'; do
    # shellcheck disable=SC2086 # words
    run sluice $command
    rule "sluice $command" not steers out
done

# A command, a question and an answer.
printf '%s ask "%s" >"$1/told"\n' "$SLUICE" "$all" >asks.sh
add --project web --retries 0 -- sh "$tmp/asks.sh" "$tmp" "$all"
rule 'a question with them is asked' soon sh -c '"$SLUICE" questions --json | grep -q "\"state\":\"open\""'
ends_as_held() { [ "$(value "$id" hold)" = question ]; }
soon ends_as_held
for command in questions 'questions --json' "show $id" "show --json $id" "why $id" "why --json $id" 'list' 'list --json' 'list --all' status \
    'status --json' 'events --limit 100' 'events --json --limit 100' digest 'digest --html' "wait --timeout 0 $id" "wait --json --timeout 0 $id"; do
    # shellcheck disable=SC2086 # words
    run sluice $command
    rule "of a question: sluice ${command% "$id"}" not steers out
done
run sluice answer "$id" "$all"
exits 0 'an answer with them is taken'
rule 'and printed without them' not steers out
run sluice answer "$id" again
rule 'a second one is refused without them' not steers err
ends "$id"
for command in "show $id" "show --json $id" 'events --json --limit 100' 'events --limit 100'; do
    # shellcheck disable=SC2086 # words
    run sluice $command
    rule "of an answer: sluice ${command% "$id"}" not steers out
done
rule 'the log of the daemon is there' [ -s "$home/sluice.log" ]
rule 'and steers nothing' not steers "$home/sluice.log"
finish
