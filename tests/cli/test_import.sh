#!/bin/sh
# sluice import: arguments and usage errors. tests/daemon/test_import.sh tests the imported tasks.
# shellcheck disable=SC2154 # lib.sh and daemon.sh set home, tmp
. "$(dirname "$0")/lib.sh"
. "$here/daemon.sh"
config 'agents: {claude: {command: [cat]}}
projects: {gt: }'
run sluice import
exits 2 'no subcommand'
run sluice import cards
exits 2 'no folder: exit code'
run sluice import cards .
exits 2 'no agent: exit code'
says "sluice: --agent is required
usage: sluice import cards [OPTIONS] --agent NAME DIR" 'no agent'
run sluice import cards --agent claude nowhere
exits 2 'no such folder: exit code'
says "sluice: cannot read 'nowhere': No such file or directory" 'no such folder'
mkdir empty
run sluice import cards --agent claude empty
says "sluice: there is no directory phase-* in 'empty'" 'no board'
mkdir -p board/phase-1/backlog
printf -- '---\nagent_flow: [a]\n---\nx\n' >board/phase-1/backlog/a.md
run sluice import cards --agent claude board
exits 2 'a bad card: exit code'
says "sluice: phase-1/backlog/a.md:2: 'agent_flow': expected one word, got a list" 'a bad card'
run sluice import cards --agent claude --dry-run --json --keep-going board
has '"refused":[{"source":"phase-1/backlog/a.md"' 'a bad card, as JSON'
run sluice import beads --agent claude nowhere.json
exits 2 'no such file: exit code'
echo '{"a":' >bad.json
run sluice import beads --agent claude bad.json
exits 2 'no JSON: exit code'
echo '{"a":1}' >bad.json
run sluice import beads --agent claude bad.json
says "sluice: bad.json: expected a list of issues, or an object with 'issues'" 'no issues'
mkdir bin
run env PATH="$tmp/bin" "$SLUICE" import beads --agent claude
says "sluice: there is no program 'bd' in PATH; give a file: bd ready --json > FILE" 'no bd'
run sluice import command --agent claude
exits 2 'command without a program: exit code'
run sluice import command --agent claude -- nowhere-at-all
exits 2 'no such program: exit code'
run sluice import command --agent claude --project gt --dry-run -- echo '{"id":"x","title":"y"}'
exits 0 'command: exit code'
has '1 would be added' 'command: a dry run'
run sluice import command --agent claude --project gt -- echo '{"title":"y"}'
exits 2 'a bad line: exit code'
says "sluice: line 1: it has no 'id'
sluice: nothing was imported: 1 bad line; use --keep-going to leave it out" 'a bad line'
finish
