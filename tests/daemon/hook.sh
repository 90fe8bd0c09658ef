# hook.sh: a receiver of webhooks for the tests, in a folder of its own. Read it after kit.sh.
#
#   $hook                     its folder; hook_server.c says what is in it
#   $url                      where it listens
#   hook_start [SECRET]       starts it; it ends with the test
#   mode WORD                 what it does with requests from now on
#   posts TEXT                how many requests had this text
#   posted TEXT               until one had
#   tried N MODE TITLE        at least N requests with this title got this mode
#   ids MODE                  the ids of the requests that met this mode, oldest first
# shellcheck shell=sh disable=SC2034,SC2154 # lib.sh sets tmp, kit.sh the rest
: "${HOOK_SERVER:?is not set: HOOK_SERVER=build/tests/daemon/hook_server}"
case $HOOK_SERVER in
/*) ;;
*) HOOK_SERVER=$OLDPWD/$HOOK_SERVER ;;
esac
hook=$tmp/hook
hook_pid=
mkdir "$hook"
: >"$hook/log"
trap 'stop_daemon; [ -z "$hook_pid" ] || kill "$hook_pid"; rm -rf "$tmp"' EXIT

hook_start() {
    "$HOOK_SERVER" "$hook" "${1-}" &
    hook_pid=$!
    soon test -s "$hook/port"
    url=http://127.0.0.1:$(cat "$hook/port")/hook
}

mode() {
    printf '%s\n' "$1" >"$hook/mode.new" && mv "$hook/mode.new" "$hook/mode"
}

posts() {
    grep -cF -e "$1" "$hook/log"
}

posted() {
    appears "$1" "$hook/log"
}

tried() {
    [ "$(grep -c "^$2 .*\"title\":\"$3\"" "$hook/log")" -ge "$1" ]
}

ids() {
    sed -n "s/^$1 .* id=\([^ ]*\) .*/\1/p" "$hook/log"
}
