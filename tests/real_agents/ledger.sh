# ledger.sh: what the tests of the ledger share. Read it after kit.sh and `service`.
#
#   books [SETTINGS]          starts the daemon, with prices for stub-model
#   scene NAME AGENT SCENE... the next run has this name, and the service does this
#   asks [OPTION...]          adds the task of that run; sets $id
#   agrees NAME               what is booked for it is what the service has charged
#   lacks NAME IN OUT         as `agrees`, but these tokens are known to be missing: docs/guide/agents.md says why
#   succeeds                  adds the task, waits for its end, and compares
#   canceled                  the same for one that is canceled as soon as its tool runs
#   fails                     the same for one that ends badly
#   signal_agent SIGNAL       ends the agent from outside
# shellcheck shell=sh disable=SC2154 # kit.sh sets id, home, work, accounts, stub, wait_for

books() {
    config "$accounts
prices: {stub-model: {in: 2, cached: 1, out: 8}}
tasks.sandbox: auto
${1-}"
    start
    : >"$work/$wait_for"
}

begun() { [ -n "$(tools)" ]; }
heard() { [ "$(booked "$id" out)" = 25 ]; }

# One line for each scene: what was charged, and what is booked.
agrees() { # NAME
    ledger="$(charged in) $(charged out)"
    account="$(booked "$id" in) $(booked "$id" out)"
    echo "# ledger: $1: charged $ledger, booked $account"
    rule "$1: booked is what was charged" [ "$account" = "$ledger" ]
}

lacks() { # NAME IN OUT
    ledger="$(charged in) $(charged out)"
    account="$(booked "$id" in) $(booked "$id" out)"
    echo "# ledger: $1: charged $ledger, booked $account (expected: $2 $3 less)"
    rule "$1: booked is all that it reports" [ "$account" = "$(($(charged in) - $2)) $(($(charged out) - $3))" ]
}

scene() { # NAME AGENT SCENE...
    name=$1 agent=$2
    shift 2
    : >"$stub/requests"
    scenes "$@"
}

asks() { # [OPTION...]
    add --agent "$agent" --cwd "$work" "$@" "Do what $name says."
}

succeeds() {
    asks --retries 0
    rule "$name: done" becomes "$id" 'done'
    agrees "$name"
}

# Ended by a signal from elsewhere in the middle of a tool: it continues its session.
signal_agent() { # SIGNAL
    for environ in $(left_of "$id" | grep environ); do
        # Some are scripts, whose name is the second word.
        case "$(readlink "${environ%environ}exe") $(tr '\0' ' ' <"${environ%environ}cmdline")" in
        */"$agent"\ * | */node*bin/"$agent"\ *) kill "-$1" "$(basename "$(dirname "$environ")")" 2>/dev/null ;;
        esac
    done
}

has_run() {
    [ "$(of "$id" "bool(t['runs'] and t['runs'][0]['ended_at'])")" = True ]
}

# What comes after a failure depends on its kind: it is not waited for.
fails() {
    asks --retries 0
    soon has_run
    "$SLUICE" cancel "$id" >/dev/null
    agrees "$name"
    "$SLUICE" limiter clear "$agent" >/dev/null 2>&1
}

canceled() {
    asks --retries 0
    soon begun
    "$SLUICE" cancel "$id" >/dev/null
    becomes "$id" canceled
    agrees "$name"
}
