"""A tap between two counting relays: what goes into it must come out of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from accord.trace import open_trace
from tests.forking_python import forking_python
from tests.trace.programs import RELAY, TAP

__all__ = ["check_passage", "tapped"]


def tapped(folder: Path, command: Sequence[str]) -> tuple[str, ...]:
    """The command behind a tap, with a relay on each side that counts and hashes."""
    before, after, trace = (str(folder / name) for name in ("before.json", "after.json", "trace.jsonl"))
    python = str(forking_python())
    relay, tap = (python, *RELAY[1:]), (python, *TAP[1:])
    return (*relay, before, "--", *tap, "-w", trace, "--", *relay, after, "--", *command)


def check_passage(folder: Path) -> None:
    """Both relays counted and hashed the same bytes in each direction, and the trace has the texts."""
    before, after = (json.loads((folder / name).read_text()) for name in ("before.json", "after.json"))
    assert before == after
    assert min(before["up_bytes"], before["down_bytes"]) > 200
    records = list(open_trace(folder / "trace.jsonl"))
    # An agent that does not leave in time is killed, with its tap: then there is no end.
    assert all(record.lost == 0 for record in records if record.type == "end")
    assert {record.source for record in records if record.type == "text"} == {"client", "agent"}
    assert str(forking_python()) in records[0].command
