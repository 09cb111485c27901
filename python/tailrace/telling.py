"""What a program knows of what it is about to send, told to Tailrace's host agent."""

from __future__ import annotations

import errno
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket

# As in crates/tailrace-bpf/include/tailrace.h: level and number of the option, and its value.
_LEVEL = 0xF10
_FLOW = 1
_VALUE = struct.Struct("=QQQII")


def tell(
    sock: socket.socket,
    size: int | None = None,
    deadline: float | None = None,
    task: int = 0,
    slice: int = 0,  # noqa: A002 - what the agent's file calls it
) -> bool:
    """Tell the host agent of a TCP flow: payload bytes, deadline in seconds from now, task and slice.

    Before ``connect`` or ``listen`` it is said of the connection, or of all that are accepted, and deadlines
    count from their start. On an open connection it is said of what is written from then on, so each message
    can be told of.

    Returns whether an agent has heard it. Raises ``PermissionError`` if no rule of the agent's file names
    this program's cgroup, or the slice is another's.
    """
    if size is not None and size <= 0:
        raise ValueError(f"size is {size}, but must be at least 1 byte, or None if it is not known")
    if deadline is not None and size is None:
        raise ValueError("a deadline needs a size: without one nobody can tell how urgent it is")
    if deadline is not None and not deadline > 0:
        raise ValueError(f"deadline is {deadline}, but must be above 0 seconds from now")
    nanoseconds = 0 if deadline is None else max(1, round(deadline * 1e9))
    try:
        value = _VALUE.pack(size or 0, nanoseconds, task, slice, 0)
    except struct.error:
        message = "size, deadline, task and slice must be whole numbers of 64 bits, slice of 32"
        raise ValueError(message) from None
    try:
        sock.setsockopt(_LEVEL, _FLOW, value)
    except OSError as error:
        if error.errno == errno.ENOPROTOOPT:
            return False
        raise
    return True
