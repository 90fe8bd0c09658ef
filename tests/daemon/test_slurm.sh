#!/bin/sh
# Tasks that run in Slurm: selection, waiting in its queue, recovery after a restart, requests from a job to the daemon.
# The programs of Slurm are fake (tests/run/fake-slurm); shim, daemon and command line are real.
# shellcheck disable=SC1010,SC1091,SC2016,SC2034,SC2154 # "done" is a state; kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"
slurm=$tmp/slurm
"$root/tests/run/fake-slurm" install "$slurm"
PATH=$slurm/bin:$PATH
export PATH

chmod 700 "$home" # for the doctor
config "slurm: {poll_s: 0.2, poll_idle_s: 0.5}
http: {listen: '127.0.0.1:0'}
capability: {commands: true}
retry: {lost: {delay_s: 0}}
limits: {runs: 20}
daemon: {host: head}
projects:
  far: {executor: slurm, slurm: [account=lab, cpus=2]}
  closed: {executor: slurm, env_file: $tmp/closed.env}"
(umask 077 && echo KEY=sk-4f8a0c22 >closed.env)
start
run sluice project add far
jobs() { find "$slurm/jobs" -mindepth 1 -maxdepth 1 | wc -l; }
word() { grep -qxF -e "$2" "$slurm/jobs/$1/words"; } # JOB WORD: sbatch was given it
doing() { "$SLUICE" show --json "$1" | first doing; }
is_attempt() { [ "$(value "$1" attempt)" = "$2" ]; }
is_doing() { doing "$1" | grep -qF -e "$2"; }

# --- choosing ----------------------------------------------------------------------------------------

add -- echo here
ends "$id"
rule 'what says nothing runs on this machine' [ "$(value "$id" executor)-$(jobs)" = local-0 ]
add --project far --slurm partition=gpu --slurm gres=gpu:1 --timeout 2m --memory 300 -- sh -c 'echo "far $SLURM_JOB_ID"'
becomes "$id" done
rule 'what its project sends there is a job' [ "$(value "$id" executor)-$(value "$id" partition)" = slurm-gpu ]
run sluice logs "$id"
prints 'far 1' 'its log is found'
for want in --partition=gpu --account=lab --gres=gpu:1 --cpus-per-task=2 --mem=300M --no-requeue "--job-name=$id"; do
    rule "sbatch is given $want" word 1 "$want"
done
rule 'the job carries a token of this store, task and attempt' \
    grep -qE "^sluice:[0-9a-f]{16}:${id#*-}:1\$" "$slurm/jobs/1/comment"
run sluice show "$id"
has 'runs in     Slurm, partition gpu' 'show says where it runs'
run sluice show --json "$id"
has '"host":"head"' 'its row has the name of the host whose daemon has started it'
run sluice add --executor pbs -- true
exits 2 'an executor that is none is refused'
complains "option '--executor': expected one of local, slurm" 'it says which there are'
run sluice add --slurm partition=gpu -- true
complains "say 'executor': slurm" 'a partition without Slurm is refused'
run sluice add --executor slurm --slurm options=--array=1-9 -- true
complains "'options' of 'slurm' must be long options of sbatch" 'what would make several jobs of one run is refused'
rule 'nothing of that became a job' [ "$(jobs)" = 1 ]
is_refused() { "$SLUICE" show "$1" | grep -qF -e 'no safe way to hand them to a run in Slurm'; }
add --project closed -- true
rule 'a run with secrets is refused there' soon is_refused "$id"
run sluice cancel "$id"
rule 'and is no job' [ "$(jobs)" = 1 ]
rule 'nothing of the secret is in the home' sh -c '! grep -rqaF -f closed.env "$1"' - "$home"

# --- waiting there -----------------------------------------------------------------------------------

: >"$slurm/hold"
add --project far -- sh -c 'echo "$SLUICE_RUN"'
soon is_doing "$id" 'pending in Slurm: Resources'
rule 'a run that waits in Slurm says so' is_doing "$id" 'pending in Slurm: Resources'
rule 'it is starting' [ "$(value "$id" state)" = starting ]
run sluice why "$id"
has 'pending in Slurm: Resources' 'so does why'
run sluice down --wait
says 'sluice: 1 run on other hosts, or not begun by Slurm, is not waited for
sluice: the daemon has stopped; no task is running here' 'down --wait does not call over what Slurm has not begun'
run sluice up
kill -9 "$(pid_of_daemon)"
start
soon is_doing "$id" 'pending in Slurm'
rule 'the next daemon knows it again' [ "$(value "$id" state)-$(value "$id" attempt)" = starting-1 ]
rm "$slurm/hold"
scontrol release 2
becomes "$id" done
rule 'it has run once' [ "$(value "$id" attempt)-$(jobs)" = 1-2 ]

: >"$slurm/away"
add --project far -- true
soon is_doing "$id" 'controller'
rule 'a controller that is away is no failed launch' [ "$(value "$id" state)-$(value "$id" launch_failures)" = starting-0 ]
rm "$slurm/away"
becomes "$id" done
rule 'it is submitted when it is back' [ "$(value "$id" attempt)" = 1 ]

echo 'Invalid partition name specified' >"$slurm/refuse"
add --project far -- true
becomes "$id" held
run sluice why "$id"
has 'sbatch refused it: Invalid partition name specified' 'what sbatch refuses is a failed launch, in its words'
rm "$slurm/refuse"

# --- ends --------------------------------------------------------------------------------------------

count=$(jobs)
add --project far -- tail -f /dev/null
becomes "$id" running
job=$((count + 1))
kill -9 "$(pid_of_daemon)"
start
rule 'a run goes on without the daemon' [ "$(value "$id" state)-$(value "$id" attempt)" = running-1 ]
run sluice cancel "$id"
becomes "$id" canceled
soon [ -e "$slurm/jobs/$job/gone.0" ]
rule 'a canceled one is ended on its node' [ -e "$slurm/jobs/$job/gone.0" ]

