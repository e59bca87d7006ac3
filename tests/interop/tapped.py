"""A tap between two counting relays: what goes into it must come out of it."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from accord.trace import open_trace
from tests.trace.programs import RELAY, TAP

__all__ = ["check_passage", "tapped"]


def tapped(folder: Path, command: Sequence[str]) -> tuple[str, ...]:
    """The command behind a tap, with a relay on each side that counts and hashes."""
    before, after, trace = (str(folder / name) for name in ("before.json", "after.json", "trace.jsonl"))
    return (*RELAY, before, "--", *TAP, "-w", trace, "--", *RELAY, after, "--", *command)


def check_passage(folder: Path) -> None:
    """Both relays counted and hashed the same bytes in each direction, and the trace has the texts."""
    before, after = (json.loads((folder / name).read_text()) for name in ("before.json", "after.json"))
    assert before == after
    assert min(before["up_bytes"], before["down_bytes"]) > 1000
    records = list(open_trace(folder / "trace.jsonl"))
    assert records[-1].type == "end"
    assert records[-1].lost == 0
    assert {record.source for record in records if record.type == "text"} == {"client", "agent"}
    assert sys.executable in records[0].command
