"""Prints what happens, from now on or behind a number, until a task has ended.

usage: follow_events.py TASK [AFTER]
"""

import sys

import sluice

FINAL = ("done", "failed", "canceled", "invalidated")


def main() -> None:
    task = sys.argv[1]
    after = int(sys.argv[2]) if len(sys.argv) > 2 else None
    client = sluice.Client()
    with client.events(after=after) as events:
        # The stream is open: what ends from here on is an event.
        if after is None and client.task.show(task)["state"] in FINAL:
            return
        for event in events:
            print(event["seq"], event["kind"], event["task"] or "-", flush=True)
            if event["kind"] == "reset" or event["task"] == task:
                if client.task.show(task)["state"] in FINAL:
                    return


main()
