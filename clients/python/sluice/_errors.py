"""What can go wrong. The classes of the API's error codes are generated (sluice/_api.py)."""

from typing import Any, Dict, List, Mapping, Optional, Type


class SluiceError(Exception):
    """The base of all errors of this package."""


class Unavailable(SluiceError):
    """No daemon answers, or the connection broke and the outcome is not known."""


class WaitTimedOut(SluiceError):
    """The tasks had not ended in time; `tasks` is how they are."""

    def __init__(self, message: str, tasks: List[Any]) -> None:
        super().__init__(message)
        self.tasks = tasks


class ApiError(SluiceError):
    """The daemon refused a request. Nothing has happened, unless the code says otherwise."""

    code: str = ""

    def __init__(self, status: int, code: str, message: str, body: Mapping[str, Any]) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.body = body
        problem: Any = body.get("error")
        index: Any = problem.get("index") if isinstance(problem, dict) else None
        self.index: Optional[int] = index
        """Which entry of a list the error is about, from 0."""

    def __str__(self) -> str:
        return f"{self.message} ({self.code})"


error_classes: Dict[str, Type[ApiError]] = {}
"""By code; filled by the generated classes."""


def make_error(status: int, body: Mapping[str, Any], text: str) -> ApiError:
    """The typed error of an answer; an unknown code of a later version is an `ApiError`."""
    problem = body.get("error")
    if not isinstance(problem, dict):
        problem = {}
    code = str(problem.get("code", "http_%d" % status))
    message = str(problem.get("message", text.strip()[:200] or "HTTP status %d" % status))
    return error_classes.get(code, ApiError)(status, code, message, body)
