"""The client."""

import json
import math
import os
import time
from typing import Iterable, List, Optional, cast

from ._api import Groups, TaskWaitAnswer, WaitedTask
from ._errors import WaitTimedOut
from ._events import EventStream
from ._home import find_daemon
from ._transport import Transport

_WAIT_MOST = 256  # tasks of one request
_WAIT_STEP = 50  # whole seconds of one request


class Client(Groups):
    """A connection to a daemon. Each operation of the API is a method: `task.add` is `client.task.add(...)`.

    address   "unix:/PATH", "http://HOST:PORT" or "https://HOST:PORT"; several with commas, of daemons with one store. Without it:
              the socket of this user's daemon, found through SLUICE_HOME, XDG_RUNTIME_DIR and XDG_DATA_HOME as `sluice` finds it,
              or the daemon of the run that this process belongs to.
    token     for TCP, of `sluice token add`; else the variable SLUICE_API_TOKEN
    ca        a file of trusted certificates; else those of the system
    timeout   seconds to wait for an answer
    patience  seconds to look for a daemon that has answered before, for instance while it is being restarted
    """

    def __init__(
        self,
        address: Optional[str] = None,
        *,
        token: Optional[str] = None,
        ca: Optional[str] = None,
        timeout: float = 60.0,
        patience: float = 20.0,
    ) -> None:
        if address is None:
            address, found_token, found_ca = find_daemon()
            token, ca = token or found_token, ca or found_ca
        elif token is None and not address.startswith("unix:"):
            token = os.environ.get("SLUICE_API_TOKEN")
        super().__init__(Transport(address, token, ca, timeout, patience))

    def events(self, *, after: Optional[int] = None, task: Optional[str] = None, patience: Optional[float] = None) -> EventStream:
        """Follows the events from now on, or those behind number `after`; only about `task`, if it is given.

        The stream resumes after a broken connection; `patience`: for how many seconds it looks for the daemon (None: always).
        """
        if after is None:
            after = self.event.list(limit=1)["last_seq"]
        return EventStream(self._transport, after, task, patience)

    def wait(
        self,
        tasks: Iterable[str],
        *,
        any: bool = False,
        patient: bool = False,
        timeout: Optional[float] = None,
    ) -> List[WaitedTask]:
        """Waits until all of the tasks (`any`: one) have ended or need a person (`patient`: have ended).

        The state of each is in the answer. Raises `WaitTimedOut` after `timeout` seconds.
        """
        names = list(tasks)
        end = None if timeout is None else time.monotonic() + timeout
        if any or len(names) <= _WAIT_MOST:
            return self._wait(names, any, patient, end)
        answer: List[WaitedTask] = []
        for at in range(0, len(names), _WAIT_MOST):
            answer += self._wait(names[at : at + _WAIT_MOST], False, patient, end)
        return answer

    def _wait(self, names: List[str], any: bool, patient: bool, end: Optional[float]) -> List[WaitedTask]:
        while True:
            left = _WAIT_STEP if end is None else max(0, min(_WAIT_STEP, math.ceil(end - time.monotonic())))
            body = {"tasks": names, "any": any, "patient": patient, "timeout_s": left}
            stream = self._transport.call("POST", "/v1/wait", body=body, repeatable=True, timeout=left + self._transport.timeout)
            answer = cast(TaskWaitAnswer, json.loads(stream.read()))
            if not answer["timed_out"]:
                return answer["tasks"]
            if end is not None and time.monotonic() >= end:
                raise WaitTimedOut("the tasks had not ended in time", answer["tasks"])
