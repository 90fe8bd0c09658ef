# schedules.sh: checks of schedules, for tests that read kit.sh before.
# shellcheck shell=sh

# number SCHEDULE MEMBER
number() {
    "$SLUICE" schedule show "$1" --json | first "$2"
}

fired_more() { # SCHEDULE THAN
    [ "$(number "$1" fired)" -gt "$2" ]
}

# Checks that every second from the first firing to the last is covered once. Prints problems.
account() { # SCHEDULE
    "$SLUICE" events --json --after 0 --limit 100000 >events.json
    "$SLUICE" schedule show "$1" --json >schedule.json
    "$SLUICE" list --json --state all --limit 10000 >list.json
    python3 - "$1" <<'END'
import json, sys
name = sys.argv[1]
events = [e for e in json.load(open('events.json'))['items'] if (e.get('data') or {}).get('schedule') == name]
schedule = json.load(open('schedule.json'))
fired = [e['data']['due_at'] // 1000 for e in events if e['kind'] == 'schedule.fired']
skips = {e['data']['first']: e['data'] for e in events if e['kind'] == 'schedule.skipped'}
for skip in schedule['skips']:
    skips[skip['first']] = skip
covered = sorted(fired)
for skip in skips.values():
    seconds = range(skip['first'] // 1000, skip['last'] // 1000 + 1)
    if len(seconds) != skip['count']:
        print('count', skip)
    covered += seconds
covered.sort()
if covered != list(range(covered[0], covered[-1] + 1)):
    print('not once each', covered)
if len(fired) != schedule['fired'] or len(covered) - len(fired) != schedule['skipped']:
    print('totals', len(fired), len(covered), schedule)
tasks = [e['task'] for e in events if e['kind'] == 'schedule.fired']
known = {t['id'] for t in json.load(open('list.json'))['items']}
if len(set(tasks)) != len(fired) or not set(tasks) <= known:
    print('tasks', len(tasks), len(set(tasks)), len(known))
END
}
