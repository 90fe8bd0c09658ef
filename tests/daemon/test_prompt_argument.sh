#!/bin/sh
# A prompt that begins with '-' is never an option of the agent, for any author. The fake agent obeys such options: it is
# first called without the protection, and executes the option.
# shellcheck disable=SC1091,SC2016,SC2154 # kit.sh sets id, tmp; the agent expands the rest
. "$(dirname "$0")/kit.sh"
PATH=$(dirname "$SLUICE"):$PATH
export PATH

cat >agent.sh <<END
permissions=asks
while [ \$# -gt 0 ]; do
    case \$1 in
    --) shift && break ;;
    --dangerously-skip-permissions) permissions=none ;;
    --message=*) set -- "\${1#*=}" && break ;;
    -*) ;;
    *) break ;;
    esac
    shift
done
echo "permissions=\$permissions prompt=\$*"
END
danger=--dangerously-skip-permissions
run sh agent.sh "$danger"
prints 'permissions=none prompt=' 'control: the agent takes such a prompt for an option'

config "agents:
  bare: {command: [sh, $tmp/agent.sh, '{prompt}'], prompt: argument}
  last: {command: [sh, $tmp/agent.sh], prompt: argument}
  both: {command: [sh, $tmp/agent.sh, '{prompt}']}
  dashes: {command: [sh, $tmp/agent.sh, --, '{prompt}'], prompt: argument}
  value: {command: [sh, $tmp/agent.sh, '--message={prompt}'], prompt: argument}
  known: {command: [sh, $tmp/agent.sh, -p, '{prompt}'], prompt: argument, adapter: claude}
  before: {command: [sh, $tmp/agent.sh], failover: [bare]}
projects: {web: }"
start

for agent in bare last both before; do
    run sluice add --agent $agent -- "$danger"
    exits 2 "agent '$agent': such a prompt is refused: exit code"
    complains "the prompt begins with '-', and would be an option" "agent '$agent': and the message says how to put it right"
done
run sluice add --agent before --failover none -- "$danger"
exits 0 'an agent that gets prompts on its standard input takes it'

# AGENT: runs a task with the same prompt; its output is in out.
run_agent() {
    add --agent "$1" -- "$danger"
    ends "$id"
    run sluice logs "$id"
}
for agent in dashes value known; do
    run_agent $agent
    has "permissions=asks prompt=$danger" "agent '$agent': it arrives as a prompt"
done
add --agent bare -- 'two words'
ends "$id"
run sluice logs "$id"
has 'permissions=asks prompt=two words' 'other prompts are as they were'

# A run cannot use the prompt of a child task to do what it may not do itself.
add --project web -- sh -c "sluice add --agent bare -- $danger; echo code \$?; sluice add --agent dashes -- $danger"
ends "$id"
run sluice logs "$id"
has 'code 2' 'a run cannot add such a child'
child=web-$((${id#web-} + 1))
ends "$child"
run sluice logs "$child"
has "permissions=asks prompt=$danger" 'or its prompt is only a prompt'

# The configuration changes before the launch.
add --agent dashes --hold -- "$danger"
"$SLUICE" config set agents.dashes.command="sh $tmp/agent.sh {prompt}" breaker.max=1 breaker.reset_s=never >/dev/null
run sluice release "$id"
rule 'a command that was changed meanwhile is not launched' becomes "$id" failed
run sluice show "$id"
has "the prompt begins with '-', and would be an option of agent 'dashes'" 'and the reason is the same'
finish
