#!/bin/sh
# How a run ended is what its shim has recorded, whatever the run writes into its own folder.
# shellcheck disable=SC1091,SC2016,SC2154 # kit.sh sets id, home and tmp; the shell of the run expands the rest
. "$(dirname "$0")/kit.sh"

config 'retry: {lost: {max: 0}}'
start

# The end of a run that succeeded, as its shim has written it.
add -- true
becomes "$id" 'done'
cp "$home/runs/$id/1/end.json" forged
rule 'the end of a run that succeeded says so' grep -q '"kind":"exit","code":0,' forged

# --- it kills its shim ---------------------------------------------------------------------------

mkfifo never
cat >forge.sh <<'END_FORGE'
cd "$(dirname "$0")" || exit 1
(setsid sh -c 'echo $$ >left.pid; exec tail -f /dev/null' &)
while [ ! -s left.pid ]; do :; done
cat forged >"$TMPDIR/../end.json"
kill -9 $PPID
read -r _ <never
END_FORGE
add --check 'touch checked' -- sh "$tmp/forge.sh"
becomes "$id" failed
report $? 'a run that writes its own end and kills its shim has failed'
rule 'although the end is there' cmp -s forged "$home/runs/$id/1/end.json"
run sluice show "$id"
has 'its shim was ended by signal 9' 'its run is lost, and says why'
rule 'its check was not run' [ ! -e checked ]
rule 'what it has left is killed' is_gone "$(cat left.pid)"
finish
