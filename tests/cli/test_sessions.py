"""`accord sessions`: the agent's list merged with ours."""

from __future__ import annotations

import json
import sqlite3

import pytest

from tests.cli.command import Accord, scripted
from tests.cli.test_environment import records_file


@pytest.fixture
def talked(accord: Accord) -> Accord:
    """There was a conversation with the demo, called `work`."""
    (accord.cwd / "a.py").write_text("x = 1\n", encoding="utf-8")
    assert accord("run", "demo", "-s", "work", "read a.py").status == 0
    return accord


def listed(accord: Accord, *words: str) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = json.loads(accord("sessions", "ls", "--json", *words).stdout)
    return rows


def test_where_there_are_none_that_is_said(accord: Accord) -> None:
    result = accord("sessions")
    assert result.status == 0
    assert "there are no sessions in this directory" in result.stdout
    assert "our records of this directory (--all" in result.stderr
    assert "our records; " in accord("sessions", "ls", "--all").stderr


def test_our_records_are_listed_without_starting_anything(talked: Accord) -> None:
    result = talked("sessions")
    assert result.status == 0
    lines = result.stdout.splitlines()
    assert lines[0].split() == ["session", "name", "agent", "used", "known", "title"]
    assert lines[1].split()[1:3] == ["work", "demo"]
    assert "read a.py" in lines[1]


def test_a_damaged_record_and_a_wrong_time_end_no_list(talked: Accord) -> None:
    for name in ("damaged", "late"):
        assert talked("run", "demo", "-s", name, "hi").status == 0
    database = sqlite3.connect(records_file(talked), isolation_level=None)
    database.execute("UPDATE records SET title = 7, session_id = 'broken' WHERE name = 'damaged'")
    database.execute("UPDATE records SET updated_at = 1e18 WHERE name = 'late'")
    database.close()
    result = talked("sessions", "ls", "--json")
    assert (result.status, [row["name"] for row in json.loads(result.stdout)]) == (0, ["late", "work"])
    assert "broken" in result.stderr
    table = talked("sessions")
    assert (table.status, len(table.stdout.splitlines())) == (0, 3)


def test_the_agent_s_list_is_merged_with_ours(talked: Accord) -> None:
    assert [row["known"] for row in listed(talked)] == ["ours"]
    both = listed(talked, "demo")
    assert [(row["known"], row["name"]) for row in both] == [("both", "work")]
    talked("sessions", "rm", "work", "--local")
    assert listed(talked) == []
    assert [(row["known"], row["session"]) for row in listed(talked, "demo")] == [("agent", both[0]["session"])]


def test_an_agent_without_a_list_shows_ours(accord: Accord) -> None:
    accord("run", "x", *scripted("plain"))
    result = accord("sessions", "ls", "--json", *scripted("plain"))
    assert [row["session"] for row in json.loads(result.stdout)] == ["s-1234567890"]
    assert "has no list of its sessions" in result.stderr


def test_sessions_of_other_directories_are_shown_on_demand(talked: Accord) -> None:
    talked.cwd = talked.cwd / "below"
    talked.cwd.mkdir()
    assert listed(talked) == []
    assert [row["name"] for row in listed(talked, "--all")] == ["work"]


def test_a_conversation_is_told_again(talked: Accord) -> None:
    result = talked("sessions", "show", "work")
    assert result.status == 0
    assert "> read a.py" in result.stdout
    assert "  read  a.py   ok" in result.stdout
    assert "x = 1" in result.stdout


def test_a_session_goes_on_from_any_directory(talked: Accord) -> None:
    session = str(listed(talked)[0]["session"])
    talked.cwd = talked.cwd / "below"
    talked.cwd.mkdir()
    result = talked("sessions", "resume", session, "read a.py", "-o", "events")
    assert result.status == 0
    assert result.of_type("start")[0]["session"] == session
    assert result.of_type("start")[0]["cwd"] == str(talked.cwd.parent)
    assert "x = 1" in result.of_type("end")[0]["answer"]


def test_a_session_that_only_the_agent_knows_needs_its_name(talked: Accord) -> None:
    session = str(listed(talked)[0]["session"])
    talked("sessions", "rm", "work", "--local")
    assert talked("sessions", "show", session).status == 4
    assert talked("sessions", "show", session, "--agent", "demo").status == 0


@pytest.mark.parametrize("form", ["md", "events"])
def test_a_conversation_is_exported(talked: Accord, form: str) -> None:
    assert talked("sessions", "export", "work", "--as", form, "-w", "out").status == 0
    text = (talked.cwd / "out").read_text(encoding="utf-8")
    assert talked("sessions", "export", "work", "--as", form).stdout == text
    if form == "md":
        assert text.startswith("# read a.py\n")
        assert "## You\n\nread a.py\n" in text
    else:
        assert {"message", "tool"} & {json.loads(line)["type"] for line in text.splitlines()}


def test_a_session_is_deleted_at_the_agent_too(talked: Accord) -> None:
    assert talked("sessions", "rm", "work").status == 0
    assert listed(talked, "demo") == []


def test_an_agent_that_cannot_fork_says_so(accord: Accord) -> None:
    accord("run", "x", "-s", "one", "--deny", "all", *scripted("asks"))
    result = accord("sessions", "fork", "one")
    assert result.status == 1
    assert "cannot fork" in result.stderr


@pytest.mark.parametrize("verb", ["show", "resume", "fork", "rm", "export"])
def test_a_session_that_nobody_knows(accord: Accord, verb: str) -> None:
    result = accord("sessions", verb, "nothing", "text")
    assert result.status == 4
    assert "there is no session 'nothing'" in result.stderr


@pytest.mark.parametrize("words", [("fly",), ("show",), ("ls", "a", "b"), ("show", "x", "-c")])
def test_what_makes_no_sense_is_usage(accord: Accord, words: tuple[str, ...]) -> None:
    result = accord("sessions", *words)
    assert result.status == 2
    assert len(result.stderr.splitlines()) == 1
