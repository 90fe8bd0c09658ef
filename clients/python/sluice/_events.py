"""The stream of events, which continues where it broke."""

import json
import time
from typing import Any, Dict, Iterator, Optional

from ._api import Event
from ._errors import ApiError, Unavailable
from ._transport import PAUSE_FIRST, PAUSE_MOST, Stream, Transport

SILENCE_MOST = 60.0  # the daemon sends a comment every 15 s


class EventStream(Iterator[Event]):
    """Every event once and in order, from `position` on. After a broken connection it resumes by itself.

    An event of the kind `reset` says that events were deleted before they were read: read the state again. `position` is the
    number of the last event that was given: keep it, and give it as `after` to go on there later.
    """

    def __init__(self, transport: Transport, after: int, task: Optional[str], patience: Optional[float]) -> None:
        self.position = after
        self._transport = transport
        self._task = task
        self._patience = patience
        self._stream: Optional[Stream] = None
        self._lines: Iterator[str] = iter(())
        self._closed = False

    def _open(self) -> None:
        query = {"after": self.position, "task": self._task}
        self._stream = self._transport.call("GET", "/v1/events", query, accept="text/event-stream", timeout=SILENCE_MOST)
        self._lines = _lines_of(self._stream)

    def _read(self) -> Optional[Event]:
        """The next event of the connection; None: it has ended."""
        kind, data, number = "", "", ""
        for line in self._lines:
            if line == "":
                if kind and kind != "overflow":
                    return self._take(kind, data, number)
                if kind == "overflow":
                    return None  # we were too slow: the next connection goes on here
            name, _, value = line.partition(":")
            value = value[1:] if value.startswith(" ") else value
            if name == "event":
                kind = value
            elif name == "data":
                data = value
            elif name == "id":
                number = value
        return None

    def _take(self, kind: str, data: str, number: str) -> Event:
        if number:
            self.position = int(number)
        parsed: Dict[str, Any] = json.loads(data) if data else {}
        if kind == "reset":
            return Event(seq=self.position, at=int(time.time() * 1000), kind="reset", task=None, attempt=None, data=parsed)
        event: Any = parsed
        taken: Event = event
        return taken

    def __next__(self) -> Event:
        lost_at: Optional[float] = None
        pause = PAUSE_FIRST
        while not self._closed:
            try:
                if self._stream is None:
                    self._open()
                event = self._read()
                if event is not None:
                    return event
                self._drop()
            except Unavailable as error:
                self._drop()
                self._lasts(lost_at, error)
            except ApiError as error:
                self._drop()
                if error.code not in ("stopping", "standby", "busy"):
                    raise
                self._lasts(lost_at, error)
            lost_at = lost_at or time.monotonic()
            time.sleep(pause)
            pause = min(pause * 2, PAUSE_MOST)
        raise StopIteration

    def _lasts(self, lost_at: Optional[float], error: Exception) -> None:
        if self._patience is not None and lost_at is not None and time.monotonic() - lost_at > self._patience:
            raise error

    def __iter__(self) -> "EventStream":
        return self

    def _drop(self) -> None:
        if self._stream is not None:
            self._stream.close()
            self._stream = None
            self._lines = iter(())

    def close(self) -> None:
        self._closed = True
        self._drop()

    def __enter__(self) -> "EventStream":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _lines_of(stream: Stream) -> Iterator[str]:
    """Lines as they arrive, without their ends."""
    rest = b""
    for piece in stream:
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            yield line.rstrip(b"\r").decode("utf-8", "replace")
