#!/bin/sh
# sluice dash: a link that can be used once, and the port that it opens.
# shellcheck disable=SC2154 # lib.sh and daemon.sh set home, id, root and tmp
. "$(dirname "$0")/lib.sh"
. "$here/daemon.sh"
unset DISPLAY WAYLAND_DISPLAY

start
run sluice status --json
has '"http":{"url":null,"problem":null}' 'nobody listens until somebody asks'
run sluice dash
exits 0 'no display: exit code'
link=$(cat out)
expr "$link" : 'http://127\.0\.0\.1:[0-9]*/#t=[A-Za-z0-9_-]\{43\}$' >/dev/null
report $? 'no display: the link is printed'
url=${link%/#*}
says "sluice: the daemon now listens at $url; to use another address: sluice config set http.listen=ADDRESS" \
    'that it listens now is said'
run sluice status
rule 'and the status says where' grep -qF "$url" out
run sluice dash --print --scope read
exits 0 'again: exit code'
rule 'again: nothing new is opened' [ ! -s err ]
[ "$(sed 's|/#.*||' out)" = "$url" ] && [ "$(cat out)" != "$link" ]
report $? 'again: the same port, another code'
run sluice dash --print --port 1
says "sluice: the daemon already listens at $url: --port was ignored" 'a port that is not needed'
run sluice dash --json
has '"scope":"submit"' 'a page may add tasks'
run sluice dash --json --admin
has '"scope":"admin"' 'and more if that is asked for'
run sluice dash --json --admin --scope read
exits 2 'two scopes: exit code'
run sluice dash --json --scope read
has '"scope":"read"' 'as JSON'
has '"opened":false' 'as JSON: it listened already'

# With a display the opener gets a file that redirects to the link: every process of this user can read its arguments.
mkdir bin
cat >bin/xdg-open <<END
#!/bin/sh
echo "\$1" >"$tmp/opened.new" && mv "$tmp/opened.new" "$tmp/opened"
END
chmod +x bin/xdg-open
run env PATH="$tmp/bin:$PATH" DISPLAY=:7 "$SLUICE" dash
prints "opened $url in the browser" 'with a display the browser is opened'
rule 'with one argument' appears / opened
rule 'which is no link' not grep -qF '#t=' opened
rule 'but a file with the link' grep -qF "url=$url/#t=" "$(cat opened)"
rule 'that only this user can read' [ "$(stat -c %a "$(cat opened)")" = 600 ]
run env PATH="$tmp/bin:$PATH" DISPLAY=:7 "$SLUICE" dash --print
has "$url/#t=" '--print opens nothing'

run sluice dash --scope owner
exits 2 'a bad scope: exit code'
run sluice dash --port 65536
exits 2 'a bad port: exit code'
run sluice dash now
exits 2 'an argument too many'

# The configured value takes precedence.
run sluice config set http.listen=127.0.0.1:0
exits 0 'http.listen can be set while it runs'
run sluice dash --json
has '"opened":false' 'then it is used'
rule 'instead of the other' [ "$(sed 's/.*"url":"\([^"]*\)".*/\1/' out)" != "$url" ]
run sluice config set http.listen=0.0.0.0:0
exits 2 'an address for everybody without TLS: exit code'
says "sluice: http.listen: '0.0.0.0:0' can be reached from other machines: set 'http.tls_cert' and 'http.tls_key' too, or use 127.0.0.1" \
    'an address for everybody without TLS'
run sluice config set http.listen=localhost:80
exits 2 'a name is no address: exit code'
run sluice config unset http.listen
run sluice status --json
has '"http":{"url":null,"problem":null}' 'without it nobody listens any more'
finish
