#!/bin/sh
# scripts/demo prints what it promises and leaves nothing behind; examples/night.yaml matches the README.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home, root and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"

# The tasks of the demo sleep so that users can watch; here they do not.
mkdir place bin
cat >bin/sleep <<END
#!/bin/sh
exec $(command -v sleep) 0.\$1
END
chmod +x bin/sleep
run env "PATH=$tmp/bin:$PATH" TMPDIR="$tmp/place" "$root/scripts/demo" "$(dirname "$SLUICE")"
exits 0 'the demo goes through'
rule 'nothing goes to stderr' [ ! -s err ]
has '$ kill -9 ' 'it kills the daemon'
has 'step 4 of 4' 'a run goes on without it'
rule 'nothing is lost' [ "$(grep -c 'daemon.started.* lost=0 ' out)" -ge 2 ]
rule 'everything that can end is done' [ "$(grep -cE '^  (web|api)-[0-9] +done ' out)" = 7 ]
rule 'what cannot is failed, and named as the reason' grep -q "waits for 'api-7', which is failed; retry it" out
rule 'no escapes in a pipe' sh -c '! grep -q "$(printf "\033")" out'
rule 'it leaves no files' [ -z "$(ls place)" ]
run "$root/scripts/demo"
exits 2 'without a build folder: usage'
run "$root/scripts/demo" "$tmp/place"
exits 1 'with one that has no programs: says so'

# The commands of the README.
start
run sluice project add web --path "$tmp" --weight 3
exits 0 'README: a project'
run sluice project add api --path "$tmp"
run sluice add -f "$root/examples/night.yaml"
exits 0 'README: the example'
rule 'README: nine tasks' [ "$(wc -l <out)" = 9 ]
finish
