"""Adds a command as a task, waits for its end and prints what it printed.

usage: add_and_wait.py COMMAND [ARGUMENT...]
"""

import sys

import sluice


def main() -> int:
    client = sluice.Client()
    try:
        added = client.task.add(tasks=[{"argv": sys.argv[1:]}])["tasks"]
        [task] = client.wait(one["id"] for one in added if one["id"])
    except sluice.BadRequest as error:
        print(f"not added: {error.message}", file=sys.stderr)
        return 2
    except sluice.Unavailable as error:
        print(error, file=sys.stderr)
        return 3
    sys.stdout.buffer.write(client.task.log(task["id"]).read())
    if task["needs_person"]:
        print(f"{task['id']} needs a person: {task['why']}", file=sys.stderr)
    return 0 if task["state"] == "done" else 1


sys.exit(main())
