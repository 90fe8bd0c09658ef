#!/bin/sh
# From an agent that is not logged in to its first merged change, for Claude Code and Codex, as README.md has it ("First agent
# task"): nothing is charged before the login, the same session continues after it, what is booked is what was charged, and the
# change is in the branch of the repository. One line of the log for each command, with its time.
# shellcheck disable=SC1091,SC2016,SC2154 # the kits set home, root, tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"
PATH=$(dirname "$SLUICE"):$PATH
export PATH
# As a reader has it: everything in the usual folders of $HOME.
unset SLUICE_HOME
home=$HOME/.local/share/sluice
service ok
echo key-of-the-stub >"$stub/key"
git config --global user.name tester
git config --global user.email tester@localhost
git init -q -b main "$HOME/src/web"
git -C "$HOME/src/web" commit -q --allow-empty -m first

# No login. Where the service is, is all that a reader does not set.
cat >"$HOME/.claude/settings.json" <<END
{"env": {"ANTHROPIC_BASE_URL": "http://127.0.0.1:$port", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_TELEMETRY": "1"}}
END
echo "openai_base_url = \"http://127.0.0.1:$port/v1\"" >"$HOME/.codex/config.toml"

tenths() {
    date +%s%N | sed 's/.\{8\}$//'
}

types() { # COMMAND: in out and err, with its time in the log
    begin=$(tenths)
    run sh -c "$1"
    spent=$(($(tenths) - begin))
    echo "# typed: $((spent / 10)).$((spent % 10)) s, exit code $code: $1"
}

# The commands of that part of the README and of the page about accounts; `claude`, its key and the id of the task as they are here.
section() { # AGENT KEY ID
    part=$(sed -n '/^Then check what Sluice finds/,/^Commands are tasks/p' "$root/README.md")
    {
        echo "$part" | awk '/^```/ { on = /^```sh/; next } on'
        echo "$part" | grep -o '`sluice [a-z]* web-1`' | tr -d '`'
        sed -n '/^## An account that needs a person/,/^## When/p' "$root/docs/guide/limits-and-resume.md" |
            awk '/^```/ { on = /^```sh/; next } on'
    } | sed -e 's/ *#.*//' -e "s/claude/$1/g" -e "s/ANTHROPIC_API_KEY=.*\"/$2=key-of-the-stub\"/" -e "s/web-1/$3/g" >"$tmp/section"
}

command_of() { # TEXT: the command of the section that begins with it
    grep -F -e "$1" "$tmp/section"
}

walk() { # AGENT KEY ID MESSAGE
    agent=$1 id=$3
    section "$agent" "$2" "$id"
    : >"$stub/requests"
    scenes "tool echo 'make test, says $agent.' >>README.md" 'ok I have added it.'
    rule "$agent: nine commands" [ "$(grep -c . "$tmp/section")" = 9 ]

    types "$(command_of 'sluice doctor')"
    grep "agent $agent " "$tmp/out" | grep -q 'not logged in'
    report $? "$agent: doctor says that it is not logged in"
    rule "$agent: and which variable would do" grep -q "put $2=... in a file and run: sluice config set agents.$agent.env_file=FILE" "$tmp/out"
    types "$(command_of 'sluice config set projects')"
    exits 0 "$agent: the project"
    types "$(command_of 'sluice add')"
    exits 0 "$agent: add"
    rule "$agent: add warns" grep -q "agent '$agent': it seems not to be logged in" "$tmp/err"
    rule "$agent: the id is that of the README" grep -q "^$id " "$tmp/out"
    types "$(command_of 'sluice wait')"
    exits 6 "$agent: wait returns, because a person is needed"
    rule "$agent: and quotes it" grep -q "$agent said: \".*$4" "$tmp/out"
    rule "$agent: and says how to log in" grep -q "put $2=... in a file and run: sluice config set agents.$agent.env_file=FILE" "$tmp/out"
    rule "$agent: and what to type then" grep -q "$(command_of 'sluice limiter clear')\$" "$tmp/out"
    types "sluice why $id"
    rule "$agent: why says the same" grep -q "$agent said: \".*$4" "$tmp/out"
    types 'sluice status'
    rule "$agent: so does the alert" grep -q "account:$agent .*$agent said: \".*$4" "$tmp/out"
    rule "$agent: no call was answered before the login" [ "$(asked "sum(one['scene'] != 'no key' for one in r)")" = 0 ]
    rule "$agent: nothing was charged for" [ "$(charged in) $(charged out)" = '0 0' ]
    rule "$agent: one run has tried it, and no retry is used up" [ "$(of "$id" "(len(t['runs']), t['counters']['failures'])")" = '(1, 0)' ]

    types "$(command_of umask)"
    types "$(command_of 'sluice config set agents')"
    exits 0 "$agent: the key"
    types 'sluice doctor'
    grep "agent $agent " "$tmp/out" | grep -q ', logged in'
    report $? "$agent: doctor says that it is logged in"
    types "$(command_of 'sluice limiter clear')"
    exits 0 "$agent: the one command that goes on"
    types "$(command_of 'sluice wait')"
    exits 0 "$agent: it is done"
    rule "$agent: in two runs" [ "$(of "$id" "len(t['runs'])")" = 2 ]
    rule "$agent: of one session" [ "$(of "$id" "len({run['session'] for run in t['runs']})")" = 1 ]
    rule "$agent: in a sandbox" boxed "$id"
    rule "$agent: the model was asked twice" [ "$(asked "sum(one['scene'] in ('tool', 'ok') for one in r)")" = 2 ]
    ledger="$(charged in) $(charged out)"
    echo "# ledger: $agent, from no login to done: charged $ledger, booked $(booked "$id" in) $(booked "$id" out)"
    rule "$agent: booked is what was charged" [ "$(booked "$id" in) $(booked "$id" out)" = "$ledger" ]
    types "$(command_of 'sluice logs')"
    rule "$agent: the log is readable" grep -q '^I have added it' "$tmp/out"
    types "$(command_of 'sluice diff')"
    rule "$agent: the diff has the line" grep -q "^+make test, says $agent" "$tmp/out"
    types "$(command_of 'sluice merge')"
    exits 0 "$agent: merge"
    rule "$agent: the change is in the main branch" \
        [ "$(git -C "$HOME/src/web" show main:README.md | tail -n 1)" = "make test, says $agent." ]
    rule "$agent: as one commit" [ "$(git -C "$HOME/src/web" rev-list --count main)" = $((1 + ${id#web-})) ]
    rule "$agent: which the folder of the user has" [ -z "$(git -C "$HOME/src/web" status --porcelain)" ]
    rule "$agent: the key is in no file of Sluice" [ -z "$(grep -rl key-of-the-stub "$home")" ]
}

walk claude ANTHROPIC_API_KEY web-1 'Not logged in'
walk codex CODEX_API_KEY web-2 '401 Unauthorized'
finish
