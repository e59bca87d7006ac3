"""The import cost of this package, and the members of every transport."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import accord.transport
from accord.transport import MemoryTransport, Transport, memory_pair
from tests.limits import limit
from tests.tables import rows
from tests.transport.processes import SOURCES


def test_importing_the_room_loads_no_loop_and_no_processes() -> None:
    program = "import json, sys, accord.transport; print(json.dumps(sorted(sys.modules)))"
    found = subprocess.run(
        [sys.executable, "-S", "-c", program],
        env={"PYTHONPATH": SOURCES},
        capture_output=True,
        timeout=limit(60),
        check=True,
    )
    loaded = set(json.loads(found.stdout))
    assert "accord.transport.interface" in loaded
    assert loaded.isdisjoint({"asyncio", "subprocess", "threading", "ctypes", "logging", "socket", "ssl"})


def test_the_polled_ways_load_no_threads_of_ours() -> None:
    program = "import json, sys, accord.transport.streams; print(json.dumps(sorted(sys.modules)))"
    found = subprocess.run(
        [sys.executable, "-S", "-c", program],
        env={"PYTHONPATH": SOURCES},
        capture_output=True,
        timeout=limit(60),
        check=True,
    )
    loaded = set(json.loads(found.stdout))
    assert loaded.isdisjoint({"accord.transport.threaded", "accord.transport.process", "accord.transport.lineage"})


@rows("name", accord.transport.__all__)
def test_every_public_name_can_be_had(name: str) -> None:
    assert getattr(accord.transport, name).__name__ == name


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError):
        accord.transport.no_such_name  # type: ignore[attr-defined]  # noqa: B018


def test_a_transport_is_known_by_what_it_can_do() -> None:
    left, _ = memory_pair()
    assert isinstance(left, MemoryTransport)
    assert isinstance(left, Transport)
    assert not isinstance(object(), Transport)
