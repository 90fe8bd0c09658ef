"""The rules of the Python client, against the daemon of test_python.sh. Prints the lines of TAP without numbers.

usage: rules.py OPENAPI FIFO
"""

import inspect
import json
import os
import subprocess
import sys
import threading
from typing import Any, Callable, Dict, List, Mapping, Optional, Type

import sluice
import sluice._api

SLUICE = os.environ["SLUICE"]
PATIENCE = float(os.environ.get("SLUICE_TEST_PATIENCE", "300"))


def rule(what: str, holds: object, seen: object = "") -> None:
    print(("ok - " if holds else "not ok - ") + what, flush=True)
    if not holds:
        print("# seen:", seen, flush=True)


def error_of(kind: Type[sluice.SluiceError], call: Callable[[], object]) -> Any:
    try:
        call()
    except kind as error:
        return error
    return None


def command(*words: str) -> str:
    return subprocess.run([SLUICE, *words], check=True, stdout=subprocess.PIPE, text=True, timeout=PATIENCE).stdout


def add(client: sluice.Client, task: sluice.Submission) -> str:
    name = client.task.add(tasks=[task])["tasks"][0]["id"]
    assert name is not None  # it would have been deferred
    return name


class Recorder:
    """Takes the place of the transport: what would be sent?"""

    def __init__(self) -> None:
        self.calls: List[Dict[str, Any]] = []

    def call(self, method: str, path: str, **more: Any) -> Any:
        self.calls.append({"method": method, "path": path, **more})
        raise LookupError


def operations_are_methods(document: Mapping[str, Any]) -> None:
    recorder = Recorder()
    groups = sluice._api.Groups(recorder)  # type: ignore[arg-type]
    wrong: List[str] = []
    count = 0
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            count += 1
            group, verb = operation["operationId"].split(".")
            function = getattr(getattr(groups, group, None), verb, None)
            if function is None:
                wrong.append(operation["operationId"])
                continue
            names = list(inspect.signature(function).parameters)
            places: Dict[str, List[str]] = {"path": [], "query": [], "header": []}
            for parameter in operation["parameters"]:
                places[parameter["in"]].append(parameter["name"])
            body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
            given: Dict[str, Any] = {name: f"<{name}>" for name in names if name != "settings"}
            if "settings" in names and "settings" not in body["properties"]:
                given["settings"] = {"weight": "<weight>"}
            elif "settings" in names:
                given["settings"] = "<settings>"
            try:
                function(**given)
            except LookupError:
                pass
            sent = recorder.calls.pop()
            expected_path = path
            for name in places["path"]:
                expected_path = expected_path.replace("{%s}" % name, "%3C" + name + "%3E")
            expected_body = set(body.get("properties", {})) | ({"weight"} if body.get("additionalProperties") else set())
            if (
                sent["method"] != method.upper()
                or sent["path"] != expected_path
                or set(sent.get("query", {})) != set(places["query"])
                or set(sent.get("body", {})) != expected_body
                or sent.get("keyed", False) != ("Idempotency-Key" in places["header"])
            ):
                wrong.append(f"{operation['operationId']}: {sent}")
    rule("every operation of the daemon is a method that sends all of its parameters", count > 80 and not wrong, wrong)


def answers(client: sluice.Client) -> None:
    name = add(client, {"argv": ["sh", "-c", "echo hello; echo error >&2"]})
    [task] = client.wait([name])
    rule("a task is added and waited for", task["state"] == "done" and task["finished"], task)
    rule("its output can be read", client.task.log(name).read() == b"hello\n")
    with client.task.log(name, stream="err") as log:
        rule("and its errors, piece by piece", b"".join(log) == b"error\n" and log.headers["x-sluice-attempt"] == "1")
    rule("a task can be shown", client.task.show(name)["runs"][0]["outcome"] == "ok")
    rule("metrics are a text", "sluice_start_time_seconds" in client.daemon.metrics())
    odd = "a/b c?d&é=#"
    error = error_of(sluice.ApiError, lambda: client.task.show(odd))
    rule("parameters in a path are escaped", odd in error.message, error)
    client.task.add(tasks=[{"argv": ["true"], "title": odd, "draft": True}])
    found = client.task.list(state="draft", text=odd)["items"]
    rule("and those of a query", [task["title"] for task in found] == [odd], found)


