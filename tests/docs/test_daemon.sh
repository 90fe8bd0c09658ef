#!/bin/sh
# docs/guide/daemon.md: the service, a backup, a restore, a drill.
# shellcheck disable=SC1091 # kit.sh
. "$(dirname "$0")/kit.sh"
document docs/guide/daemon.md
play
says_that 'sluice service status' active
played
