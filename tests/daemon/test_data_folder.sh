#!/bin/sh
# `data.folder`: the files that all daemons of a store share are there, and files of other users in it are not touched.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"
mkdir shared
config "data: {folder: $tmp/shared/data}
retry: {failed: {max: 0}}"
start

# --- in use ------------------------------------------------------------------------------------------

mkfifo go
add -- sh -c 'echo "$TMPDIR"; read -r _ <go; exit 3'
appears runs/ "shared/data/runs/$id/1/out.log"
rule 'its log and its folder for temporary files are there' [ "$(cat "shared/data/runs/$id/1/out.log")" = "$tmp/shared/data/runs/$id/1/tmp" ]
rule 'the folder is ours alone' [ "$(stat -c %a shared/data)" = 700 ]
rule 'nothing is in the home' [ "$(ls "$home/runs")" = '' ]
run sluice logs "$id"
prints "$tmp/shared/data/runs/$id/1/tmp" 'sluice logs finds it'
run sluice status --json
has "\"runs_folder\":\"$tmp/shared/data/runs\"" 'status tells where it is'
kill -9 "$(pid_of_daemon)"
unblock go
run sluice up
becomes "$id" failed
run sluice show "$id"
has 'exit code 3' 'the next daemon reads the end there'
mkdir -p shared/data/runs/web-77/1
run sluice down --wait
run sluice up
rule 'what no row knows is swept out' [ ! -e shared/data/runs/web-77 ]
run sluice down

config 'data: {folder: here}'
start
add -- true
ends "$id"
rule 'a relative one is below the home' [ -n "$(recorded_end "$id" 1 "$home/here")" ]
run sluice down

# --- not mounted -------------------------------------------------------------------------------------

config "data: {folder: $tmp/shared/data}
retry: {lost: {delay_s: 0}}"
start
add -- tail -f /dev/null
becomes "$id" running
kill -9 "$(pid_of_daemon)"
mv shared/data shared/disk
run sluice up
exits 1 'a folder that is empty where runs must be is not the one they are in'
complains "the run '$id/1' has not ended, and '$tmp/shared/data' of 'data.folder' is new; is its file system mounted?" 'and that is said'
run sluice up
exits 1 'nor the second time'
mv shared/data shared/empty && mv shared/disk shared/data
run sluice up
rule 'when it is there again the run is found' [ "$(value "$id" state) $(value "$id" attempt)" = 'running 1' ]
kill -9 "$(pid_of_daemon)" "$(tr '\0\n' '  ' <"shared/data/runs/$id/1/lock" | sed -n 's/.*shim \([0-9]*\) .*/\1/p')"
mv shared/data shared/disk && mv shared/empty shared/data
run sluice up
eval "$(sed -n "s/.*run: \(echo [0-9a-f]* >'[^']*'\)).*/\1/p" err)"
run sluice up
exits 0 'a person may say that all of it is gone'
becomes "$id" running
rule 'then it is lost, and begins anew' [ "$(value "$id" attempt)" = 2 ]
run sluice cancel --now "$id"
run sluice down --wait
rm -r shared/data && mv shared/disk shared/data

# --- refused -----------------------------------------------------------------------------------------

refuses() {
    config "data: {folder: '$1'}"
    run sluice up
    exits 1 "$3"
    complains "$2" "$3: it says why"
}

SLUICE_HOME=$tmp/home2
mkdir home2
printf 'data: {folder: %s}\n' "$tmp/shared/data" >home2/sluice.yaml
run sluice up
exits 1 'two stores never share one'
complains 'belongs to another store; name an empty folder' 'two stores: it says why'
: >shared/data/.sluice-data
run sluice up
exits 0 'a person may say otherwise'
run sluice down
SLUICE_HOME=$home
refuses "$tmp/shared/data" 'belongs to another store' 'then it is not that of the first one any more'
mkdir -p own/web-1/1 shared/open "$home/tasks"
chmod 700 own
echo mine >own/web-1/1/notes
refuses "$tmp/own" "holds something else; name an empty folder" 'a folder with something else in it'
rule 'and nothing of it is touched' [ "$(cat own/web-1/1/notes)" = mine ]
refuses "$tmp" "holds the home" 'what is above the home'
refuses . "holds the home" 'the home itself'
refuses "$tmp/missing/data" 'is its file system mounted?' 'a folder whose parent is missing'
chmod 755 shared/open
refuses "$tmp/shared/open" "run: chmod 700 '$tmp/shared/open'" 'a folder that others may look into'
refuses /proc/self 'of '\''data.folder'\''' 'a folder that takes no files'
touch file
refuses "$tmp/file" 'file' 'a file'
config ''
run sluice up
exits 0 'without it the daemon starts again'
run sluice down --wait

# --- two daemons on one machine, each with its own folder ---------------------------------------------

mkdir -m 700 one two
in_home() { # NAME COMMAND...
    SLUICE_HOME=$tmp/$1
    shift
    "$@"
    SLUICE_HOME=$home
}
trap 'in_home one stop_daemon; in_home two stop_daemon; stop_daemon; rm -rf "$tmp"' EXIT
for each in one two; do
    echo "store: {url: $tmp/both.db}" >"$each/sluice.yaml"
done
in_home one run sluice up
in_home one add -- sh -c 'echo begun >>begun; exec tail -f /dev/null'
appears begun begun
in_home one run kill -9 "$(in_home one pid_of_daemon)"
in_home two run sluice up
exits 1 'a daemon that does not look where the runs of its host are does not start'
complains "the run '$id/1' has not ended, and is in '$tmp/one/runs', not in '$tmp/two/runs'" 'and says where they are'
cp -R one/runs two/
in_home two run sluice up
exits 1 'nor with a copy of what lives elsewhere'
rm -r two/runs
in_home one run sluice up
rule 'nothing was done beside it' [ "$(cat begun)" = begun ]
rule 'and its own daemon goes on with it' [ "$(in_home one value "$id" state)" = running ]
in_home one run sluice down
mv one/runs two/
in_home two run sluice up
exits 0 'what was moved is found'
rule 'and is the same run' [ "$(in_home two value "$id" state) $(in_home two value "$id" attempt)" = 'running 1' ]
in_home two run sluice cancel --now "$id"
in_home two run sluice down --wait
finish
