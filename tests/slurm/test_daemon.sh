#!/bin/sh
# Tasks of a daemon that run on Slurm: what people see of them, what a run on a node can do, and what stays Sluice's: order,
# limits, dependencies, loops. What fails in the cluster is seen from outside. The cluster is that of make test-slurm.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/../daemon/kit.sh"
: "${SLUICE_TEST_SLURM:?is not set: run it by make test-slurm}"
: "${SLURM_CLUSTER:?is not set: run it by make test-slurm}"
"$SLURM_CLUSTER" mend "$SLUICE_TEST_SLURM" || exit 1

unset SLUICE_TEST_EXECUTOR # each task names its executor here
config 'limits: {runs: 8, resource: {"slurm:small": 1}}
projects: {night: {executor: slurm, max_running: 2}}
slurm: {poll_s: 0.3, poll_idle_s: 2}
retry: {failed: {max: 0}, lost: {max: 9, delay_s: 0.1}}'
start
mkfifo go

job_of() { # ID: the job of its last run; nothing: it has none
    cat "$home/runs/$1"/*/job 2>/dev/null | tail -n 1
}

job() { # ID COLUMN
    squeue --noheader --states=all --jobs="$(job_of "$1")" --Format="$2:|" | tr -d '|'
}

is() { # WANTED COMMAND...
    wanted=$1
    shift
    [ "$("$@")" = "$wanted" ]
}

# --- one task -----------------------------------------------------------------------------------------------

add --executor slurm --slurm partition=small --slurm cpus=2 -- sh -c 'echo "on $SLURMD_NODENAME"; echo "in $PWD"; read -r _ <go; exit 3'
rule 'a task runs on a node' becomes "$id" running
appears 'on s1' "$home/runs/$id/1/out.log"
run sluice show "$id"
has 'node s1' 'show says on which'
rule 'the job has the name of the task' is "$id" job "$id" Name
run scontrol show job --oneliner "$(job_of "$id")"
has 'Comment=sluice:' 'and its token as its comment'
unblock go
becomes "$id" failed
run sluice logs "$id"
has "in $tmp" 'logs are followed as anywhere, in the folder of the task'
run sluice show "$id"
has 'exit code 3' 'its exit code is on record'
rule 'the run says where it was' is slurm value "$id" executor

# --- what a run on a node can do ------------------------------------------------------------------------------

add --executor slurm -- sh -c '"$0" report --tokens 4711; "$0" bus post --type PROGRESS half; read -r _ <go; "$0" report --done' "$SLUICE"
becomes "$id" running
reported() {
    "$SLUICE" show "$id" | grep -q '4711'
}
rule 'a run on a node reports what it uses' soon reported
posted() {
    "$SLUICE" bus read --task "$id" | grep -q half
}
rule 'and posts messages' soon posted
unblock go
rule 'and says that it is done' becomes "$id" 'done'

# --- order, limits, dependencies and loops stay Sluice's --------------------------------------------------------

cat >batch.yaml <<'END'
tasks:
END
for i in 1 2 3 4 5 6; do
    printf -- '- {name: t%d, run: "echo start >>diary; seq 300000 | sha256sum >digest; echo end >>diary", project: night}\n' $i >>batch.yaml
done
printf -- '- {name: last, run: "wc -l <diary >count", project: night, depends_on: [t1, t2, t3, t4, t5, t6]}\n' >>batch.yaml
run sluice add -f batch.yaml
exits 0 'a batch of a project whose runs are on Slurm'
rule 'what waits for all of it comes last' appears 12 count
peak=$(awk '$1 == "start" { if (++n > most) most = n } $1 == "end" { n-- } END { print most }' diary)
rule 'its cap of two holds on the cluster' [ "$peak" -le 2 ]

add --executor slurm --until 'done' -- sh -c 'echo x >>loops; [ "$(wc -l <loops)" -lt 3 ] || : >"$SLUICE_DONE"'
rule 'a loop goes on until it says DONE' becomes "$id" 'done'
rule 'three iterations, three jobs' [ "$(wc -l <loops)" = 3 ]

# --- a partition with a limit -----------------------------------------------------------------------------------

add --executor slurm --slurm partition=small -- sh -c 'read -r _ <go'
first=$id
becomes "$first" running
add --executor slurm --slurm partition=small -- true
run sluice why "$id"
has 'slurm:small' 'who finds no place on its partition waits here, and why says so'
rule '… and has no job' is '' job_of "$id"
unblock go
rule 'the next one goes when there is room' becomes "$id" 'done'

# --- pending in Slurm -------------------------------------------------------------------------------------------

add --executor slurm --slurm options=--begin=now+1hour -- sh -c 'echo ran >>never'
waits() {
    "$SLUICE" why "$id" | grep -q 'pending in Slurm: BeginTime'
}
rule 'why says what Slurm says' soon waits
rule 'it is starting, however long that takes' is starting value "$id" state
run sluice cancel "$id"
rule 'what waits in Slurm is canceled at once' becomes "$id" canceled
rule 'with its job' soon is CANCELLED job "$id" State

# --- what people do in Slurm ------------------------------------------------------------------------------------

add --executor slurm -- sh -c 'echo "$SLUICE_RUN" >>begun; read -r _ <go'
becomes "$id" running
appears "$id.1" begun
scancel "$(job_of "$id")"
rule 'a job that is cancelled in Slurm is lost, and the task runs again' appears "$id.2" begun
run sluice show "$id"
has 'cancelled in Slurm' 'show says so'
rule 'it is no failure of the task' [ "$(value "$id" losses)" = 1 ]
unblock go
becomes "$id" 'done'

add --executor slurm --slurm partition=nowhere -- true
refused() {
    "$SLUICE" why "$id" | grep -qi 'invalid partition'
}
rule 'what Slurm refuses is told in its words' soon refused
run sluice cancel "$id"

# --- the controller ---------------------------------------------------------------------------------------------

"$SLURM_CLUSTER" kill "$SLUICE_TEST_SLURM" ctld
add --executor slurm -- sh -c 'echo "$SLUICE_RUN" >>begun'
away() {
    "$SLUICE" why "$id" | grep -q again
}
rule 'without a controller a task waits, and why says so' soon away
kill -9 "$(pid_of_daemon)"
run sluice up
exits 0 'a daemon starts without a controller'
"$SLURM_CLUSTER" start-part "$SLUICE_TEST_SLURM" ctld
rule 'when it is there again the task runs' becomes "$id" 'done'
rule 'once' [ "$(grep -c "^$id" begun)" = 1 ]

# --- doctor -----------------------------------------------------------------------------------------------------

run sluice doctor
has slurm 'doctor looks at Slurm'
finish
