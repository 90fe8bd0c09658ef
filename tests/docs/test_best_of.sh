#!/bin/sh
# docs/guide/best-of.md: three candidates of which a person picks one, and two of which an agent does.
# shellcheck disable=SC1091,SC2154 # kit.sh sets log
. "$(dirname "$0")/kit.sh"
document docs/guide/best-of.md
repository "$HOME/src/web"
agents_can_log
in_branch() {
    git -C "$HOME/src/web" show HEAD:README.md | grep -c 'make test'
}
first_pick() {
    rule 'the first pick is merged' [ "$(in_branch)" = 1 ]
}
after 'sluice pick web-1 web-3' first_pick
play
rule 'both tasks are done' [ "$(value web-1 state) $(value web-5 state)" = 'done done' ]
rule 'so is the second' [ "$(in_branch)" = 2 ]
prompted 'Candidate web-7, by codex, branch sluice/web-7' 'the chooser has the candidates'
played
