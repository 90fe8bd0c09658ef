# hook.sh: a webhook receiver for the tests, with its own folder. Source it after kit.sh.
#
#   $hook                     its folder; hook_server.c describes the files
#   $url                      the URL that it listens on
#   hook_start [SECRET]       starts it; it is stopped at the end of the test
#   mode WORD                 sets the response to the following requests
#   posts TEXT                prints the number of requests with this text
#   posted TEXT               waits until there is a request with this text
#   tried N MODE TITLE        true if at least N requests with this title were handled in this mode
#   ids MODE                  prints the ids of the requests that were handled in this mode, oldest first
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
