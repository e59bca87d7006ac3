"""Each example client runs as a program against an example agent, and prints what its docstring promises."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.forking_python import forking_python
from tests.limits import limit
from tests.plain_pytest import plain_pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


def agent(name: str) -> list[str]:
    return [str(forking_python()), str(EXAMPLES / "agents" / name)]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> object:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "notes.txt").write_text("the colour of the sea\n")

    def started(name: str, *arguments: str, answers: str = "") -> str:
        program = str(EXAMPLES / "clients" / name)
        done = subprocess.run(
            [forking_python(), program, *arguments],
            cwd=folder,
            input=answers,
            capture_output=True,
            text=True,
            timeout=limit(60),
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    return started


def test_ask_prints_what_the_agent_says(run: object) -> None:
    assert "hello" in run("ask.py", "hello", "--", *agent("echo.py"))  # type: ignore[operator]


def test_record_shows_where_the_time_went(run: object, tmp_path: Path) -> None:
    said = run("record.py", "hello", "--", *agent("echo.py"))  # type: ignore[operator]

    assert "hello" in said
    assert "client  session/prompt  1" in said
    assert (tmp_path / "project" / "talk.jsonl").stat().st_mode & 0o077 == 0


def test_policy_asks_about_what_no_rule_covers(run: object, tmp_path: Path) -> None:
    said = run(  # type: ignore[operator]
        "policy.py", "replace colour by color in notes.txt", "--", *agent("permission.py"), answers="2\n"
    )

    assert "Edit notes.txt" in said
    assert "I changed notes.txt." in said
    assert (tmp_path / "project" / "notes.txt").read_text() == "the color of the sea\n"
    assert not (tmp_path / "project" / "rules.txt").exists()


def test_watch_shows_plan_calls_and_text(run: object) -> None:
    said = run("watch.py", "colour", "--", *agent("streaming.py"))  # type: ignore[operator]

    assert "✓" in said
    assert "colour" in said


def test_two_agents_talk(run: object) -> None:
    echo = " ".join(agent("echo.py"))
    said = run("dialogue.py", "well?", "3", echo, echo)  # type: ignore[operator]

    assert [line.partition(":")[0] for line in said.splitlines() if ":" in line][:3] == ["first", "second", "first"]


def test_one_prompt_goes_to_several_agents_and_a_failing_one_disturbs_nobody(run: object) -> None:
    said = run("fan_out.py", "hello", " ".join(agent("echo.py")), "no-such-agent", " ".join(agent("echo.py")))  # type: ignore[operator]

    assert said.count("[end_turn") == 2
    assert "ConnectFailed" in said


def test_the_example_pytest_passes(tmp_path: Path) -> None:
    program = str(EXAMPLES / "clients" / "test_repository.py")
    command = [sys.executable, *plain_pytest(), "-c", "/dev/null", program]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=limit(60), check=False)

    assert done.returncode == 0, done.stdout + done.stderr
