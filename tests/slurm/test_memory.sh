#!/bin/sh
# A run that uses more memory than its job was given: Slurm kills it, and that is a failure of the task that says why. It
# has a cluster of its own, because confined memory needs root and cgroup v1; without these it is left out.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/../daemon/kit.sh"
: "${SLURM_CLUSTER:?is not set: run it by make test-slurm}"

probe=/sys/fs/cgroup/memory/sluice-probe-$$
if ! mkdir "$probe" 2>/dev/null || [ ! -e "$probe/memory.limit_in_bytes" ]; then
    rmdir "$probe" 2>/dev/null
    echo '1..0 # SKIP confined memory needs root and the memory controller of cgroup v1'
    exit 0
fi
rmdir "$probe"

cluster=$(mktemp -d /tmp/sluice-c-XXXXXX)
trap 'stop_daemon; "$SLURM_CLUSTER" stop "$cluster"; rm -rf "$tmp" "$cluster"' EXIT
run "$SLURM_CLUSTER" start "$cluster" TaskPlugin=task/cgroup "FirstJobId=$((100000 + $$))"
exits 0 'a cluster that confines memory starts'
eval "$("$SLURM_CLUSTER" env "$cluster")"
unset SLUICE_TEST_EXECUTOR
config 'tasks: {executor: slurm, slurm: [options=--mem=64M]}
slurm: {poll_s: 0.3}
retry: {failed: {max: 0}}'
start

add -- sh -c 'echo fine'
rule 'a run that needs less is fine' becomes "$id" 'done'
# tail keeps what it has read until there is a line.
add -- sh -c 'head -c 200000000 /dev/zero | tail -n 1 >/dev/null; exit 5'
rule 'a run whose process was killed for memory has failed' becomes "$id" failed
# All of it: the shell itself grows, and the kernel takes it.
add -- awk 'BEGIN { for (i = 0; ; i++) a[i] = i " padding padding padding padding padding padding" }'
rule 'a command that is killed for memory has failed' becomes "$id" failed
run sluice show "$id"
has memory 'and show says why'
rule "it is a failure of the task, not lost" [ "$(value "$id" losses)" = 0 ]
finish
