#!/bin/sh
# The Python client against a real daemon: every operation, errors, pages, events, waiting, TCP, and its examples.
# shellcheck disable=SC1091,SC2034,SC2154 # kit.sh sets home, root and tmp
. "$(dirname "$0")/kit.sh"

needs python3
python_program() { # FILE ARGUMENT...
    run env "PYTHONPATH=$root/clients/python" PYTHONDONTWRITEBYTECODE=1 SLUICE="$SLUICE" python3 "$@"
}
example() {
    name=$1
    shift
    python_program "$root/clients/python/examples/$name.py" "$@"
}
rules() {
    python_program "$here/rules.py" "$@"
}
# The long path has a socket in /tmp, whose name only a client with the same hash finds.
find_socket() {
    python_program -c 'import sluice; print(sluice.Client().daemon.health()["ok"])'
}
in_run='import os, sluice; print(sluice.Client().task.show(os.environ["SLUICE_TASK"])["state"])'
add_in_run() {
    add --env "PYTHONPATH=$root/clients/python" --env PYTHONDONTWRITEBYTECODE=1 -- python3 -c "$in_run"
}
. "$here/play.sh"
