"""`-o events` and `-o wire`: every record is documented in `docs/cli.md`, and is as it is documented."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, get_args

import pytest

from accord.session.event import Event
from tests.cli.command import Accord, scripted

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"
COMMON = {"type", "t", "session"}


def documented() -> dict[str, tuple[set[str], set[str]]]:
    """The table of the page: for each type what is always there, and what sometimes is."""
    table: dict[str, tuple[set[str], set[str]]] = {}
    section = PAGE.read_text(encoding="utf-8").partition("### `-o events`")[2].partition("### `-o wire`")[0]
    for line in section.splitlines():
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if len(cells) == 4 and cells[0].startswith("`"):
            table[cells[0].strip("`")] = (_fields(cells[2]), _fields(cells[3]))
    return table


def _fields(cell: str) -> set[str]:
    return set(re.findall(r"`(\w+)`", re.sub(r"\([^)]*\)", "", cell)))


TABLE = documented()


def check(record: dict[str, Any]) -> None:
    """Checks one record against the page."""
    assert record["type"] in TABLE
    always, sometimes = TABLE[record["type"]]
    fields = set(record)
    assert fields >= COMMON | always, record
    assert fields <= COMMON | always | sometimes, record
    assert isinstance(record["t"], float)
    assert record["session"] is None or isinstance(record["session"], str)


def test_every_event_is_documented_with_all_its_fields() -> None:
    for kind in get_args(Event):
        config = kind.__struct_config__
        always, sometimes = TABLE[config.tag]
        assert set(kind.__struct_fields__) == always | sometimes, config.tag
        assert set(kind.__struct_fields__[: len(kind.__struct_fields__) - len(kind.__struct_defaults__)]) == always


@pytest.mark.sampled(2)
@pytest.mark.parametrize("script", ["plain", "everything", "banner", "asks", "drafts", "fails", "dies", "refuses"])
def test_records_are_as_documented(accord: Accord, script: str) -> None:
    result = accord("run", "x", "-o", "events", *scripted(script))
    records = result.records
    for record in records:
        check(record)
    last = records[-1]
    assert last["type"] == ("end" if result.status == 0 else "error")
    if last["type"] == "error":
        assert last["code"] == result.status


def test_the_demo_s_records_are_as_documented(accord: Accord) -> None:
    words = ("run", "demo", "replace pritn with print in a.py and then run ls", "-o", "events", "--allow", "all")
    for edition in ("1", "2", "2-june"):
        (accord.cwd / "a.py").write_text('pritn("hi")\n', encoding="utf-8")
        result = accord(*words, "--edition", edition)
        assert result.status == 0
        for record in result.records:
            check(record)
        assert {"start", "plan", "tool", "permission", "end"} <= {record["type"] for record in result.records}


def test_the_records_tell_the_whole_story(accord: Accord) -> None:
    result = accord("run", "x", "-o", "events", *scripted("everything"))
    start, end = result.records[0], result.records[-1]
    assert (start["type"], start["edition"], start["resumed"]) == ("start", "v1", False)
    assert start["agent"] == {"name": "scripted", "version": "1"}
    assert end["answer"] == "All \x1b]0;gotcha\x07done."
    assert end["usage"] == {"used": 1200, "size": 200000, "cost": {"amount": 0.25, "currency": "USD"}}
    assert result.of_type("unknown")[0]["payload"] == {"sessionUpdate": "weather", "sky": "blue"}
    assert {record["session"] for record in result.records} == {"s-1234567890"}


def test_a_permission_is_told_with_who_gave_it(accord: Accord) -> None:
    rule = accord("run", "x", "-o", "events", "--allow", "edit", *scripted("asks")).of_type("permission")[0]
    assert (rule["by"], rule["rule"], rule["option"], rule["tool"]) == ("rule", "allow edit", "once", "t1")
    denied = accord("run", "x", "-o", "events", *scripted("asks"))
    nobody = denied.of_type("permission")[0]
    assert (nobody["by"], nobody["rule"], nobody["option"]) == ("nobody", None, "no")
    assert [option["id"] for option in nobody["options"]] == ["once", "ever", "no"]
    assert denied.of_type("error")[0]["code"] == denied.status == 5
    assert denied.of_type("end")[0]["denied_unasked"] == 1


@pytest.mark.parametrize("form", ["events", "wire"])
@pytest.mark.parametrize(
    ("script", "code", "cause", "stderr"),
    [
        ("exits", 7, "ConnectionLost", "no licence found"),
        ("dies", 7, "ConnectionLost", "out of memory"),
        ("wants_login", 6, "AuthRequired", ""),
    ],
)
def test_a_failure_is_the_last_record(
    accord: Accord, form: str, script: str, code: int, cause: str, stderr: str
) -> None:
    result = accord("run", "x", "-o", form, *scripted(script))
    last = result.records[-1]
    assert result.status == last["code"] == code
    assert last["type"] == "error"
    assert last["cause"] == cause
    assert stderr in last["agent_stderr"]


def test_the_wire_is_shown_text_by_text(accord: Accord) -> None:
    result = accord("run", "x", "-o", "wire", *scripted("plain"))
    assert result.status == 0
    for record in result.records:
        assert set(record) == {"t", "dir", "conn", "raw"}
        assert record["conn"] == 1
    said = [(record["dir"], json.loads(record["raw"])) for record in result.records]
    methods = [(direction, message.get("method", "answer")) for direction, message in said]
    assert methods == [
        ("out", "initialize"),
        ("in", "answer"),
        ("out", "session/new"),
        ("in", "answer"),
        ("out", "session/prompt"),
        ("in", "session/update"),
        ("in", "session/update"),
        ("in", "answer"),
    ]


def test_what_is_no_message_stands_in_the_wire_as_it_came(accord: Accord) -> None:
    raw = [record["raw"] for record in accord("run", "x", "-o", "wire", *scripted("banner")).records]
    assert "Welcome to the agent!" in raw


def test_a_second_process_is_another_connection(accord: Accord) -> None:
    records = accord("run", "x", "-o", "wire", *scripted("future")).records
    assert {record["conn"] for record in records if "conn" in record} == {1, 2}
