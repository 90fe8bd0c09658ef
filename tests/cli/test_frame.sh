#!/bin/sh
# Rules for every command: unknown commands and options, colours.
# shellcheck disable=SC2154 # lib.sh sets here, root and tmp
. "$(dirname "$0")/lib.sh"

run sluice plna
exits 2 'unknown command: exit code'
says "sluice: unknown command 'plna'; did you mean 'plan'?
see 'sluice --help'" 'unknown command with a near one'
run sluice xyzzy
says "sluice: unknown command 'xyzzy'
see 'sluice --help'" 'unknown command, none is near'
run sluice --nonsense
exits 2 'unknown option before a command'
says "sluice: unknown option '--nonsense'
see 'sluice --help'" 'unknown option before a command: sentence'
run sluice ''
exits 2 'an empty command'

usage='usage: sluice plan [--all] [--set KEY=VALUE]... FILE|-'
run sluice plan --jsno x
exits 2 'unknown option: exit code'
says "sluice: unknown option '--jsno'; did you mean '--json'?
$usage" 'unknown option with a near one'
run sluice plan -x
says "sluice: unknown option '-x'
$usage" 'unknown letter'
run sluice plan --set
says "sluice: option '--set' needs a value: KEY=VALUE
$usage" 'an option without its value'
run sluice plan --all=yes x
says "sluice: option '--all' takes no value
$usage" 'a switch with a value'
rule 'a usage error prints nothing on stdout' [ ! -s out ]

snapshot=$here/plan/000-example.json
want=$("$SLUICE" plan --json --set limits.runs=1 "$snapshot")
for call in "--set=limits.runs=1 $snapshot --json" "-slimits.runs=1 --json $snapshot" \
    "-as limits.runs=1 $snapshot --json" "--json -s limits.runs=1 -- $snapshot"; do
    # shellcheck disable=SC2086 # words
    run sluice plan $call
    prints "$want" "the same call: plan ${call%%/*}..."
done
cp "$snapshot" ./--help
run sluice plan -- --help
exits 0 'a file named --help, behind --'

# No escape codes in a pipe; colours on a terminal only, and not with NO_COLOR or TERM=dumb.
escape=$(printf '\033')
coloured() { grep -q "$escape" out; }
run sluice plan "$snapshot"
rule 'a pipe gets no escape codes' not coloured
needs script
run env TERM=xterm script -qec "'$SLUICE' plan '$snapshot'" /dev/null
rule 'a terminal gets colours' coloured
run env TERM=xterm NO_COLOR=1 script -qec "'$SLUICE' plan '$snapshot'" /dev/null
rule 'NO_COLOR' not coloured
run env TERM=dumb script -qec "'$SLUICE' plan '$snapshot'" /dev/null
rule 'TERM=dumb' not coloured
awk 'BEGIN { printf "{\"tasks\":["; for (i = 0; i < 50; i++) printf "%s{\"id\":\"t%d\"}", i ? "," : "", i; print "]}" }' >many.json
run env TERM=dumb script -qec "'$SLUICE' plan --set limits.runs=0 many.json" /dev/null
has '... and 30 more; --all shows them' 'long lists are cut on a terminal'
run env TERM=dumb script -qec "'$SLUICE' plan --all --set limits.runs=0 many.json" /dev/null
has 't49' '--all shows everything'
finish
