# kit.sh: what the tests of this folder share: that of tests/daemon, a service for the agents, and a few words.
# Read with `. "$(dirname "$0")/kit.sh"`. Real agents from npm, a real daemon, a stub instead of the provider:
# scripts/test-agents BUILD NAME makes the surroundings that they need, and runs one.
#
#   service SCENE...          starts the stub (stub.py lists its scenes), and points both agents at it
#   scenes SCENE...           what it does from now on
#   answered SCENE            prints how many requests had that scene
#   charged in|out            prints the tokens that it has charged for
#   asked PYTHON              prints a value of the requests: a list of dicts called r
#   of ID PYTHON              prints a value of the task as `show --json` has it, its first run first: a dict called t
#   boxed ID                  each of its runs was in a sandbox
#   booked ID... in|out       prints the tokens of all runs of these tasks
#   left_of ID                prints the processes that the task has left behind
#   tools                     prints those that have the file $wait_for in their command line: a sandbox may hide
#                             the rest
#
# $work is the folder of the tasks, and of nothing else.
# shellcheck shell=sh disable=SC1091,SC2034,SC2154 # the other kits set tmp, home, root, code

user=$HOME # test-agents has made it: agents that find theirs below /tmp run no command
. "$(dirname "$0")/../daemon/kit.sh"
HOME=$user
stub=
stub_pid=
work=$tmp/work
wait_for=wait-for-${tmp##*.} # of no other test
mkdir -p "$work"
: >"$tmp/out"
: >"$tmp/err"
trap 'stop_daemon; [ -z "$stub_pid" ] || kill "$stub_pid" 2>/dev/null; rm -rf "$tmp"' EXIT

# By their own settings, as a login does: Sluice hands no variables of its surroundings on. A plan, not a key: only
# then Claude Code reports when a limit ends.
service() {
    stub=$tmp/stub
    mkdir -p "$stub"
    : >"$stub/requests"
    scenes "$@"
    "$root/tests/real_agents/stub.py" "$stub" >"$stub/log" 2>&1 &
    stub_pid=$!
    soon [ -s "$stub/port" ] || { sed 's/^/# /' "$stub/log" && echo 'Bail out! the stub does not start' && exit 1; }
    port=$(cat "$stub/port")
    mkdir -p "$HOME/.claude" "$HOME/.codex"
    cat >"$HOME/.claude/settings.json" <<END
{"env": {"ANTHROPIC_BASE_URL": "http://127.0.0.1:$port", "CLAUDE_CODE_OAUTH_TOKEN": "not-a-token",
         "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_TELEMETRY": "1"}}
END
    cat >"$HOME/.codex/config.toml" <<END
model = "stub-model"
model_provider = "stub"
[model_providers.stub]
name = "stub"
base_url = "http://127.0.0.1:$port/v1"
experimental_bearer_token = "not-a-token"
wire_api = "responses"
request_max_retries = 1
stream_max_retries = 1
END
    mkdir -p "$HOME/.gemini" "$HOME/.config/opencode" "$HOME/.copilot"
    cat >"$HOME/.gemini/.env" <<END
GEMINI_API_KEY=not-a-key
GOOGLE_GEMINI_BASE_URL=http://127.0.0.1:$port
END
    cat >"$HOME/.gemini/settings.json" <<END
{"security": {"auth": {"selectedType": "gemini-api-key"}}, "general": {"disableAutoUpdate": true},
 "privacy": {"usageStatisticsEnabled": false}}
END
    cat >"$HOME/.config/opencode/opencode.json" <<END
{"model": "stub/stub-model", "autoupdate": false, "share": "disabled",
 "provider": {"stub": {"npm": "@ai-sdk/openai-compatible", "name": "stub",
                       "options": {"baseURL": "http://127.0.0.1:$port/v1", "apiKey": "not-a-key"},
                       "models": {"stub-model": {"name": "stub-model", "limit": {"context": 200000, "output": 8000},
                                                 "cost": {"input": 2, "cache_read": 1, "output": 8}}}}}}
END
    # Copilot has variables alone.
    copilot_env="[COPILOT_PROVIDER_BASE_URL=http://127.0.0.1:$port/v1, COPILOT_PROVIDER_API_KEY=not-a-key"
    copilot_env="$copilot_env, COPILOT_MODEL=stub-model, COPILOT_OFFLINE=true, COPILOT_PROVIDER_MAX_PROMPT_TOKENS=200000]"
}

scenes() {
    printf '%s\n' "$@" >"$stub/script.new"
    mv "$stub/script.new" "$stub/script"
}

asked() {
    python3 -c 'import json, sys
r = [json.loads(line) for line in open(sys.argv[1])]
print(eval(sys.argv[2]))' "$stub/requests" "$1"
}

answered() {
    asked "sum(one['scene'] == '$1' for one in r)"
}

charged() {
    asked "sum(one.get('tokens_$1', 0) for one in r)"
}

of() {
    "$SLUICE" show --json "$1" | python3 -c 'import json, sys
t = json.load(sys.stdin)
t["runs"].sort(key=lambda run: run["attempt"])
print(eval(sys.argv[1]))' "$2"
}

boxed() {
    [ "$(of "$1" "{run['sandbox'] for run in t['runs']}")" = "{'bubblewrap'}" ]
}

booked() {
    sum=0
    while [ $# -gt 1 ]; do
        sum=$((sum + $(of "$1" "sum(run['tokens_$(eval "echo \${$#}")'] or 0 for run in t['runs'])")))
        shift
    done
    echo $sum
}

# What a person would look at first.
explain() { # ID
    { "$SLUICE" show "$1" && "$SLUICE" why "$1" | head -n 1 && tail -n 3 "$home/runs/$1"/*/err.log; } 2>&1 | sed 's/^/# /'
}

becomes() {
    soon in_state "$1" "$2" || { explain "$1" && return 1; }
}

# By the environment, which children inherit: of this task, and of this home, since ids are the same in all of
# them; and by the folder, for those that have another environment.
left_of() {
    processes=$(grep -lszxF "SLUICE_BUS=$home/bus" /proc/[0-9]*/environ)
    # shellcheck disable=SC2086 # a list
    [ -z "$processes" ] || grep -lszxF "SLUICE_TASK=$1" $processes
    find /proc/[0-9]*/cwd -maxdepth 0 -lname "$work*" 2>/dev/null
}

# The pattern does not match itself.
tools() {
    grep -lsz "[w]${wait_for#w}" /proc/[0-9]*/cmdline
}

no_tools() {
    [ -z "$(tools)" ]
}

# The account waits exactly as long as the service says: the margin is for services whose clock is not ours.
accounts='limits: {runs: 4}
limiter: {margin_s: 0, jitter_s: 0, initial_s: 1, max_s: 2, recovery_s: 0}
retry: {failed: {delay_s: 0, cap_s: 0}}'
