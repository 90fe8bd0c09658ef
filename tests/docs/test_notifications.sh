#!/bin/sh
# docs/guide/notifications.md: a command that is notified.
# shellcheck disable=SC1091,SC2154 # kit.sh
. "$(dirname "$0")/kit.sh"
document docs/guide/notifications.md
printf 'secret' >"$HOME/hook-secret"
mkdir "$HOME/bin"
printf '#!/bin/sh\necho "$SLUICE_NOTIFY_TEXT" >>"%s/notified"\n' "$tmp" >"$HOME/bin/notify-me"
chmod +x "$HOME/bin/notify-me"
"$SLUICE" up >/dev/null
play
rule 'the command is notified' [ -s "$tmp/notified" ]
played
