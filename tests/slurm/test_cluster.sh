#!/bin/sh
# The cluster that the other tests of this folder stand on: whole in one folder, reachable from this machine alone, and
# gone without a trace. SLURM_CLUSTER is scripts/slurm-cluster.
# shellcheck disable=SC1091,SC2013,SC2016,SC2034,SC2154 # lib.sh; ports are words; the job expands it
SLUICE=/bin/true
. "$(dirname "$0")/../cli/lib.sh"
: "${SLURM_CLUSTER:?is not set: run it by make test-slurm}"

cluster=$(mktemp -d /tmp/sluice-c-XXXXXX)
trap '"$SLURM_CLUSTER" stop "$cluster"; rm -rf "$tmp" "$cluster"' EXIT
trap 'exit 1' INT TERM HUP

run "$SLURM_CLUSTER" start "$cluster" MinJobAge=77 'PartitionName=more Nodes=n1' nonsense
exits 1 'a word that is no line of slurm.conf is refused'
says "slurm-cluster: 'nonsense' is no KEY=VALUE for slurm.conf" '… in one sentence'

run "$SLURM_CLUSTER" start "$cluster" MinJobAge=77 'PartitionName=more Nodes=n1'
exits 0 'it starts'
eval "$("$SLURM_CLUSTER" env "$cluster")"
run scontrol show config
has 'MinJobAge               = 77 sec' 'a line of the caller stands instead of the line of the same key'
run sinfo -h -o '%R'
has more '… or is added'

# The second column is the address that is listened on, 0A the state of a listener.
listeners() {
    for port in $(sed -n -e 's/^SlurmctldPort=//p' -e 's/^NodeName.* Port=\([0-9]*\).*/\1/p' "$SLURM_CONF"); do
        awk -v port="$(printf %04X "$port")" '$4 == "0A" && $2 ~ (":" port "$") { print substr($2, 1, 8) }' /proc/net/tcp
    done | sort | uniq -c | sed 's/^ *//'
}
listeners >"$tmp/out"
prints '4 0100007F' 'the controller and three nodes listen on loopback, and nowhere else'

for node in n1 n2 s1; do
    [ $node = s1 ] && partition=small || partition=work
    run sbatch --wait --partition="$partition" --nodelist=$node --chdir=/ --output="$tmp/$node" --wrap 'echo $SLURMD_NODENAME'
    rule "a job runs on $node" [ "$(cat "$tmp/$node")" = $node ]
done

live() {
    run sbatch --parsable --chdir=/ --output="$tmp/live" --wrap 'setsid tail -f /dev/null & echo here; exec tail -f /dev/null'
    job=$(cat "$tmp/out")
    appears here "$tmp/live"
}
live
run "$SLURM_CLUSTER" restart-ctld "$cluster"
run squeue -h -j "$job" -o '%T'
prints RUNNING 'a controller that is restarted has forgotten nothing'

# Processes that were started for this cluster; those of this test are not in the folder and in no job.
started() {
    for process in /proc/[0-9]*; do
        { tr '\0' ' ' <"$process/cmdline" | grep -qF "$cluster/" ||
            { tr '\0' '\n' <"$process/environ" | grep -qxF "SLURM_CONF=$cluster/slurm.conf" &&
                tr '\0' '\n' <"$process/environ" | grep -q '^SLURM_JOB_ID='; }; } 2>/dev/null && echo "${process#/proc/}"
    done
    :
}
rule 'its processes are found by this test' [ "$(started | wc -l)" -ge 5 ]
run "$SLURM_CLUSTER" stop "$cluster"
exits 0 'it stops with a job that runs'
started >"$tmp/out"
rule '… and leaves nobody behind' [ ! -s "$tmp/out" ]
run "$SLURM_CLUSTER" stop "$cluster"
exits 0 'stopping what does not run is no failure'
finish
