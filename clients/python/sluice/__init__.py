"""Client of Sluice, the durable scheduler for coding agents. `Client` is where to begin."""

from . import _api
from ._api import *  # noqa: F403
from ._client import Client
from ._errors import ApiError, SluiceError, Unavailable, WaitTimedOut
from ._events import EventStream
from ._transport import Stream

__version__ = _api.VERSION

__all__ = ["ApiError", "Client", "EventStream", "SluiceError", "Stream", "Unavailable", "WaitTimedOut", *_api.__all__]
