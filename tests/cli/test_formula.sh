#!/bin/sh
# sluice formula: lists formulas, shows their variables, checks them. Needs no daemon.
# shellcheck disable=SC2154 # lib.sh sets tmp
. "$(dirname "$0")/lib.sh"
SLUICE_HOME=$tmp/home
export SLUICE_HOME
mkdir -p "$SLUICE_HOME/formulas" web/.sluice/formulas
echo "projects: {web: {path: $tmp/web}}" >"$SLUICE_HOME/sluice.yaml"
run sluice formula list
prints "no formulas found; 'sluice formula --help' shows where they are searched" 'none yet'
cat >"$SLUICE_HOME/formulas/release.yaml" <<'END'
description: build and publish
vars:
  version:
  channel: stable
  note: {description: said at the end}
steps:
  - id: build
    run: make {{version}}
  - needs: build
    run: ./publish {{channel}} {{note}}
END
run sluice formula list
prints '  NAME     STEPS  VARS                   ABOUT
  release      2  version* channel note  build and publish' 'a table'
run sluice formula list --json
has '"vars":[{"name":"version","required":true,"default":null,"description":null}' 'as JSON'
run sluice formula show release
prints 'release: build and publish
  --var version=VALUE (required)
  --var channel=stable
  --var note=  said at the end
  build: make {{version}}
  2: ./publish {{channel}} {{note}} (after build)' 'one of them'
run sluice formula show --json release
has '"steps":[{"name":"build"' 'one of them, as JSON'
printf 'steps:\n  - run: echo web\n' >web/.sluice/formulas/release.yaml
run sluice formula show --project web release
has '1: echo web' 'that of the project goes before'
run sluice formula check release "$SLUICE_HOME/formulas/release.yaml"
prints 'release is valid: 2 steps
release is valid: 2 steps' 'good ones'
bad() { # TEXT MESSAGE
    printf '%b' "$1" >bad.yaml
    run sluice formula check ./bad.yaml
    says "sluice: $2" "bad: $2"
}
bad 'steps:\n  - run: echo {{who}}\n' "./bad.yaml:2: variable 'who' is not declared in 'vars'"
bad 'vars: {whom: me}\nsteps:\n  - run: echo {{who}}\n' "./bad.yaml:3: variable 'who' is not declared; did you mean 'whom'?"
bad 'steps:\n  - run: echo {{a b}}\n' "./bad.yaml:2: '{{a b}}' is no variable like {{name}}; write {{{{ for {{"
bad 'steps:\n  - run: echo {{a\n' "./bad.yaml:2: '{{a' is no variable like {{name}}; write {{{{ for {{"
bad 'step:\n  - run: x\n' "./bad.yaml:1: a formula has no 'step'; did you mean 'steps'?"
bad 'vars: {a: 1}\n' './bad.yaml:1: there are no steps in it'
bad '- run: x\n' './bad.yaml:1: expected a formula with vars and steps, got a list'
bad 'vars: {1a: x}\nsteps: [{run: x}]\n' "./bad.yaml:1: '1a' is not the name of a variable: letters, digits, - and _, a letter first"
bad 'vars: {a: {required: true, default: 1}}\nsteps: [{run: x}]\n' "./bad.yaml:1: variable 'a' is required and has a default; leave one out"
bad 'vars: {a: {must: true}}\nsteps: [{run: x}]\n' "./bad.yaml:1: a variable has no 'must'; it has description, default and required"
bad 'vars: {a: [1]}\nsteps: [{run: x}]\n' "./bad.yaml:1: 'a': expected a default, or description, default and required, got a list"
bad 'steps:\n  - rum: x\n' "./bad.yaml:2:5: a task has no 'rum'; did you mean 'run'?"
run sluice formula check ./bad.yaml
exits 2 'a bad one: exit code'
run sluice formula check --json ./bad.yaml release
has '"good":false,"error":"./bad.yaml:2:5:' 'a bad one as JSON'
run sluice formula show nope
exits 2 'none of that name: exit code'
says "sluice: there is no formula 'nope': not $SLUICE_HOME/formulas/nope.yaml" 'none of that name'
run sluice formula
exits 2 'no subcommand'
finish
