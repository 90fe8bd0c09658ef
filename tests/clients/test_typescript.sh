#!/bin/sh
# The TypeScript client against a real daemon: every operation, errors, pages, events, waiting, TCP, and its examples.
# shellcheck disable=SC1091,SC2034,SC2154 # kit.sh sets home, root and tmp
. "$(dirname "$0")/kit.sh"

command -v node >/dev/null && [ -x "$root/web/node_modules/.bin/tsc" ] || { echo '1..0 # SKIP there is no TypeScript: build the dashboard first' && exit 0; }
"$root/scripts/build-typescript-client" "$tmp/typescript" >"$tmp/tsc" 2>&1 || { sed 's/^/# /' "$tmp/tsc" && echo 'Bail out! the client does not compile' && exit 1; }
cp "$here/rules.mjs" "$tmp/typescript/"
example() {
    name=$1
    shift
    run node "$tmp/typescript/$name.js" "$@"
}
rules() {
    run env SLUICE="$SLUICE" node "$tmp/typescript/rules.mjs" "$@"
}
find_socket() {
    run node "$tmp/typescript/health.mjs"
}
printf '%s\n' "import { Client } from 'sluice-client';" "console.log((await new Client().daemon.health()).ok ? 'True' : 'False');" >"$tmp/typescript/health.mjs"
printf '%s\n' "import { Client } from 'sluice-client';" 'console.log((await new Client().task.show(process.env.SLUICE_TASK)).state);' >"$tmp/typescript/in_run.mjs"
add_in_run() {
    add -- node "$tmp/typescript/in_run.mjs"
}
. "$here/play.sh"
