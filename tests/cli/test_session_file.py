"""`accord sessions export --as session`, `import` and `prune`."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import sqlite3
import stat
import time
from contextlib import closing
from pathlib import Path

import pytest

from accord.cli.session_transfer import SessionFile
from accord.cli.status import CommandFailure
from accord.trace import TraceWriter
from tests.cli.command import Accord, Result, scripted
from tests.cli.test_sessions import listed


@pytest.fixture
def talked(accord: Accord) -> Accord:
    """There was a conversation with the demo, and it is written as one file."""
    (accord.cwd / "a.py").write_text("x = 1\n", encoding="utf-8")
    assert accord("run", "demo", "read a.py").status == 0
    result = accord("sessions", "export", session_of(accord), "--as", "session", "-w", "one.session")
    assert (result.status, result.stderr) == (0, "")
    return accord


def session_of(accord: Accord) -> str:
    (row,) = listed(accord, "--all")
    return str(row["session"])


def lines_of(accord: Accord) -> list[str]:
    return (accord.cwd / "one.session").read_text(encoding="ascii").splitlines()


def imported(accord: Accord, lines: list[str], *words: str) -> Result:
    (accord.cwd / "other.session").write_text("".join(f"{line}\n" for line in lines), encoding="ascii")
    return accord("sessions", "import", "other.session", *words)


def under(lines: list[str], session_id: str) -> list[str]:
    """The same file, of a session of another id."""
    head, *events, _ = lines
    body = [json.dumps({**json.loads(head), "session": session_id}), *events]
    digest = hashlib.sha256("".join(f"{line}\n" for line in body).encode("ascii")).hexdigest()
    return [*body, json.dumps({"accord": "end", "events": len(events), "sha256": digest})]


# --- export and import


def test_a_file_is_for_its_owner_and_says_its_version(talked: Accord) -> None:
    path = talked.cwd / "one.session"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    first, *events, last = (json.loads(line) for line in lines_of(talked))
    assert (first["accord"], first["version"], first["agent"], first["built_in"]) == ("session", 1, "demo", True)
    assert first["prompt"] == "read a.py"
    assert last["events"] == len(events)


def test_a_session_of_the_built_in_agent_goes_on_in_another_home(talked: Accord, tmp_path: Path) -> None:
    session = session_of(talked)
    (tmp_path / "other").mkdir()
    other = Accord(tmp_path / "other")
    (other.cwd / "a.py").write_text("x = 2\n", encoding="utf-8")
    result = other("sessions", "import", str(talked.cwd / "one.session"))
    assert (result.status, result.stderr) == (0, "")
    assert result.stdout.splitlines()[0] == session
    assert [(row["session"], row["prompt"], row["cwd"]) for row in listed(other)] == [
        (session, "read a.py", str(other.cwd))
    ]
    assert [row["known"] for row in listed(other, "demo")] == ["both"]
    assert "x = 1" in other("sessions", "show", session).stdout
    result = other("run", "demo", "-c", "read a.py", "-o", "events")
    assert result.of_type("start")[0]["session"] == session
    assert "x = 2" in result.of_type("end")[0]["answer"]


def test_a_session_that_is_here_already_is_refused_or_copied_under_a_new_id(talked: Accord) -> None:
    session = session_of(talked)
    result = talked("sessions", "import", "one.session")
    assert result.status == 2
    assert "--new-id" in result.stderr
    result = talked("sessions", "import", "one.session", "--new-id")
    assert result.status == 0
    copy = result.stdout.splitlines()[0]
    assert {row["session"] for row in listed(talked)} == {session, copy}
    assert "x = 1" in talked("sessions", "show", copy).stdout


def test_a_session_that_is_here_with_another_number_of_events_is_refused_and_left(talked: Accord) -> None:
    (database,) = talked.home.rglob("accord/accord/sessions.db")
    with closing(sqlite3.connect(database)) as store, store:
        store.execute("DELETE FROM events")
        store.execute("UPDATE sessions SET events = 0")
    assert talked("sessions", "rm", session_of(talked), "--local").status == 0
    result = talked("sessions", "import", "one.session")
    assert result.status == 2
    assert "--new-id" in result.stderr
    with closing(sqlite3.connect(database)) as store, store:
        assert store.execute("SELECT events FROM sessions").fetchall() == [(0,)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="links as POSIX has them")
@pytest.mark.parametrize("words", [("sessions", "export"), ("trace",)])
@pytest.mark.parametrize("name", ["{}.part", ".{}.part"])
def test_what_is_beside_a_file_that_is_written_is_never_written_to(
    talked: Accord, words: tuple[str, ...], name: str
) -> None:
    trace = talked.cwd / "one.jsonl"
    TraceWriter(trace).close()
    victim = talked.cwd / "victim"
    victim.write_text("mine", encoding="ascii")
    os.link(victim, talked.cwd / name.format("out"))
    if words == ("trace",):
        result = talked("trace", str(trace), "--as", "ndjson", "-o", "out")
    else:
        result = talked("sessions", "export", session_of(talked), "--as", "session", "-w", "out")
    assert (result.status, result.stderr) == (0, "")
    assert (talked.cwd / "out").stat().st_ino != victim.stat().st_ino
    assert stat.S_IMODE((talked.cwd / "out").stat().st_mode) == 0o600
    assert victim.read_text(encoding="ascii") == "mine"
    assert {path.name for path in talked.cwd.glob(".*")} <= {name.format("out")}


ALLOWED = {"effect": "allow", "scope": "kind", "kind": "edit"}


def test_what_was_allowed_does_not_go_into_a_file(talked: Accord) -> None:
    (database,) = talked.home.rglob("accord/accord/sessions.db")
    with closing(sqlite3.connect(database)) as store, store:
        ((row, state),) = store.execute("SELECT session, state FROM states").fetchall()
        kept = json.dumps({**json.loads(state), "answers": [ALLOWED], "later": 1}).encode()
        store.execute("UPDATE states SET state = ? WHERE session = ?", (kept, row))
    export = talked("sessions", "export", session_of(talked), "--as", "session", "-w", "one.session")
    assert export.status == 0, export.stderr
    header = json.loads(lines_of(talked)[0])
    written = set(json.loads(base64.b64decode(header["state"])))
    assert "messages" in written
    assert not {"answers", "later"} & written


def test_what_a_file_says_was_allowed_allows_nothing(talked: Accord) -> None:
    first, *events, _ = lines_of(talked)
    header = json.loads(first)
    state = {**json.loads(base64.b64decode(header["state"])), "answers": [ALLOWED]}
    header["state"] = base64.b64encode(json.dumps(state).encode()).decode()
    lines = [json.dumps(header), *events]
    digest = hashlib.sha256("".join(f"{line}\n" for line in lines).encode()).hexdigest()
    end = {"accord": "end", "events": len(events), "sha256": digest}
    result = imported(talked, [*lines, json.dumps(end)], "--new-id")
    assert result.status == 0, result.stderr
    edit = talked("run", "demo", "-s", result.stdout.splitlines()[0], "replace 1 with 2 in a.py", "-o", "events")
    assert edit.status == 5, edit.stdout
    # The agent asks, and does not leave it to the client, which would refuse the write too.
    assert [record["by"] for record in edit.of_type("permission")] == ["nobody"]
    assert (talked.cwd / "a.py").read_text(encoding="utf-8") == "x = 1\n"


@pytest.mark.parametrize("field", ["created_at", "updated_at"])
@pytest.mark.parametrize("time", [1e18, -1e18, float("inf"), float("nan")])
def test_a_file_whose_time_no_date_can_express_is_refused(tmp_path: Path, field: str, time: float) -> None:
    times = {"created_at": 1.0, "updated_at": 1.0, field: time}
    header = {"accord": "session", "version": 1, "agent": "demo", "built_in": True, "session": "s", "cwd": "/"}
    first = json.dumps({**header, "title": None, "prompt": None, **times, "state": None}) + "\n"
    digest = hashlib.sha256(first.encode()).hexdigest()
    path = tmp_path / "one.session"
    path.write_text(first + json.dumps({"accord": "end", "events": 0, "sha256": digest}) + "\n", encoding="ascii")
    with pytest.raises(CommandFailure) as caught:
        SessionFile(path)
    assert caught.value.cause == "SessionFile"


def test_a_fifo_is_refused_at_once(accord: Accord) -> None:
    os.mkfifo(accord.cwd / "fifo")
    result = accord("sessions", "import", "fifo")
    assert result.status == 2
    assert "no regular file" in result.stderr


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda lines: lines[:-1], "end is missing"),
        (lambda lines: lines[:3] + lines[4:], "was changed"),
        pytest.param(lambda lines: under(lines, "\x01draft:a"), "first line", id="the id of a draft"),
        pytest.param(
            lambda lines: [lines[0], lines[2], lines[1], *lines[3:]],
            "was changed",
            marks=pytest.mark.long,
            id="events in another order",
        ),
        pytest.param(lambda lines: [*lines, "{}"], "was changed", marks=pytest.mark.long),
        pytest.param(
            lambda lines: [lines[0].replace('"version": 1', '"version": 2'), *lines[1:]],
            "later version",
            marks=pytest.mark.long,
        ),
        pytest.param(
            lambda lines: [lines[0].replace('"cwd"', '"more": 1, "cwd"'), *lines[1:]],
            "first line",
            marks=pytest.mark.long,
        ),
        pytest.param(
            lambda lines: [lines[0], '{"event":"unheard"}', *lines[1:]], "cannot be read", marks=pytest.mark.long
        ),
        pytest.param(lambda lines: lines[1:], "has not written it", marks=pytest.mark.long),
        pytest.param(lambda _: [], "end is missing", marks=pytest.mark.long),
    ],
)
def test_a_file_that_is_not_whole_is_refused_and_nothing_is_kept(talked: Accord, change: object, why: str) -> None:
    assert callable(change)
    assert talked("sessions", "rm", session_of(talked)).status == 0
    result = imported(talked, change(lines_of(talked)))
    assert result.status == 2
    assert why in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert listed(talked, "--all") == []
    assert listed(talked, "demo", "--all") == []


def test_a_session_of_another_agent_is_kept_to_be_read(talked: Accord) -> None:
    head, *events, _ = lines_of(talked)
    header = {**json.loads(head), "agent": "gemini", "built_in": False, "state": None, "session": "g-1"}
    body = [json.dumps(header), *events]
    digest = hashlib.sha256("".join(f"{line}\n" for line in body).encode("ascii")).hexdigest()
    result = imported(talked, [*body, json.dumps({"accord": "end", "events": len(events), "sha256": digest})])
    assert (result.status, result.stderr) == (0, "")
    assert ("g-1", "imported:gemini") in {(row["session"], row["agent"]) for row in listed(talked)}
    assert "x = 1" in talked("sessions", "show", "g-1").stdout
    assert talked("sessions", "export", "g-1").stdout.startswith("# read a.py\n")
    assert talked("sessions", "export", "g-1", "--as", "session", "-w", "again").status == 0
    assert talked("sessions", "resume", "g-1", "hello").status == 1
    assert talked("sessions", "rm", "g-1").status == 0
    assert talked("sessions", "show", "g-1").status == 4


def test_a_session_file_needs_a_name(talked: Accord) -> None:
    assert talked("sessions", "export", session_of(talked), "--as", "session").status == 2
    assert talked("sessions", "import").status == 2
    assert talked("sessions", "import", "nowhere.session").status == 2
    assert talked("sessions", "import", ".").status == 2


# --- prune


def age(accord: Accord, days: float) -> None:
    """Let every session of this user be older."""
    seconds = days * 24 * 3600
    state = accord.home / ".local/state/accord"
    for path, table in ((state / "sessions.db", "records"), (state / "accord/sessions.db", "sessions")):
        if path.exists():
            with closing(sqlite3.connect(path)) as connection, connection:
                sql = f"UPDATE {table} SET updated_at = ?"  # noqa: S608 - our own words
                connection.execute(sql, (time.time() - seconds,))


def test_what_is_old_is_forgotten_and_told(talked: Accord) -> None:
    session = session_of(talked)
    assert "0 sessions forgotten" in talked("sessions", "prune").stdout
    age(talked, 31)
    result = talked("sessions", "prune", "--dry-run")
    assert session in result.stdout
    assert "1 session would be forgotten" in result.stdout
    assert session_of(talked) == session
    result = talked("sessions", "prune")
    assert session in result.stdout
    assert "1 session forgotten" in result.stdout
    assert listed(talked, "--all") == []
    # Only where an agent is named does it delete what it has.
    assert [row["session"] for row in listed(talked, "demo")] == [session]
    age(talked, 31)
    assert talked("sessions", "prune", "demo", "--older-than", "4w").status == 0
    assert listed(talked, "demo") == []


@pytest.mark.parametrize("words", [("--older-than", "30"), ("--older-than", "-1d"), ("a", "b")])
def test_a_prune_that_makes_no_sense_is_usage(accord: Accord, words: tuple[str, ...]) -> None:
    assert accord("sessions", "prune", *words).status == 2


def test_a_session_that_is_open_is_never_pruned(accord: Accord) -> None:
    from tests.cli.test_owner import at_work  # noqa: PLC0415 - sockets

    with at_work(accord):
        result = accord("sessions", "prune", "--older-than", "0s")
        assert "0 sessions forgotten" in result.stdout
        assert "1 that are older stay" in result.stderr
    result = accord("sessions", "prune", "--older-than", "0s", *scripted("plain"))
    assert result.status == 0
