"""`tailrace.tell` where no agent runs; crates/tailrace-agent/tests/known.rs has it heard by one."""

from __future__ import annotations

import re
import socket
import struct
from pathlib import Path

import pytest

import tailrace
from tailrace import telling

HEADER = Path(__file__).parents[2] / "crates/tailrace-bpf/include/tailrace.h"


def test_without_an_agent_nobody_hears_and_nothing_happens() -> None:
    with socket.socket() as sock:
        assert tailrace.tell(sock, size=20_000, deadline=0.005, task=3, slice=1) is False


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"size": 0}, "size is 0"),
        ({"deadline": 1.0}, "needs a size"),
        ({"size": 1, "deadline": 0.0}, "deadline is 0.0"),
        ({"size": 1, "deadline": float("nan")}, "deadline is nan"),
        ({"size": 1 << 64}, "64 bits"),
        ({"slice": -1}, "slice of 32"),
    ],
)
def test_mistakes_say_what_would_be_right(said: dict[str, float], message: str) -> None:
    with socket.socket() as sock, pytest.raises(ValueError, match=message):
        tailrace.tell(sock, **said)  # type: ignore[arg-type]


def test_the_layout_is_that_of_the_header() -> None:
    text = HEADER.read_text()
    kinds = {"unsigned long long": "Q", "unsigned int": "I"}
    body = re.search(r"struct tailrace_flow \{(.*?)\n\};", text, re.DOTALL)
    assert body
    fields = re.findall(r"^\t(unsigned (?:long long|int)) (\w+);", body[1], re.MULTILINE)
    assert [name for _, name in fields] == ["size", "deadline_ns", "task", "slice", "unused"]
    assert telling._VALUE.format == "=" + "".join(kinds[kind] for kind, _ in fields)
    assert struct.calcsize(telling._VALUE.format) == 32
    numbers = dict(re.findall(r"#define (TAILRACE_\w+) (\w+)", text))
    option = [int(numbers[name], 0) for name in ("TAILRACE_SOCKET", "TAILRACE_FLOW")]
    assert option == [telling._LEVEL, telling._FLOW]
