#!/usr/bin/env python3
"""ledger.py: which recorded runs test_ledger.sh plays, and is what was booked for them what was charged?

usage: ledger.py plan RECORDINGS FOLDER      writes tasks.json and expected.json to FOLDER
       ledger.py compare FOLDER              reads them, and booked.jsonl: what `sluice show --json` printed

Each recording of charged.txt is the attempt of a task, behind those that it goes on from. Then come runs that print several
recordings, in any order, as they are and changed (recorded-agent)."""
import json
import os
import random
import sys

CHANGES = ["", "crlf", "twice", "new", "broken", "huge", "cut"]
MIXED = 84


# A canceled task drops its session: its next run does not resume it.
FORGOTTEN = {("codex", "int")}


class Row:
    def __init__(self, line, folder):
        words = line.split(None, 7)
        self.agent, self.name = words[0], words[1]
        self.charged = [int(words[2]), int(words[3])]
        self.booked = [had if told == "=" else None if told == "-" else int(told)
                       for had, told in zip(self.charged, words[4:6])]
        self.after = words[6]
        self.why = words[7] if len(words) > 7 else ""
        files = os.listdir(os.path.join(folder, self.agent, self.name))
        self.has_files = any(name.startswith(("session", "usage")) for name in files)

    def is_plain(self):
        """Its numbers are in its output, all of them, and it stands for itself."""
        return not self.why and not self.has_files and self.after == "-"


def read_rows(folder):
    with open(os.path.join(folder, "charged.txt"), encoding="utf-8") as table:
        return [Row(line, folder) for line in table if line.strip() and not line.startswith("#")]


def chains(rows):
    """Lists of runs, each of which goes on from the one before; every row is in one of them."""
    by_name = {(row.agent, row.name): row for row in rows}
    inner = {(row.agent, row.after) for row in rows}
    for row in rows:
        chain = [row]
        while chain[0].after != "-":
            chain.insert(0, by_name[chain[0].agent, chain[0].after])
        if (row.agent, row.name) in inner and (row.agent, row.name) not in FORGOTTEN:
            continue
        if (row.agent, row.after) not in FORGOTTEN:
            yield chain


def mixed(rows):
    """Runs of several sessions, in any order, in one output."""
    rng = random.Random(20261116)
    for number in range(MIXED):
        plain = [row for row in rows if row.is_plain()]
        agent = rng.choice(sorted({row.agent for row in plain}))
        some = [row for row in plain if row.agent == agent]
        yield rng.sample(some, rng.randint(1, min(6, len(some)))), CHANGES[number % len(CHANGES)]


def plan(recordings, folder):
    rows = read_rows(recordings)
    tasks, expected = [], []

    def add(agent, scenes, how, runs):
        number = len(tasks) + 1
        home = os.path.join(folder, "homes", str(number))
        os.makedirs(home)
        tasks.append({"agent": agent, "prompt": "Play it.", "title": f"{agent} {' '.join(scenes)} {how}".strip(),
                      "limiter": f"account-{number}", "retries": 0, "cwd": home,
                      "env": {"HOME": home, "SCENES": " ".join(scenes), "HOW": how, "RECORDINGS": recordings},
                      "checks": [["test", "-e", os.path.join(home, "over")]]})
        expected.append({"id": f"t-{number}", "title": tasks[-1]["title"], "runs": runs, "most": how == "cut"})

    for chain in chains(rows):
        add(chain[0].agent, [row.name for row in chain], "",
            [{"scene": f"{row.agent} {row.name}", "charged": row.charged, "booked": row.booked} for row in chain])
    for some, how in mixed(rows):
        charged = [sum(row.charged[i] for row in some) for i in (0, 1)]
        add(some[0].agent, ["+".join(row.name for row in some)], how,
            [{"scene": f"{some[0].agent} {'+'.join(row.name for row in some)}", "charged": charged, "booked": charged}])
    with open(os.path.join(folder, "tasks.json"), "w", encoding="utf-8") as out:
        json.dump({"tasks": tasks}, out)
    with open(os.path.join(folder, "expected.json"), "w", encoding="utf-8") as out:
        json.dump(expected, out)
    print(len(tasks), max(len(one["runs"]) for one in expected))


def is_right(told, wanted, is_most):
    """Unknown is as good as nothing where nothing was charged."""
    return all((had or 0) <= (want or 0) if is_most else (had or 0) == (want or 0) for had, want in zip(told, wanted))


def compare(folder):
    with open(os.path.join(folder, "expected.json"), encoding="utf-8") as file:
        expected = json.load(file)
    with open(os.path.join(folder, "booked.jsonl"), encoding="utf-8") as file:
        tasks = {task["id"]: task for task in map(json.loads, file)}
    wrong = 0
    for one in expected:
        runs = {run["attempt"]: run for run in tasks[one["id"]]["runs"]}
        for attempt, run in enumerate(one["runs"], 1):
            had = runs.get(attempt)
            told = [had["tokens_in"], had["tokens_out"]] if had else ["no run", "no run"]
            if had and is_right(told, run["booked"], one["most"]):
                continue
            wrong += 1
            print(f"{one['id']}.{attempt} {one['title']}: {run['scene']}: booked {told}, expected {run['booked']}"
                  f"{' at most' if one['most'] else ''}, outcome {had and had['outcome']}")
    print(f"{sum(len(one['runs']) for one in expected)} runs, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    if len(sys.argv) == 4 and sys.argv[1] == "plan":
        sys.exit(plan(sys.argv[2], sys.argv[3]))
    if len(sys.argv) == 3 and sys.argv[1] == "compare":
        sys.exit(compare(sys.argv[2]))
    print(__doc__.split("\n\n")[1], file=sys.stderr)
    sys.exit(2)
