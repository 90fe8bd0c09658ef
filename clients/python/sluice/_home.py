"""Finds the daemon of this user, as the commands of Sluice do (src/os/home.h)."""

import os
from typing import Optional, Tuple

_SOCKET_MAX = 107  # bytes of a Unix socket's address
_MASK = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15


def _hash_u64(x: int) -> int:
    x = (x + _GOLDEN) & _MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & _MASK
    return x ^ (x >> 31)


def _hash_bytes(data: bytes) -> int:
    """hash_bytes of src/base/hash.c: the name of the short socket is made with it."""
    value = _hash_u64(len(data))
    for at in range(0, len(data), 8):
        word = int.from_bytes(data[at : at + 8], "little")
        mixed = (word + _GOLDEN + ((value << 6) & _MASK) + (value >> 2)) & _MASK
        value = _hash_u64(value ^ mixed)
    return value


def _xdg(name: str) -> Optional[str]:
    """A relative XDG variable is ignored, as its specification requires."""
    value = os.environ.get(name, "")
    return value if value.startswith("/") else None


def _absolute(path: str) -> str:
    """Dots stay as they are: the name of the short socket depends on every byte."""
    full = path if path.startswith("/") else os.path.join(os.getcwd(), path)
    return full.rstrip("/") or "/"


def find_socket() -> str:
    """The path of the owner's socket; the daemon need not run."""
    home = os.environ.get("SLUICE_HOME")
    runtime = _xdg("XDG_RUNTIME_DIR")
    if home:
        path = os.path.join(_absolute(home), "sluice.sock")
    elif runtime:
        path = os.path.join(_absolute(runtime), "sluice", "sluice.sock")
    else:
        data = _xdg("XDG_DATA_HOME") or os.path.join(os.path.expanduser("~"), ".local", "share")
        path = os.path.join(_absolute(data), "sluice", "sluice.sock")
    encoded = os.fsencode(path)
    if len(encoded) <= _SOCKET_MAX:
        return path
    return "/tmp/sluice-%d/%016x.sock" % (os.geteuid(), _hash_bytes(encoded))


def find_daemon() -> Tuple[str, Optional[str], Optional[str]]:
    """Addresses, token and CA file: of the run that this process belongs to, or of this user."""
    of_run = None if "SLUICE_HOME" in os.environ else os.environ.get("SLUICE_SOCKET")
    if of_run:
        addresses = of_run if "://" in of_run else "unix:" + of_run
        peers = os.environ.get("SLUICE_PEERS")
        if peers:
            addresses += "," + peers
        return addresses, os.environ.get("SLUICE_TOKEN"), os.environ.get("SLUICE_CA")
    return "unix:" + find_socket(), None, None
