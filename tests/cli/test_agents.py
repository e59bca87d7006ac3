"""`accord agents`: ls, info, add, rm, login, doctor."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from accord.cli import doctor
from tests.cli.command import Accord, scripted
from tests.limits import limit

pytest.importorskip("termios")


def add(accord: Accord, name: str, script: str, *options: str) -> None:
    assert accord("agents", "add", name, *options, *scripted(script)).status == 0


def test_the_built_in_agent_is_always_there(accord: Accord) -> None:
    result = accord("agents")
    assert result.status == 0
    assert result.stdout.splitlines()[0].split() == ["agent", "from", "command"]
    assert result.stdout.splitlines()[1].startswith("demo")


def test_an_agent_can_be_added_used_and_removed(accord: Accord) -> None:
    add(accord, "mine", "plain", "--env", "TOKEN=secret")
    assert json.loads(accord.config.read_text(encoding="utf-8"))["agent_servers"]["mine"]["env"] == {"TOKEN": "secret"}
    assert "mine" in accord("agents", "ls").stdout
    assert "hello" in accord("run", "mine", "x").stdout
    info = accord("agents", "info", "mine").stdout
    assert "TOKEN" in info
    assert "secret" not in info
    assert accord("agents", "rm", "mine").status == 0
    assert accord("run", "mine", "x").status == 2


def test_an_agent_can_be_made_the_default(accord: Accord) -> None:
    add(accord, "mine", "plain", "--default")
    assert "hello" in accord("run", "default", "x").stdout


def test_a_name_that_is_taken_is_changed_only_on_demand(accord: Accord) -> None:
    add(accord, "mine", "plain")
    again = accord("agents", "add", "mine", *scripted("repeats"))
    assert again.status == 2
    assert "there is an agent 'mine' already" in again.stderr
    add(accord, "mine", "repeats", "--replace")
    assert accord("run", "mine", "x", "-o", "final").stdout == "x\n"


@pytest.mark.parametrize(
    "words",
    [
        ("add",),
        ("add", "mine"),
        ("add", "default", "--", "x"),
        ("rm",),
        ("rm", "nobody"),
        ("info",),
        ("fly",),
        ("ls", "demo"),
    ],
)
def test_what_makes_no_sense_is_usage(accord: Accord, words: tuple[str, ...]) -> None:
    result = accord("agents", *words)
    assert result.status == 2
    assert len(result.stderr.splitlines()) == 1


def test_the_list_can_be_read_by_programs(accord: Accord) -> None:
    entries = json.loads(accord("agents", "ls", "--json").stdout)
    assert [entry["name"] for entry in entries if entry["origin"] != "catalogue"] == ["demo"]
    assert entries[0]["installed"] is True


def test_a_broken_file_is_told_beside_the_list(accord: Accord) -> None:
    accord.config.write_text("{", encoding="utf-8")
    result = accord("agents", "ls")
    assert result.status == 2
    assert "demo" in result.stdout
    assert str(accord.config) in result.stderr


# --- login


def test_the_only_way_to_log_in_is_taken(accord: Accord) -> None:
    result = accord("agents", "login", *scripted("wants_login"))
    assert result.status == 0
    assert (accord.cwd / "logged-in").read_text(encoding="utf-8") == "browser"


def test_a_way_that_is_not_there_is_usage(accord: Accord) -> None:
    add(accord, "mine", "wants_login")
    result = accord("agents", "login", "mine", "telepathy")
    assert result.status == 2
    assert "there is no login 'telepathy'; there are: browser" in result.stderr


def test_an_agent_without_logins_says_so(accord: Accord) -> None:
    result = accord("agents", "login", "demo")
    assert result.status == 0
    assert "offers no login" in result.stdout


# --- doctor


@pytest.fixture
def without_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    """The agent tells no commands: they are not waited for."""
    monkeypatch.setattr(doctor, "COMMANDS_SECONDS", 0.01)


def test_the_doctor_looks_at_everything(accord: Accord) -> None:
    result = accord("agents", "doctor", "demo")
    assert result.status == 0
    found = {line[2:16].strip(): line[17:] for line in result.stdout.splitlines()}
    assert found["start"].startswith("ok, ")
    assert found["session"].startswith("ok, ")
    assert found["end"].startswith("ok, ")
    assert found["edition"] == "v1"
    assert all(found[f"edition {edition}"].startswith("ok, ") for edition in ("1", "2", "2-june"))
    assert "load" in found["can"]


@pytest.mark.usefixtures("short_graces")
@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("script", "status", "told"),
    [
        ("exits", 7, "no licence found"),
        ("wants_login", 6, "log in first"),
        ("hangs", 3, "not ready in 2 s"),
        ("future", 1, "99"),
    ],
)
def test_the_doctor_says_what_is_wrong(accord: Accord, script: str, status: int, told: str) -> None:
    result = accord("agents", "doctor", "--timeout", "2", *scripted(script))
    assert result.status == status
    assert told in result.stdout + result.stderr
    assert "Traceback" not in result.stderr
    assert "agents doctor" not in result.stdout + result.stderr


def test_the_doctor_does_not_advise_itself_for_a_program_that_is_no_agent(accord: Accord) -> None:
    result = accord("agents", "doctor", "--", sys.executable, "-c", "print('hello')")
    assert result.status == 7
    assert "hello" in result.stderr
    assert "agents doctor" not in result.stdout + result.stderr


def test_the_doctor_waits_for_the_commands(accord: Accord) -> None:
    words = ("agents", "doctor", *scripted("commands_later"))
    with accord.start(*words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        lines = (line.decode() for line in process.stdout)
        assert any(line.startswith("  options") for line in lines)
        # The session is open and was looked at; only now does the agent tell its commands.
        (accord.cwd / "go").touch()
        found = {line[2:16].strip(): line[17:].rstrip() for line in lines}
        assert process.wait(limit(20)) == 0
    assert found["commands"] == "/plan"


@pytest.mark.usefixtures("without_commands")
def test_the_doctor_starts_the_editions_side_by_side(accord: Accord) -> None:
    result = accord("agents", "doctor", "--timeout", str(limit(10)), *scripted("meets"))
    assert result.status == 0, result.stderr
    found = {line[2:16].strip(): line[17:] for line in result.stdout.splitlines()}
    assert found["edition 1"].startswith("ok, ")
    assert "not ready" not in result.stdout


@pytest.mark.usefixtures("without_commands", "short_graces")
def test_the_doctor_flags_what_is_no_message(accord: Accord) -> None:
    result = accord("agents", "doctor", "--timeout", "5", *scripted("banner"))
    assert result.status == 0
    assert "prints lines that are no messages: Welcome to the agent!" in result.stdout
    assert "file=sys.stderr" in result.stdout
