#!/bin/sh
# sluice version.
# shellcheck disable=SC2154 # lib.sh sets here, root and tmp
. "$(dirname "$0")/lib.sh"

version=$(sed -n "s/^ *version: '\(.*\)',/\1/p" "$root/meson.build")
run sluice version
exits 0 'version: exit code'
prints "sluice $version" 'the version of meson.build'
run sluice --version
prints "sluice $version" '--version'
run sluice version --json
prints "{\"version\":\"$version\"}" 'as JSON'
run sluice version now
exits 2 'an argument too many: exit code'
says "sluice: 'version' does not take the argument 'now'
usage: sluice version" 'an argument too many'
finish
