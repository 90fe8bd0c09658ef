#!/usr/bin/env python3
"""check.py: judges a history from outside: what clients were answered, what the API and the event stream report, what agents wrote.

usage: check.py --socket PATH --acked FILE --side FILE [--save FILE] [OPTION...]
       check.py --load FILE [OPTION...]

Uses no code of the project, so that an error in it cannot hide itself. Call it when every task has ended.

  --acked FILE   one JSON object per line: an acknowledged task {"id", "key", "code", "canceled", "depends"}
  --side FILE    what the runs wrote (tests/torture/side_agent.c): WHAT TASK ATTEMPT PID CODE TIME_US ...
  --cap KEY=N    at most N runs at any instant; KEY is `runs` or the name of a project
  --weight P=N   the share of project P; given for all projects or for none
  --power        the power was cut: a run whose agent ended may be lost
  --some         other clients added tasks, too: a task that is not in --acked is no violation
  --save FILE    keeps the history for --load

Prints one line per violation: its kind (loss, duplication, end, order, cap, fairness), then the message. Exit code 1: there is one."""
import argparse
import collections
import http.client
import json
import re
import socket
import sys

PAGE = 1000
FINAL = {"done", "failed", "canceled", "invalidated"}
ACTIVE = {"starting", "running"}
FAIR_STARTS = 300  # fewer contested starts say nothing about shares
FAIR_ERROR = 0.2
SHOWN = 20


# --- reading -------------------------------------------------------------------------------------

class Api(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=120)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)

    def get(self, path):
        self.request("GET", path)
        answer = self.getresponse()
        text = answer.read()
        if answer.status != 200:
            raise SystemExit(f"check: GET {path}: {answer.status} {text.decode(errors='replace')}")
        return json.loads(text)

    def pages(self, path, cursor):
        after = ""
        while True:
            page = self.get(f"{path}limit={PAGE}{after}")
            yield from page["items"]
            if page["next"] is None:
                return
            after = f"&{cursor}={page['next']}"

    def events(self):
        after = 0
        while True:
            page = self.get(f"/v1/events?limit={PAGE}&after={after}")
            yield from page["items"]
            if not page["items"]:
                return
            after = page["items"][-1]["seq"]


def read_side(path):
    with open(path, encoding="utf-8") as file:
        for line in file:
            word = line.split()
            if len(word) < 6 or word[0] not in ("start", "end"):
                yield {"what": "malformed", "line": line.rstrip("\n")}
                continue
            yield {"what": word[0], "task": word[1], "attempt": int(word[2]), "pid": int(word[3]),
                   "code": int(word[4]), "at": int(word[5])}


def read_history(options):
    if options.load:
        with open(options.load, encoding="utf-8") as file:
            return json.load(file)
    api = Api(options.socket)
    with open(options.acked, encoding="utf-8") as file:
        acked = [json.loads(line) for line in file]
    return {"acked": acked, "tasks": list(api.pages("/v1/tasks?state=all&", "cursor")), "runs": list(api.pages("/v1/runs?", "after")),
            "events": list(api.events()), "side": list(read_side(options.side))}


# --- judging -------------------------------------------------------------------------------------

