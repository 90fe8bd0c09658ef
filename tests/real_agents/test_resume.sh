#!/bin/sh
# A conversation over several runs: agents count for all of it, Sluice books what each run has used.
# shellcheck disable=SC1091,SC2154 # kit.sh sets id, work, accounts
. "$(dirname "$0")/kit.sh"
service ok
config "$accounts"
start

begun() { [ -n "$(tools)" ]; }
: >"$work/$wait_for"
kill_agent() { # NAME: the process of the run that talks to the service
    for environ in $(left_of "$id" | grep environ); do
        case $(readlink "${environ%environ}exe") in
        */"$1") kill -9 "$(basename "$(dirname "$environ")")" 2>/dev/null ;;
        esac
    done
}

for agent in claude codex; do
    # One conversation: a step, a limit, a step, a limit, the end. Codex reports no seconds, and may come too early.
    : >"$stub/requests"
    scenes 'tool echo one' 'limit 3' 'tool echo two' 'limit 4' 'ok The end.'
    add --agent $agent --retries 0 --cwd "$work" 'Count to two.'
    rule "$agent: done after two limits" becomes "$id" 'done'
    rule "$agent: each run in a sandbox" boxed "$id"
    rule "$agent: in one conversation" [ "$(asked "max(one['turns'] for one in r)")" = 2 ]
    rule "$agent: three requests were answered" [ "$(charged in)" = 12936 ]
    rule "$agent: and booked once" [ "$(booked "$id" in) $(booked "$id" out)" = "$(charged in) $(charged out)" ]
    [ $agent = codex ] ||
        rule 'claude: its money is counted for the whole conversation, and booked once' \
            [ "$(of "$id" "round(sum(run['cost_usd'] for run in t['runs']) / t['runs'][0]['cost_usd'], 3) == 3")" = True ]

    # A crash in the middle of a turn.
    : >"$stub/requests"
    scenes "tool tail -f $wait_for" 'ok I am back.'
    add --agent $agent --retries 1 --cwd "$work" "Do not forget this, $agent."
    soon begun
    # Agents write their conversations down a moment later; one that is nowhere cannot be gone on with.
    soon grep -rqsF "Do not forget this, $agent." "$HOME/.claude/projects" "$HOME/.codex/sessions"
    kill_agent $agent
    rule "$agent: done after a crash" becomes "$id" 'done'
    rule "$agent: both runs in a sandbox" boxed "$id"
    rule "$agent: in the second attempt" [ "$(of "$id" "len(t['runs'])")" = 2 ]
    rule "$agent: which goes on with the conversation" \
        [ "$(asked "r[-1]['turns'] >= 1 and 'Do not forget this, $agent.' in r[-1]['prompt']")" = True ]
    rule "$agent: what the crash has left is gone" no_tools
    rule "$agent: no more tokens are booked than were charged" [ "$(booked "$id" in)" -le "$(charged in)" ]
done

# Codex reports its tokens only at the end of a turn, for the complete conversation: a run that has reported some and
# then meets a limit needs two turns.
"$SLUICE" down --wait >/dev/null 2>&1
mkdir bin
cat >bin/codex <<END
#!/bin/sh
case " \$* " in *' resume '*) exec $(command -v codex) "\$@" ;; esac
$(command -v codex) "\$@" >"\$TMPDIR/first"
cat "\$TMPDIR/first"
thread=\$(sed -n 's/.*"thread_id":"\([^"]*\)".*/\1/p' "\$TMPDIR/first")
echo 'And now the rest.' | $(command -v codex) exec --json --skip-git-repo-check resume "\$thread" -
END
chmod +x bin/codex
# A sandbox shows the program of the agent; where the home is in /tmp, not the client that this one calls.
"$SLUICE" config set "agents.codex.sandbox_read=$(dirname "$(dirname "$(command -v codex)")")" >/dev/null
PATH=$tmp/bin:$PATH
start
: >"$stub/requests"
scenes 'ok The first part.' 'limit 3' 'ok The rest.'
add --agent codex --retries 0 --cwd "$work" 'In two parts, please.'
rule 'codex: two turns, a limit in the second one, a third one in the next run' becomes "$id" 'done'
rule 'codex: the first run has told its tokens' [ "$(of "$id" "t['runs'][0]['tokens_in']")" = 4312 ]
rule 'codex: the last one those of both' \
    grep -q '"input_tokens":8624,' "$home/runs/$id/$(value "$id" attempt)/out.log"
rule 'codex: booked is what it has used itself' [ "$(of "$id" "t['runs'][-1]['tokens_in']")" = 4312 ]
rule 'codex: every token once' \
    [ "$(booked "$id" in) $(booked "$id" out)" = "$(charged in) $(charged out)" ]
finish
