#!/bin/sh
# The dashboard link and a hostile run: whether a run can find the link in /proc or in files, and whether it can use it. Every
# attack is first made from outside of a run, where it succeeds.
# shellcheck disable=SC1091,SC2016,SC2154 # kit.sh sets home, id and tmp
. "$(dirname "$0")/kit.sh"

needs curl

config 'http: {listen: "127.0.0.1:0"}'
start
url=$("$SLUICE" status --json | sed 's/.*"http":{"url":"\([^"]*\)".*/\1/')
printf '%s/#t=\n' "$url" >link.pattern
printf '%s/dash/\n' "$home" >file.pattern

# Searches the arguments of all processes, with the pattern in a file: otherwise grep would find itself.
cat >seen.sh <<END
cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\0' '\n' | grep -aFf "$tmp/\$1" | head -n 1
END
# Exchanges the code on stdin for a token. Prints the status, then the response.
cat >swap.sh <<END
sed 's/.*#t=\([A-Za-z0-9_-]*\).*/{"code":"\1"}/' |
    curl -s -m $patience -w '%{http_code} ' -o "$tmp/\$1" -H 'Content-Type: application/json' -d @- "$url/v1/session"
END
# The two attacks: the link from the arguments of a program; the link from the file in its arguments.
cat >by_link.sh <<END
sh "$tmp/seen.sh" link.pattern >"$tmp/loot"
[ ! -s "$tmp/loot" ] || sh "$tmp/swap.sh" answer <"$tmp/loot"
END
cat >by_file.sh <<END
sh "$tmp/seen.sh" file.pattern >"$tmp/loot.path"
[ ! -s "$tmp/loot.path" ] || grep -F url= "\$(cat "$tmp/loot.path")" | sh "$tmp/swap.sh" answer
END

# attack SCRIPT: from outside; attack_as_run SCRIPT: as a run. The output is in out, the response in answer.
attack() {
    rm -f loot loot.path answer
    sh "$tmp/$1" >out 2>err
}
attack_as_run() {
    rm -f loot loot.path answer
    add -- sh "$tmp/$1"
    ends "$id"
    run sluice logs "$id"
}
answered() { # STATUS 'what'
    rule "$2" [ "$(cat out)" = "$1 " ]
}

# --- a link in the arguments of a program -------------------------------------------------------------

mkfifo hold
show_link() {
    link=$("$SLUICE" dash --print --scope admin)
    sh -c 'read -r _ <hold' - "$link" &
    holder=$!
    sees_link() {
        tr '\0' '\n' <"/proc/$holder/cmdline" | grep -qFf link.pattern
    }
    soon sees_link
}
hide_link() {
    unblock hold
    is_gone $holder
}

show_link
attack by_link.sh
answered 200 'control: whoever sees a link in the arguments of a program gets a token for it'
rule 'control: an admin' grep -qF '"scope":"admin"' answer
hide_link
show_link
attack_as_run by_link.sh
rule 'control: a run sees such a link, too' [ "$(cat loot)" = "$link" ]
answered 403 'but a run gets no token for a code'
rule 'it is told why' grep -qF 'a process of a run cannot open the dashboard' answer
hide_link
printf '%s\n' "$link" | sh swap.sh answer >out
answered 401 'and the code that it has shown is used up'
show_link
add -- setsid --wait sh "$tmp/by_link.sh"
ends "$id"
run sluice logs "$id"
answered 403 'nor does a run that has left its session'
hide_link

# --- arguments of the browser -------------------------------------------------------------------------

mkdir bin
mkfifo close
cat >bin/xdg-open <<END
#!/bin/sh
printf '%s\n' "\$*" >"$tmp/opened.new" && mv "$tmp/opened.new" "$tmp/opened"
read -r _ <"$tmp/close"
END
chmod +x bin/xdg-open
open_page() {
    rm -f opened
    run env PATH="$tmp/bin:$PATH" DISPLAY=:7 "$SLUICE" dash
    appears / opened
    file=$(cat opened)
}

open_page
attack by_link.sh
rule 'the browser has no link in its arguments' [ ! -s loot ]
attack_as_run by_link.sh
rule 'so a run sees none' [ ! -s loot ]
rule 'it has the path of a file, which is private' [ "$(LC_ALL=C stat -c '%a %F' "$file")" = '600 regular file' ]
rule 'in a folder that is private' [ "$(LC_ALL=C stat -c '%a %F' "${file%/*}")" = '700 directory' ]
rule 'without a script' sh -c '! grep -qi "<script" "$1"' - "$file"
attack_as_run by_file.sh
rule 'control: a run of the same user can read it' [ "$(cat loot.path)" = "$file" ]
answered 403 'but gets no token for what is in it'
rule 'and the file is gone' [ ! -e "$file" ]
unblock close
open_page
attack by_file.sh
answered 200 'control: a browser gets one'
rule 'that may add tasks, and not change settings' grep -qF '"scope":"submit"' answer
rule 'the file is gone when its code is used' [ ! -e "$file" ]
unblock close

# --- remaining files ----------------------------------------------------------------------------------

open_page
kill -9 "$(pid_of_daemon)"
rule 'control: a daemon that is killed leaves a file' [ -e "$file" ]
start
rule 'the next one removes it' [ ! -e "$file" ]
unblock close
open_page
"$SLUICE" down --wait >/dev/null 2>&1
rule 'a daemon that ends removes it itself' [ ! -e "$file" ]
unblock close
finish