class Judge:
    def __init__(self, history, caps=None, weights=None, power=False, some=False):
        self.acked, self.events = history["acked"], history["events"]
        self.tasks = {task["id"]: task for task in history["tasks"]}
        self.task_count = len(history["tasks"])
        self.runs, self.side = history["runs"], history["side"]
        self.caps, self.weights = caps or {}, weights or {}
        self.power, self.some = power, some
        self.violations = []
        self.intervals = {}  # (task, attempt) → [start, end or None, code]

    def found(self, kind, message):
        self.violations.append((kind, message))

    def judge(self):
        self.read_intervals()
        self.judge_loss()
        self.judge_duplication()
        self.judge_ends()
        self.judge_order()
        self.judge_caps()
        self.judge_classes()
        return self.violations

    def read_intervals(self):
        for line in self.side:
            key = (line.get("task"), line.get("attempt"))
            if line["what"] == "malformed":
                self.found("end", f"a run wrote '{line['line']}'")
            elif line["what"] == "start":
                if key in self.intervals:
                    self.found("duplication", f"{key[0]} attempt {key[1]} ran twice")
                self.intervals.setdefault(key, [line["at"], None, None])
            elif key not in self.intervals or self.intervals[key][1] is not None:
                self.found("end", f"{key[0]} attempt {key[1]} ended without a start")
            else:
                self.intervals[key][1:] = [line["at"], line["code"]]

    def project(self, task):
        return self.tasks[task]["project"] if task in self.tasks else None

    def judge_loss(self):
        known = {acked["id"] for acked in self.acked}
        added = {event["task"] for event in self.events if event["kind"] == "task.added"}
        for task in known:
            if task not in self.tasks:
                self.found("loss", f"{task} was acknowledged and does not exist")
            elif task not in added:
                self.found("loss", f"{task} exists, and no event reports that it was added")
        for task in self.tasks:
            if task not in known and not self.some:
                self.found("duplication", f"{task} exists and was never acknowledged")
        recorded = {(run["task"], run["attempt"]) for run in self.runs}
        for task, attempt in self.intervals:
            if (task, attempt) not in recorded:
                self.found("loss", f"{task} attempt {attempt} ran and is not on record")

    def judge_duplication(self):
        keys, ids = {}, collections.Counter(acked["id"] for acked in self.acked)
        for acked in self.acked:
            key = acked.get("key")
            if key and keys.setdefault(key, acked["id"]) != acked["id"]:
                self.found("duplication", f"the key {key} made {keys[key]} and {acked['id']}")
        for task, count in ids.items():
            if count > 1:
                self.found("duplication", f"{task} is the answer of {count} requests")
        if self.task_count != len(self.tasks):
            self.found("duplication", "a task is in the list twice")
        for (task, attempt), count in collections.Counter((r["task"], r["attempt"]) for r in self.runs).items():
            if count > 1:
                self.found("duplication", f"{task} attempt {attempt} is on record {count} times")
        by_task = collections.defaultdict(list)
        for (task, attempt), (start, end, _) in self.intervals.items():
            by_task[task].append((attempt, start, end if end is not None else start))
        for task, runs in by_task.items():
            runs.sort()
            for (first, _, end), (second, start, _) in zip(runs, runs[1:]):
                if start < end:
                    self.found("duplication", f"{task} attempt {second} began before attempt {first} had ended")

    def judge_ends(self):
        for run in self.runs:
            self.judge_end(run, f"{run['task']} attempt {run['attempt']}",
                           self.intervals.get((run["task"], run["attempt"])))
        for acked in self.acked:
            state = self.tasks.get(acked["id"], {}).get("state")
            due = "canceled" if acked.get("canceled") else "done" if acked["code"] == 0 else "failed"
            if state is not None and state != due:
                self.found("end", f"{acked['id']} returns {acked['code']} and is {state}, not {due}")

    def judge_end(self, run, name, interval):
        outcome = run["outcome"]
        if outcome is None:
            self.found("end", f"{name} has no end on record")
        elif outcome == "lost":
            if interval and interval[1] is not None and not self.power:
                self.found("end", f"{name} is lost on record, and ended with {interval[2]}")
        elif outcome == "launch" and run["how"] != "exit":
            if interval:
                self.found("end", f"{name} could not be launched, and it ran")
        elif outcome != "canceled":
            if interval is None:
                self.found("end", f"{name} is {outcome} on record, and never ran")
            elif interval[1] is None:
                self.found("end", f"{name} is {outcome} on record, and never ended")
            elif run["how"] == "exit" and run["exit_code"] != interval[2]:
                self.found("end", f"{name} ended with {interval[2]}, the record says {run['exit_code']}")

    def judge_order(self):
        seq, states, attempts, done = None, {}, {}, set()
        depends = {acked["id"]: acked.get("depends") or [] for acked in self.acked}
        for event in self.events:
            if seq is not None and event["seq"] != seq + 1:
                self.found("order", f"event {event['seq']} follows event {seq}")
            seq = event["seq"]
            task, data = event["task"], event["data"]
            if event["kind"] == "task.state":
                if states.get(task, data["from"]) != data["from"]:
                    self.found("order", f"event {seq}: {task} goes from {data['from']} to {data['to']}, but was {states[task]}")
                states[task] = data["to"]
                if data["to"] == "done":
                    done.add(task)
                if data["to"] == "starting":
                    for other in depends.get(task, []):
                        if other not in done:
                            self.found("order", f"event {seq}: {task} starts before {other} is done")
            elif event["kind"] == "run.started":
                if event["attempt"] <= attempts.get(task, 0):
                    self.found("order", f"event {seq}: attempt {event['attempt']} of {task} starts after {attempts[task]}")
                attempts[task] = event["attempt"]
        for task, state in states.items():
            if task in self.tasks and self.tasks[task]["state"] != state:
                self.found("order", f"{task} is {self.tasks[task]['state']}, and the last event left it {state}")
        first, last = {}, {}
        for (task, _), (start, end, _) in self.intervals.items():
            first[task] = min(start, first.get(task, start))
            last[task] = max(end or start, last.get(task, 0))
        for task, others in depends.items():
            for other in others:
                if task in first and first[task] < last.get(other, first[task] + 1):
                    self.found("order", f"{task} ran before {other} had ended")

    def judge_caps(self):
        """An agent writes after it has begun and before it ends, so what overlaps in its notes really did."""
        for key, cap in self.caps.items():
            steps = []
            for (task, _), (start, end, _) in self.intervals.items():
                if key in ("runs", self.project(task)):
                    steps += [(start, 1), (start + 1 if end is None else end, -1)]
            now = peak = 0
            for _, step in sorted(steps):
                now += step
                peak = max(peak, now)
            if peak > cap:
                self.found("cap", f"{peak} runs of '{key}' at one instant, the cap is {cap}")

    def judge_classes(self):
        """First starts in the order in which tasks of one project and priority were added, and shares by weight."""
        waiting = collections.defaultdict(dict)  # (project, priority) → tasks that never started, in order
        active = {}  # task → project
        contested = collections.Counter()
        for event in self.events:
            task, data = event["task"], event["data"]
            if task not in self.tasks:
                continue
            project = self.project(task)
            group = waiting[(project, self.tasks[task]["priority"])]
            if event["kind"] == "task.added":
                group[task] = event["seq"]
            elif event["kind"] == "task.state":
                if data["to"] == "starting" and task in group:
                    self.judge_start(event, group, waiting, active, contested)
                if data["to"] in FINAL or data["to"] in ("held", "waiting", "draft"):
                    group.pop(task, None)
                if data["to"] in ACTIVE:
                    active[task] = project
                else:
                    active.pop(task, None)
                for key, cap in self.caps.items():
                    count = sum(key in ("runs", of) for of in active.values()) if data["to"] == "starting" else 0
                    if count > cap:
                        self.found("cap", f"event {event['seq']}: {count} active runs of '{key}', the cap is {cap}")
        total = sum(contested.values())
        if total >= FAIR_STARTS:
            for project, weight in self.weights.items():
                share, due = contested[project] / total, weight / sum(self.weights.values())
                if abs(share - due) > FAIR_ERROR:
                    self.found("fairness", f"{project} got {share:.0%} of {total} contested starts, its share is {due:.0%}")

    def judge_start(self, event, group, waiting, active, contested):
        task = event["task"]
        first = next(iter(group))
        if first != task:
            self.found("order", f"event {event['seq']}: {task} starts before {first}, which was added first")
        # Contested: every project has a task that could start instead.
        open_projects = {project for (project, _), tasks in waiting.items() if tasks
                         and sum(of == project for of in active.values()) < self.caps.get(project, 1 << 30)}
        if self.weights and open_projects >= set(self.weights):
            contested[self.project(task)] += 1
        del group[task]


