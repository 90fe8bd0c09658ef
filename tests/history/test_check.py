#!/usr/bin/env python3
"""test_check.py: a true history is judged clean, and each kind of false one is found. Prints TAP."""
import copy
import sys

sys.dont_write_bytecode = True
from check import Judge  # noqa: E402: the cache would be a file in the sources

CAPS = {"runs": 2, "left": 2}
WEIGHTS = {"left": 1, "right": 1}


class Maker:
    """A true history: tasks of two projects, two at a time, the second attempt of one after a loss."""

    def __init__(self, count=8, order=None):
        self.history = {"acked": [], "tasks": [], "runs": [], "events": [], "side": []}
        for number in range(1, count + 1):
            self.add(number)
        order = order or list(range(1, count + 1))
        for at in range(0, count, 2):
            pair = order[at:at + 2]
            for n in pair:
                self.start(n, 1)
            for n in pair:
                self.end(n, 1, lost=n == 3)
        self.start(3, 2)
        self.end(3, 2)

    def event(self, kind, number, attempt=None, **data):
        events = self.history["events"]
        events.append({"seq": len(events) + 5, "kind": kind, "task": self.name(number), "attempt": attempt, "data": data})

    @staticmethod
    def name(number):
        return f"t-{number}"

    @staticmethod
    def code(number):
        return 7 if number == 2 else 0

    def state(self, number, to, attempt):
        task = self.history["tasks"][number - 1]
        self.event("task.state", number, attempt, **{"from": task["state"], "to": to})
        task["state"] = to

    def add(self, number):
        project = "left" if number % 2 else "right"
        depends = [self.name(1)] if number == 5 else []
        self.history["acked"].append({"id": self.name(number), "key": f"key-{number}", "code": self.code(number),
                                      "canceled": False, "depends": depends})
        self.history["tasks"].append({"id": self.name(number), "project": project, "priority": 100, "state": "ready"})
        self.event("task.added", number, project=project)

    def note(self, what, number, attempt):
        side = self.history["side"]
        side.append({"what": what, "task": self.name(number), "attempt": attempt, "pid": number, "code": self.code(number),
                     "at": 1000 + 10 * len(side)})

    def start(self, number, attempt):
        self.state(number, "starting", attempt)
        self.event("run.started", number, attempt)
        self.state(number, "running", attempt)
        self.note("start", number, attempt)

    def end(self, number, attempt, lost=False):
        code = self.code(number)
        if not lost:
            self.note("end", number, attempt)
        self.history["runs"].append({"task": self.name(number), "attempt": attempt, "how": "exit", "exit_code": code,
                                     "outcome": "lost" if lost else "ok" if code == 0 else "failed"})
        self.state(number, "ready" if lost else "done" if code == 0 else "failed", attempt)


def find(items, **members):
    return next(item for item in items if all(item[name] == value for name, value in members.items()))


def swap_starts(h):
    """Task 3 starts before task 1, although both were ready."""
    events = h["events"]
    a, b = (find(events, kind="task.state", task=task, attempt=1) for task in ("t-1", "t-3"))
    a["task"], b["task"] = b["task"], a["task"]


def shift_starts(h, by):
    for note in h["side"]:
        if note["what"] == "start":
            note["at"] -= by


def unfair(h):
    """400 tasks of each project, all ready at once; those of one project run first."""
    h.update(Maker(800, list(range(1, 801, 2)) + list(range(2, 801, 2))).history)


# What is false, the kind that must be found, the change.
FALSE = [
    ("a lost acknowledgement", "loss", lambda h: h["tasks"].pop(0)),
    ("a run without a record", "loss", lambda h: h["runs"].remove(find(h["runs"], task="t-4"))),
    ("a task that no event added", "loss", lambda h: h["events"].pop(0)),
    ("a task that was never acknowledged", "duplication", lambda h: h["acked"].pop()),
    ("two tasks for one key", "duplication", lambda h: h["acked"][1].update(key="key-1")),
    ("one task for two requests", "duplication", lambda h: h["acked"].append(dict(h["acked"][0], key="another"))),
    ("a task that is listed twice", "duplication", lambda h: h["tasks"].append(h["tasks"][0])),
    ("an attempt that ran twice", "duplication", lambda h: h["side"].append(dict(h["side"][0], pid=99, at=9000))),
    ("an attempt that is recorded twice", "duplication", lambda h: h["runs"].append(h["runs"][0])),
    ("attempts that overlap", "duplication",
     lambda h: (h["side"].append(dict(find(h["side"], task="t-3"), what="end", at=5000)), h["runs"].clear())),
    ("a false exit code", "end", lambda h: find(h["runs"], task="t-2").update(exit_code=0)),
    ("an end that never happened", "end", lambda h: h["side"].remove(find(h["side"], task="t-4", what="end"))),
    ("a run that never was", "end", lambda h: [h["side"].remove(n) for n in h["side"][:] if n["task"] == "t-4"]),
    ("a successful run called lost", "end", lambda h: find(h["runs"], task="t-4").update(outcome="lost")),
    ("a run that was not launched", "end", lambda h: find(h["runs"], task="t-4").update(outcome="launch", how=None)),
    ("a run without an end", "end", lambda h: find(h["runs"], task="t-4").update(outcome=None)),
    ("a failure called done", "end", lambda h: find(h["tasks"], id="t-2").update(state="done")),
    ("a malformed note", "end", lambda h: h["side"].append({"what": "malformed", "line": "sta"})),
    ("a missing event", "order", lambda h: h["events"].pop(12)),
    ("events in another order", "order", lambda h: h["events"].insert(3, h["events"].pop(12))),
    ("a state from nowhere", "order", lambda h: find(h["events"], task="t-4", kind="task.state")["data"].update({"from": "held", "to": "draft"})),
    ("an attempt that goes back", "order", lambda h: find(h["events"], task="t-3", kind="run.started", attempt=2).update(attempt=1)),
    ("a task before its prerequisite", "order", lambda h: find(h["acked"], id="t-1").update(depends=["t-5"])),
    ("a later task first", "order", swap_starts),
    ("too many runs in the notes", "cap", lambda h: shift_starts(h, 400)),
    ("too many runs in the events", "cap",
     lambda h: [h["events"].remove(e) for e in h["events"][:] if e["data"].get("to") in ("done", "failed")]),
    ("shares that no weight explains", "fairness", unfair),
]


def judged(change, **options):
    history = copy.deepcopy(Maker().history)
    change(history)
    return Judge(history, CAPS, WEIGHTS, **options).judge()


def main():
    cases = [("a true history is clean", not judged(lambda h: None), judged(lambda h: None)),
             ("equal shares are clean", not judged(lambda h: h.update(Maker(800).history)), ""),
             ("after a power cut a lost run may have ended",
              not judged(lambda h: find(h["runs"], task="t-4").update(outcome="lost"), power=True), ""),
             ("other clients may have added tasks", not judged(lambda h: h["acked"].pop(), some=True), "")]
    for name, kind, change in FALSE:
        violations = judged(change)
        cases.append((f"{kind}: {name}", any(found == kind for found, _ in violations), violations))
    for number, (name, good, violations) in enumerate(cases, 1):
        print(f"{'ok' if good else 'not ok'} {number} - {name}")
        if not good:
            print(f"# found: {violations[:5]}")
    print(f"1..{len(cases)}")
    sys.exit(not all(good for _, good, _ in cases))


if __name__ == "__main__":
    main()
