"""HTTP requests to a daemon: over its Unix socket, or over TCP with a token."""

import http.client
import json
import os
import secrets
import socket
import ssl
import time
from typing import Any, Dict, Iterator, List, Mapping, Optional
from urllib.parse import urlencode, urlsplit

from ._errors import ApiError, SluiceError, Unavailable, make_error

PAUSE_FIRST = 0.02
PAUSE_MOST = 0.25


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout: Optional[float]) -> None:
        super().__init__("localhost")
        self._path = path
        self._wait = timeout

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self._wait)
        self.sock.connect(self._path)


class Stream:
    """The bytes of an answer, as they arrive. Iterate over it, or `read()` all of it."""

    def __init__(self, connection: http.client.HTTPConnection, response: http.client.HTTPResponse) -> None:
        self._connection = connection
        self._response = response
        self.status = response.status
        self.headers: Mapping[str, str] = {name.lower(): value for name, value in response.getheaders()}
        """Their names are in lower case."""

    def __iter__(self) -> Iterator[bytes]:
        while True:
            piece = self._read(65536)
            if not piece:
                return
            yield piece

    def read(self) -> bytes:
        return b"".join(self)

    def _read(self, most: int) -> bytes:
        try:
            piece = self._response.read1(most)
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise Unavailable("the connection broke: %s" % (error or type(error).__name__)) from error
        if not piece:
            self.close()
        return piece

    def close(self) -> None:
        self._response.close()
        self._connection.close()

    def __enter__(self) -> "Stream":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Transport:
    """Sends requests; each has a connection of its own, so that threads can share a client."""

    def __init__(self, addresses: str, token: Optional[str], ca: Optional[str], timeout: float, patience: float) -> None:
        self.addresses: List[str] = [address for address in addresses.split(",") if address]
        if not self.addresses:
            raise SluiceError("no address of a daemon was given")
        self.token = token
        self.ca = ca
        self.timeout = timeout
        self.patience = patience
        self._has_answered = False  # then an absent daemon is probably being restarted

    def _connect(self, address: str, timeout: Optional[float]) -> http.client.HTTPConnection:
        connection: http.client.HTTPConnection
        if address.startswith("unix:"):
            connection = _UnixConnection(address[len("unix:") :], timeout)
        else:
            url = urlsplit(address)
            if url.scheme not in ("http", "https") or not url.hostname:
                raise SluiceError(f"'{address}' is not an address of a daemon: unix:/PATH, http://HOST:PORT or https://HOST:PORT")
            if url.scheme == "https":
                context = ssl.create_default_context(cafile=self.ca)
                connection = http.client.HTTPSConnection(url.hostname, url.port, timeout=timeout, context=context)
            else:
                connection = http.client.HTTPConnection(url.hostname, url.port, timeout=timeout)
        try:
            connection.connect()
        except OSError as error:
            connection.close()
            if isinstance(error, ssl.SSLError):
                raise SluiceError(f"'{address}': {error}") from error
            hint = "; 'sluice up' starts it" if address.startswith("unix:") else ""
            raise Unavailable(f"no daemon answers at '{address}': {error.strerror or error}{hint}") from error
        return connection

    def send_once(self, address: str, method: str, path: str, headers: Mapping[str, str], body: Optional[bytes], timeout: Optional[float]) -> Stream:
        """One request to one address. `_Lost`: it was sent, and there is no answer."""
        connection = self._connect(address, timeout)
        every: Dict[str, str] = dict(headers)
        every["Connection"] = "close"
        if self.token:
            every["Authorization"] = "Bearer " + self.token
        try:
            connection.request(method, path, body, every)
            response = connection.getresponse()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise _Lost(address, error) from error
        return Stream(connection, response)

    def send(self, method: str, path: str, headers: Mapping[str, str], body: Optional[bytes], repeatable: bool, timeout: Optional[float]) -> Stream:
        """A successful answer, or an error. Repeats what may be repeated: without an answer, or while a daemon ends or takes over."""
        begin = time.monotonic()
        pause = PAUSE_FIRST
        tried = 0
        at = 0
        while True:
            last: SluiceError
            try:
                stream = self.send_once(self.addresses[at], method, path, headers, body, timeout)
                self._has_answered = True
                if stream.status < 400:
                    return stream
                last = self._refusal(stream)
                code = last.code if isinstance(last, ApiError) else ""
                if code == "standby":
                    self._learn(last)
                elif code not in ("stopping", "busy") and not (code == "outcome_unknown" and repeatable):
                    raise last
            except _Lost as error:
                if not repeatable or error.is_timeout:
                    raise
                last = error
                self._has_answered = True
            except Unavailable as error:
                last = error
            at = (at + 1) % len(self.addresses)
            tried += 1
            if tried % len(self.addresses) != 0:
                continue
            if not self._has_answered or time.monotonic() - begin > self.patience:
                raise last
            time.sleep(pause)
            pause = min(pause * 2, PAUSE_MOST)

    def _learn(self, error: SluiceError) -> None:
        """A standby names the active daemon. Sockets only: a token goes to addresses that were given."""
        active = error.body.get("active") if isinstance(error, ApiError) else None
        for address in active if isinstance(active, list) else []:
            if isinstance(address, str) and address.startswith("unix:/") and address not in self.addresses:
                self.addresses.append(address)

    @staticmethod
    def _refusal(stream: Stream) -> ApiError:
        text = stream.read().decode("utf-8", "replace")
        try:
            body = json.loads(text)
        except ValueError:
            body = {}
        return make_error(stream.status, body if isinstance(body, dict) else {}, text)

    def call(
        self,
        method: str,
        path: str,
        query: Optional[Mapping[str, Any]] = None,
        body: Optional[Mapping[str, Any]] = None,
        key: Optional[str] = None,
        keyed: bool = False,
        repeatable: bool = False,
        accept: str = "application/json",
        timeout: Optional[float] = None,
        endless: bool = False,
    ) -> Stream:
        """A call of an operation. A write has a key, so that repeating it is always safe; `endless`: bytes may take any time.

        `repeatable`: it changes nothing, although it is a POST.
        """
        given = {name: _query_text(value) for name, value in (query or {}).items() if value is not None}
        if given:
            path += "?" + urlencode(given)
        headers = {"Accept": accept}
        data: Optional[bytes] = None
        if method == "POST":
            data = json.dumps({name: value for name, value in (body or {}).items() if value is not None}).encode()
            headers["Content-Type"] = "application/json"
            if keyed:
                headers["Idempotency-Key"] = key or secrets.token_hex(16)
        run = os.environ.get("SLUICE_RUN")
        if run and self.token:
            headers["X-Sluice-Run"] = run
        wait = None if endless else self.timeout if timeout is None else timeout
        return self.send(method, path, headers, data, method == "GET" or keyed or repeatable, wait)


class _Lost(Unavailable):
    """A request was sent, and the connection broke before its answer."""

    def __init__(self, address: str, error: Exception) -> None:
        self.is_timeout = isinstance(error, TimeoutError) or isinstance(error, socket.timeout)
        super().__init__(f"the daemon at '{address}' gave no answer: {error or type(error).__name__}")


def _query_text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return ",".join(str(item) for item in value)
    return str(value)
