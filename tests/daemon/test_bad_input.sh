#!/bin/sh
# Bad input to every command: one message on stderr, exit code 2, nothing stored. The cases are generated from
# `sluice help --json`, so new commands and options are tested without a change here.
# shellcheck disable=SC1091,SC2034,SC2154 # kit.sh sets home, root and tmp
. "$(dirname "$0")/kit.sh"
config 'limits: {runs: 0}
projects: {web: }'
start
add -- true
printf '{}' >file

# One line per call: command, option or -, its argument or -, the remaining arguments.
"$SLUICE" help --json | awk '
    /"usage":/ {
        usage = $0
        sub(/^.*"usage": "/, "", usage)
        sub(/",?$/, "", usage)
        count = split(usage, words, " ")
        command = ""
        for (i = 1; i <= count && words[i] ~ /^[a-z][a-z-]*$/; i++)
            command = command (i > 1 ? "+" : "") words[i]
        group = usage ~ / \.\.\.$/ && usage !~ /\[/
        gsub(/\[[^]]*\]/, "", usage)
        rest = usage ~ /COMMAND\.\.\.\|--agent/ ? "--+true" : usage ~ /KEY=VALUE/ ? "limits.runs=1" : \
            usage ~ /FILE/ ? "file" : usage ~ / ID/ ? "1" : usage ~ / (NAME|PROJECT|GROUP|KEY)/ ? "fresh" : ""
        print command, "-", "-", group ? "group" : rest == "" ? "-" : rest
    }
    /"name":/ { name = $0; sub(/^.*"name": "/, "", name); sub(/",?$/, "", name) }
    /"argument":/ {
        argument = $0
        sub(/^.*"argument": "?/, "", argument)
        sub(/"?,$/, "", argument)
        gsub(/ /, "+", argument)
        if (name != "help")
            print command, name, argument, rest == "" ? "-" : rest
    }' >calls
rule 'every command is tried' [ "$(awk '$2 == "-"' calls | wc -l)" -ge \
    "$("$SLUICE" help --all | grep -c '^  [a-z]')" ]

state() {
    echo "$(last_event) $(cksum <"$home/sluice.yaml") $("$SLUICE" list --all --ids | wc -l)"
}
before=$(state)

# One message on stderr, and optionally the usage. Checked without other programs, because there are hundreds of calls.
is_one_sentence() {
    sentences=0
    while IFS= read -r line; do
        case $line in
        'sluice: '*) sentences=$((sentences + 1)) ;;
        'usage: sluice '*) ;;
        *) return 1 ;;
        esac
    done <err
    [ $sentences = 1 ]
}

# try WORDS...: asserts exit code 2, one message, optionally the usage, and no output.
try() {
    run sluice "$@" </dev/null
    [ "$code" = 2 ] && [ ! -s out ] && is_one_sentence
}

while read -r command option argument rest; do
    IFS=+
    # shellcheck disable=SC2086 # several words
    set -- $command
    unset IFS
    words=$*
    behind=${rest#-}
    [ "$rest" != '--+true' ] || behind='-- true'
    # shellcheck disable=SC2086 # several words
    case $option:$argument in
    -:*)
        rule "$words --no-such-option" try $words --no-such-option
        if [ "$rest" = group ]; then
            rule "$words without a subcommand" try $words
            rule "$words no-such-thing" try $words no-such-thing
        elif [ "$rest" != - ] && [ "$rest" != '--+true' ]; then
            rule "$words without what it needs" try $words
        fi
        ;;
    *:null)
        rule "$words --$option=x takes no value" try $words "--$option=x" $behind
        ;;
    *:N | *:MB | *:SIZE | *:SECS | *:SPAN | *:WHEN | *:USD | *:H)
        rule "$words --$option without a value" try $words "--$option"
        rule "$words --$option=x is no $argument" try $words "--$option=x" $behind
        ;;
    *)
        rule "$words --$option without a value" try $words "--$option"
        ;;
    esac
done <calls
rule 'nothing was stored by any of them' [ "$(state)" = "$before" ]

# --- ids, names and values that only the daemon can check --------------------------------------------------

for command in again approve cancel clear close delete demote hold logs promote reject release retry show why; do
    for id in '' ' ' '../x' 'a b' "$(printf 'a\nb')" 99999999999999999999 t-0 web-1; do
        run sluice $command "$id" </dev/null
        case $code in 1 | 2) ;; *) false ;; esac && [ ! -s out ] && is_one_sentence
        report $? "$command '$(printf %s "$id" | tr '\n' '?')'"
    done
done
for call in '--priority 9999999' '--retries -2' '--until later' '--stop-signal KILL' '--nice 20' '--memory 0' \
    '--kind nothing' '--agent nobody' '--project nowhere' '--limiter nothing' '--resource nothing' '--after nothing' \
    '--after t-77' '--parent t-77' '--parent-gate later' '--timeout -1s' '--until validate' '--external-id='; do
    # shellcheck disable=SC2086 # several words
    run sluice add $call -- true
    exits 2 "add $call: exit code"
    rule "add $call: one sentence" is_one_sentence
done
for call in 'limits.rnus=3' 'limits.runs=' 'limits.runs=-1' 'limits=3' 'order=first' 'lost=maybe' '=3' 'limits.runs' 'preset=x'; do
    run sluice config set "$call"
    exits 2 "config set $call: exit code"
    rule "config set $call: one sentence" is_one_sentence
done
run sluice project add web
exits 1 'a project that is there'
run sluice project add "$(printf 'a\033b')"
exits 2 'a project with a bad name'
run sluice project add ''
exits 2 'a project without a name'
run sluice project set web weight=-1
exits 2 'a weight that is none'
run sluice nonsense
exits 2 'a command that is not there'
rule 'a command that is not there: says so' grep -qx "sluice: unknown command 'nonsense'" err
rule 'nothing was stored by those either' [ "$(state)" = "$before" ]
finish