def errors(client: sluice.Client) -> None:
    error = error_of(sluice.NotFound, lambda: client.task.show("t-99999"))
    rule("an error has the code, the status and the message of the API", (error.code, error.status) == ("not_found", 404) and "t-99999" in error.message)
    error = error_of(sluice.BadRequest, lambda: client.task.add(tasks=[{"argv": ["true"]}, {}]))
    rule("and says which entry it is about", error.index == 1, error)
    rule("all errors have one base", isinstance(error, sluice.ApiError) and isinstance(error, sluice.SluiceError))
    error = error_of(sluice.Conflict, lambda: client.task.answer("t-1", text="yes"))
    rule("a conflict has a class of its own", error is not None)
    absent = error_of(sluice.Unavailable, lambda: sluice.Client("unix:/nowhere/sluice.sock").daemon.status())
    rule("without a daemon the error says how to start it", "sluice up" in str(absent), absent)
    rule("an address must be one", error_of(sluice.SluiceError, lambda: sluice.Client("ftp://x").daemon.status()) is not None)
    first = client.task.add(tasks=[{"argv": ["true"]}], idempotency_key="the-same-key")
    second = client.task.add(tasks=[{"argv": ["true"]}], idempotency_key="the-same-key")
    rule("a key is done once", first["tasks"][0]["id"] == second["tasks"][0]["id"], second)
    rule("and not for something else", error_of(sluice.Conflict, lambda: client.task.add(tasks=[{"argv": ["false"]}], idempotency_key="the-same-key")) is not None)


def pages(client: sluice.Client) -> None:
    added = client.task.add(tasks=[{"argv": ["true"], "draft": True} for _ in range(25)], new_group=True)
    group = added["group"]
    names = {task["id"] for task in added["tasks"]}
    listed = [task["id"] for task in client.task.list_all(state="draft", group=group, limit=10)]
    rule("all pages of a list are gone through", len(listed) == 25 and set(listed) == names, listed)
    rule("one page has its limit", len(client.task.list(state="draft", group=group, limit=10)["items"]) == 10)
    selected = list(client.task.select_all(state="draft", group=group, limit=10))
    rule("also where the items have another name", set(selected) == names, selected)


def events(client: sluice.Client) -> None:
    stream = client.events()
    name = add(client, {"argv": ["true"]})
    seen: List[sluice.Event] = []
    for event in stream:
        seen.append(event)
        if event["task"] == name and event["kind"] == "task.state" and event["data"].get("to", event["data"].get("state")) == "done":
            break
    rule("events begin where the stream was opened", seen[0]["kind"] == "task.added" and seen[0]["task"] == name, seen[:1])
    command("down", "--wait")
    command("up")
    later = add(client, {"argv": ["true"]})
    for event in stream:
        seen.append(event)
        if event["task"] == later:
            break
    numbers = [event["seq"] for event in seen]
    rule("a stream goes on after a restart of the daemon: no event is missing, none is there twice", numbers == list(range(numbers[0], numbers[0] + len(numbers))), numbers)
    stream.close()
    rule("a closed stream has ended", list(stream) == [])
    with client.events(after=numbers[2]) as again:
        rule("a stream can be resumed from any number", next(again)["seq"] == numbers[3] and again.position == numbers[3])
    with client.events(after=10**9) as ahead:
        event = next(ahead)
        rule("a number that the daemon does not know is a reset", event["kind"] == "reset" and event["seq"] < 10**9, event)
    with client.events(after=numbers[0] - 1, task=later) as filtered:
        rule("events of one task", next(filtered)["task"] == later)