def read_numbers(pairs):
    numbers = {}
    for pair in pairs:
        if not re.fullmatch(r"[^=]+=\d+", pair):
            raise SystemExit(f"check: '{pair}' is not KEY=NUMBER")
        key, number = pair.rsplit("=", 1)
        numbers[key] = int(number)
    return numbers


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n", 1)[1])
    for name in ("socket", "acked", "side", "save", "load"):
        parser.add_argument(f"--{name}")
    parser.add_argument("--cap", action="append", default=[])
    parser.add_argument("--weight", action="append", default=[])
    parser.add_argument("--power", action="store_true")
    parser.add_argument("--some", action="store_true")
    options = parser.parse_args()
    if not options.load and not (options.socket and options.acked and options.side):
        parser.error("--socket, --acked and --side are required, or --load")
    history = read_history(options)
    if options.save:
        with open(options.save, "w", encoding="utf-8") as file:
            json.dump(history, file)
    violations = Judge(history, read_numbers(options.cap), read_numbers(options.weight), options.power, options.some).judge()
    for kind, message in violations[:SHOWN]:
        print(f"{kind}: {message}")
    print(f"{len(history['acked'])} acknowledged tasks, {len(history['runs'])} runs, {len(history['events'])} events, "
          f"{len(history['side'])} notes: {len(violations)} violations")
    sys.exit(1 if violations else 0)


if __name__ == "__main__":
    main()
