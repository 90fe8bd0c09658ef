#!/bin/sh
# docs/guide/hosts.md: the data of a store moves to a shared directory.
# shellcheck disable=SC1091 # kit.sh
. "$(dirname "$0")/kit.sh"
document docs/guide/hosts.md
"$SLUICE" run -- true >/dev/null 2>&1
in_shared() {
    rule 'the runs are in the shared directory' [ -d "$HOME/shared/sluice/runs" ]
}
after 'sluice config set data.folder' in_shared
mkdir "$HOME/shared"
play
played