def waits(client: sluice.Client, fifo: str) -> None:
    name = add(client, {"argv": ["sh", "-c", f"read -r word <{fifo}; echo $word"]})
    error = error_of(sluice.WaitTimedOut, lambda: client.wait([name], timeout=0))
    rule("a wait that takes too long is an error with the state of the tasks", error.tasks[0]["id"] == name and not error.tasks[0]["finished"])
    draft = add(client, {"argv": ["true"], "draft": True})
    rule("a task that needs a person ends a wait", client.wait([draft])[0]["needs_person"])
    rule("any: one of them is enough", client.wait([name, draft], any=True)[1]["needs_person"])
    result: List[sluice.WaitedTask] = []
    waiter = threading.Thread(target=lambda: result.extend(client.wait([name])))
    waiter.start()
    command("down")
    command("up")
    with open(fifo, "w") as out:
        out.write("go\n")
    waiter.join(PATIENCE)
    rule("a wait goes on after a restart of the daemon", [task["state"] for task in result] == ["done"], result)
    many = client.task.add(tasks=[{"argv": ["true"], "draft": True} for _ in range(300)])["tasks"]
    rule("more tasks than one request takes", len(client.wait([task["id"] or "" for task in many])) == 300)


def questions(client: sluice.Client) -> None:
    ask = ["sh", "-c", '"$0" ask --wait 10m --choice yes --choice no "Delete it?"', SLUICE]
    name = add(client, {"argv": ask})
    with client.events(after=0) as stream:
        for event in stream:
            if event["kind"] == "task.asked" and event["task"] == name:
                break
    [question] = client.question.list_all()
    rule("a question is listed", (question["task"], question["choices"]) == (name, ["yes", "no"]), question)
    rule("an answer must be one of the choices", error_of(sluice.BadRequest, lambda: client.task.answer(name, text="maybe")) is not None)
    client.task.answer(name, text="yes")
    client.wait([name])
    rule("an answer reaches the run that asked", client.task.log(name).read() == b"yes\n")


def tcp(client: sluice.Client, url: str, ca: Optional[str]) -> None:
    kind = url.split(":")[0]
    reader = client.token.add(name="reader-" + kind, scope="read")["token"]
    submitter = client.token.add(name="submitter-" + kind, scope="submit")["token"]
    far = sluice.Client(url, token=submitter, ca=ca)
    name = add(far, {"argv": ["echo", "far"]})
    rule(f"{kind}: with a token tasks are added and waited for", far.wait([name])[0]["state"] == "done")
    with far.events(after=0) as stream:
        rule(f"{kind}: events come, too", next(stream)["seq"] >= 1)
    rule(f"{kind}: without a token there is no access", error_of(sluice.Unauthorized, lambda: sluice.Client(url, ca=ca).task.list()) is not None)
    refused = error_of(sluice.Refused, lambda: sluice.Client(url, token=reader, ca=ca).task.add(tasks=[{"argv": ["true"]}]))
    rule(f"{kind}: a token gives no more than its scope", refused is not None)
    os.environ["SLUICE_API_TOKEN"] = reader
    rule(f"{kind}: the token may be in the environment", sluice.Client(url, ca=ca).daemon.status() is not None)
    del os.environ["SLUICE_API_TOKEN"]
    several = sluice.Client(f"unix:/nowhere/sluice.sock,{url}", token=reader, ca=ca)
    rule(f"{kind}: of several addresses the first that answers is used", several.task.list(limit=1) is not None)
    if ca:
        rule("https: a certificate that is not trusted is an error", "certificate" in str(error_of(sluice.SluiceError, lambda: sluice.Client(url, token=reader).daemon.status())).lower())


def main() -> None:
    with open(sys.argv[1]) as file:
        document = json.load(file)
    if len(sys.argv) > 3:
        tcp(sluice.Client(), sys.argv[2], sys.argv[3])
        return
    operations_are_methods(document)
    client = sluice.Client()
    answers(client)
    errors(client)
    pages(client)
    events(client)
    waits(client, sys.argv[2])
    questions(client)
    tcp(client, client.daemon.status()["http"]["url"] or "", None)


main()
