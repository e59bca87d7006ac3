"""`--log FILE` of `accord run` and `accord chat`: the wire in a file, as `accord tap` writes it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.command import Accord, eventually, scripted


def crossed(path: Path) -> list[str]:
    """The methods that a trace has, in order."""
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert (records[0]["format"], records[0]["version"]) == ("accord-trace", 1)
    assert records[-1]["type"] == "end"
    texts = [json.loads(record["raw"]) for record in records if record["type"] == "text"]
    return [text["method"] for text in texts if "method" in text]


def test_a_run_is_recorded_and_shows_nothing_of_it(accord: Accord) -> None:
    result = accord("run", "hello", "-o", "final", "--log", "talk.jsonl", *scripted("repeats"))
    assert (result.status, result.stdout, result.stderr) == (0, "hello\n", "")
    methods = crossed(accord.cwd / "talk.jsonl")
    assert methods[:3] == ["initialize", "session/new", "session/prompt"]
    assert "session/update" in methods


def test_a_file_that_exists_is_kept_and_the_other_name_is_said(accord: Accord) -> None:
    (accord.cwd / "talk.jsonl").write_text("mine")
    result = accord("run", "hello", "-o", "final", "--log", "talk.jsonl", *scripted("repeats"))
    assert (result.status, result.stdout) == (0, "hello\n")
    assert "talk.jsonl exists already: recording into talk-2.jsonl" in result.stderr
    assert (accord.cwd / "talk.jsonl").read_text() == "mine"
    assert "session/prompt" in crossed(accord.cwd / "talk-2.jsonl")


def test_a_file_that_cannot_be_made_is_a_usage_failure_before_the_agent_starts(accord: Accord) -> None:
    result = accord("run", "hello", "--log", "nowhere/talk.jsonl", *scripted("repeats"))
    assert result.status == 2
    assert "--log nowhere/talk.jsonl: No such file or directory" in result.stderr


def test_a_device_is_refused_before_the_agent_starts(accord: Accord) -> None:
    result = accord("run", "hello", "--log", "/dev/null", *scripted("repeats"))
    assert result.status == 2
    assert "--log /dev/null" in result.stderr


def test_a_chat_is_recorded(accord: Accord) -> None:
    pytest.importorskip("termios")
    pytest.importorskip("textual")
    with accord.terminal("chat", "--log", "talk.jsonl", *scripted("plain")) as screen:
        screen.expect("\x1b[?1049h")
        # The session is noted once it is open.
        assert eventually(lambda: "s-1234567890" in accord("sessions", "ls", "--json").stdout)
        screen.type("\x11")
        assert screen.status() == 0
    assert "session/new" in crossed(accord.cwd / "talk.jsonl")
