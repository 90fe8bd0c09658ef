#!/usr/bin/env python3
"""loopback.py: brings the loopback interface of a new network namespace up, then runs a command.

usage: loopback.py COMMAND...

`ip link set lo up` without the package that has `ip`.
"""
import fcntl
import os
import socket
import struct
import sys

GET_FLAGS, SET_FLAGS, UP = 0x8913, 0x8914, 0x1  # linux/sockios.h, linux/if.h

if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
    print("usage: loopback.py COMMAND...", file=sys.stderr)
    sys.exit(2)
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
    # struct ifreq: 16 bytes of name, then a union whose first member here is the flags
    asked = fcntl.ioctl(any_socket, GET_FLAGS, struct.pack("16s24x", b"lo"))
    flags = struct.unpack_from("h", asked, 16)[0]
    fcntl.ioctl(any_socket, SET_FLAGS, struct.pack("16sh22x", b"lo", flags | UP))
os.execvp(sys.argv[1], sys.argv[1:])