: >"$slurm/hold"
add --project far -- true
soon is_doing "$id" 'pending in Slurm'
run sluice cancel "$id"
becomes "$id" canceled
rm "$slurm/hold"
rule 'one that waits there never begins' [ "$(value "$id" state)" = canceled ]

mkfifo go
add --project far -- sh -c 'echo "attempt $SLUICE_ATTEMPT"; read -r _ <go'
becomes "$id" running
job=$(jobs)
pid=$(cat "$slurm/jobs/$job/pid")
for pid in $(cat "/proc/$pid/task/$pid/children") "$pid"; do kill -9 "$pid" 2>/dev/null; done
echo NODE_FAIL >"$slurm/jobs/$job/state"
soon is_attempt "$id" 2
becomes "$id" running
rule 'a node that failed is no failure of the task' [ "$(value "$id" losses)-$(value "$id" failures)" = 1-0 ]
unblock go
becomes "$id" done

# --- from there to the daemon ------------------------------------------------------------------------

url=$("$SLUICE" status --json | grep -oE 'http://127.0.0.1:[0-9]+' | head -n 1)
run sluice config set "slurm.address=$url"
exits 0 'the address of the daemon is set'
# shellcheck disable=SC2086 # its words are for the shell of the run
add --project far -- sh -c "
    echo \"\$SLUICE_SOCKET\"
    '$SLUICE' report --tokens 4711 && '$SLUICE' bus post done-there >/dev/null && child=\$('$SLUICE' add --json -- true)
    child=\$(echo \"\$child\" | sed 's/.*\"tasks\":\[{\"id\":\"\([^\"]*\)\".*/\1/')
    '$SLUICE' wait \$child && '$SLUICE' pause; echo \"pause: \$?\""
parent=$id
becomes "$parent" done
run sluice logs "$parent"
has "$url" 'a run there is told the address'
has 'pause: 4' 'it may do there what a run may, and no more'
run sluice list --json --all --parent "$parent"
child=$(field id)
rule 'its child runs there, too' [ "$(value "$child" state)-$(value "$child" executor)" = done-slurm ]
run sluice show --json "$parent"
has '":4711' 'it has reported by TCP'

# shellcheck disable=SC2089,SC2090 # its quotes are for the shell of the run
add --executor slurm --slurm partition=gpu --spawn next.yaml -- \
    sh -c 'printf "%s\n" "- {name: there, run: \"true\"}" "- {name: here, run: \"true\", executor: local}" >"$SLUICE_SPAWN"'
parent=$id
becomes "$parent" done
count_done() { [ "$("$SLUICE" list --ids --all --state done --parent "$parent" | wc -l)" = 2 ]; }
soon count_done
places=$(for one in $("$SLUICE" list --ids --all --parent "$parent"); do echo "$(value "$one" executor)-$(value "$one" partition)"; done | sort | tr '\n' ' ')
rule 'tasks of a spawn file run where their parent does, unless they say otherwise' [ "$places" = 'local-null slurm-gpu ' ]

# --- how large the partition is ----------------------------------------------------------------------

rm "$slurm/bin/sinfo"
cat >"$slurm/bin/sinfo" <<'END'
#!/bin/sh
case $* in *%C*) echo 'work*|up|0/4/0/4|0/2/0/2' ;; *) echo 'work*|up' ;; esac
END
chmod +x "$slurm/bin/sinfo"
run sluice config set slurm.follow=cpus 'tasks.slurm=cpus=2'
room() { "$SLUICE" why "$1" | grep -qF -e 'the default partition has 4 CPUs that can be used, 2 for each run'; }
add --executor slurm -- tail -f /dev/null
becomes "$id" running
first_one=$id
add --executor slurm -- tail -f /dev/null
becomes "$id" running
add --executor slurm -- tail -f /dev/null
soon room "$id"
rule 'no more are handed over than the partition has room for, and why says so' [ "$(value "$id" state)" = ready ]
run sluice cancel "$first_one"
becomes "$id" running
rule 'the next one follows when there is a place' [ "$(value "$id" state)" = running ]

# --- the doctor --------------------------------------------------------------------------------------

run sluice doctor
exits 0 'the doctor finds nothing that must be put right'
has 'Slurmctld(primary) at fake is UP' 'it has asked the controller'
has 'work*' 'and for the partitions'
run sluice config set 'tasks.slurm=partition=nope'
"$SLUICE" down >/dev/null 2>&1
start
run sluice doctor
exits 1 'a partition that is none must be put right'
has "'nope' is none of: work*" 'it says which there are'
: >"$slurm/away"
"$SLUICE" down >/dev/null 2>&1
start
run sluice doctor
exits 1 'so must a controller that does not answer'
has 'Unable to contact slurm controller' 'in the words of Slurm'
rm "$slurm/away"

# --- a daemon of another host, with another folder ---------------------------------------------------

if store_is_file; then
    "$SLUICE" down >/dev/null 2>&1
    mkdir -m 700 b
    { sed 's/host: head/host: other/' "$home/sluice.yaml" && echo "store: {url: $home/sluice.db}"; } >b/sluice.yaml
    run env "SLUICE_HOME=$tmp/b" "$SLUICE" up
    exits 1 'a daemon that does not see the folders of the runs in Slurm does not start'
    complains "is in '$home/runs', not in '$tmp/b/runs'" 'and says where they are'
    start
    rule 'nothing was begun a second time' [ "$(value "$id" state) $(value "$id" attempt)" = 'running 1' ]
fi
finish
