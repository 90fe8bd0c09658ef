#!/bin/sh
# transcript.sh: follows a hostile log of $MB megabytes (1024) with `sluice logs -f`. Prints seconds and the peak memory of
# the command and the daemon. Exit code 1: more than 20 MiB, or the readable part of the log is missing.
#
# The log is that of tests/daemon/hostile-agent. The time includes writing it, reading it twice (the daemon for the
# outcome, the command for the transcript) and sending it.
set -eu
build=$1
mb=${MB:-1024}
most=20480 # KiB
root=$(cd "$(dirname "$0")/.." && pwd)
tmp=$(mktemp -d "${TMPDIR:-/tmp}/sluice-transcript-XXXXXX")
SLUICE_HOME=$tmp/home
export SLUICE_HOME
# shellcheck disable=SC2317 # called by the trap
at_end() {
    "$build/sluice" down >/dev/null 2>&1 || :
    rm -rf "$tmp"
}
trap at_end EXIT
trap 'exit 130' INT TERM HUP
mkdir -m 700 "$SLUICE_HOME"
mkfifo "$tmp/go"
(umask 077 && cat >"$SLUICE_HOME/sluice.yaml") <<END
logs.tail_mb: $((2 * mb))
tasks.sandbox: none
agents:
  wild: {adapter: claude, command: '$root/tests/daemon/hostile-agent', env: ['HOSTILE_MB=$mb', 'HOSTILE_GO=$tmp/go']}
END
"$build/sluice" up >/dev/null 2>&1
daemon=$("$build/sluice" up --json | sed 's/.*"pid":\([0-9]*\).*/\1/')
id=$("$build/sluice" add --json --cwd "$tmp" --agent wild 'mend it' | sed 's/.*"tasks":\[{"id":"\([^"]*\)".*/\1/')

peak_of() { # PID
    sed -n 's/^VmHWM:[[:space:]]*\([0-9]*\) kB/\1/p' "/proc/$1/status" 2>/dev/null || :
}

begin=$(date +%s%N)
"$build/sluice" logs -f "$id" >"$tmp/followed" &
follower=$!
# On a slow machine the agent ends before the command has read the complete log; the command then exits at once.
peak=0
until grep -qxF '[done, 5 turns]' "$tmp/followed"; do
    now=$(peak_of $follower)
    peak=${now:-$peak}
    kill -0 $follower || grep -qxF '[done, 5 turns]' "$tmp/followed" || { echo "transcript: logs -f has ended early" >&2 && exit 1; }
    sleep 0.1
done
end=$(date +%s%N)
daemon_peak=$(peak_of "$daemon")
# shellcheck disable=SC2016 # for the inner shell
timeout 5 sh -c 'echo >"$1"' - "$tmp/go" || : # it has no reader if the agent has ended
wait $follower
bytes=$(stat -c %s "$SLUICE_HOME/runs/$id/1/out.log")
ms=$(((end - begin) / 1000000))
printf 'transcript: a hostile log of %d MiB: %d.%d s, %d bytes of text\n' $((bytes / 1048576)) $((ms / 1000)) $((ms % 1000 / 100)) \
    "$(wc -c <"$tmp/followed")"
printf 'transcript: most memory of logs -f: %d KiB (limit %d), of the daemon: %d KiB\n' "$peak" $most "$daemon_peak"
for text in 'Before the flood.' 'Behind a long text.' 'Behind the depth.' 'Behind the keys.' 'Behind the raw line.' '> Bash: ls' 'All done.'; do
    grep -qxF -e "$text" "$tmp/followed" || { echo "transcript: '$text' is not there" >&2 && exit 1; }
done
[ "$peak" -lt $most ] || { echo "transcript: the limit of memory was missed" >&2 && exit 1; }
