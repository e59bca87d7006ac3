"""A project of another author, in a folder of its own, with nothing of ours but the installed package."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.limits import limit
from tests.plain_pytest import plain_pytest

PROJECT = Path(__file__).parent / "project"
PROGRAMS = Path(__file__).parent / "programs"
# The two that only run as somebody's agent are started by the others.
RUNNABLE = sorted({path.stem for path in PROGRAMS.glob("*.py")} - {"echo_agent", "careful_agent"})

AWAITING = """
import pytest
from note_taker import agent

{before}

{mark}
async def test_with_await(accord_join, accord_workspace, accord_recorder):
    async with accord_join(agent, permission=[True]) as remote:
        session = await remote.new_session(accord_workspace({{"notes.md": ""}}))
        assert (await session.prompt("buy milk")).text == "Noted."
    assert accord_recorder.methods("out")[0] == "initialize"


{mark}
async def test_without_await_in_a_running_loop(accord_open, accord_workspace):
    session = accord_open(agent, cwd=accord_workspace({{"notes.md": ""}}), permission=[True])
    assert session.prompt("buy milk").text == "Noted."
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return Path(shutil.copytree(PROJECT, tmp_path / "project", ignore=shutil.ignore_patterns("__pycache__")))


def run_pytest(project: Path, *arguments: str, plugins: tuple[str, ...] = ()) -> tuple[int, str]:
    environment = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "PYTEST_ADDOPTS"}}
    finished = subprocess.run(
        [sys.executable, *plain_pytest(plugins=plugins), *arguments, "."],
        cwd=project,
        env={**environment, "HOME": str(project.parent), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=limit(100),
        check=False,
    )
    return finished.returncode, finished.stdout + finished.stderr


def passed(output: str) -> int:
    found = re.search(r"(\d+) passed", output)
    return int(found[1]) if found else 0


def test_the_project_of_a_stranger_passes(project: Path) -> None:
    status, output = run_pytest(project)

    assert status == 0, output
    assert passed(output) == 11
    assert not (project.parent / ".local").exists(), "a test wrote to the user's own state"


@pytest.mark.parametrize(
    ("plugin", "before", "mark", "settings"),
    [
        ("anyio", "@pytest.fixture\ndef anyio_backend():\n    return 'asyncio'", "@pytest.mark.anyio", ()),
        ("pytest_asyncio", "", "@pytest.mark.asyncio", ("-o", "asyncio_default_fixture_loop_scope=function")),
    ],
)
def test_async_tests_of_a_stranger_run_with_whatever_runs_them(
    project: Path, plugin: str, before: str, mark: str, settings: tuple[str, ...]
) -> None:
    if importlib.util.find_spec(plugin) is None:
        pytest.skip(f"{plugin} is missing: install it with pip to see that the fixtures go along with it")
    (project / "test_note_taker.py").unlink()
    (project / "test_awaiting.py").write_text(AWAITING.format(before=before, mark=mark))

    status, output = run_pytest(project, *settings, plugins=(plugin.removeprefix("pytest_"),))

    assert status == 0, output
    assert passed(output) == 2


BROKEN = """
import pytest
import accord
from accord.testing import ScriptedAgent
from note_taker import agent

def test_unexpected(accord_open, accord_workspace):
    accord_open(agent, cwd=accord_workspace({"notes.md": ""})).prompt("buy milk")

def test_script(accord_open):
    async def script(peer):
        await peer.greet()
        await peer.open_session()
        await peer.take_prompt()
        raise KeyError("a mistake in the script")
    with pytest.raises(accord.ConnectionLost):
        accord_open(ScriptedAgent(script)).prompt("hello")
"""


def test_what_went_wrong_on_the_other_side_fails_the_test_at_its_end(project: Path) -> None:
    (project / "test_note_taker.py").unlink()
    (project / "test_broken.py").write_text(BROKEN)

    status, output = run_pytest(project)

    assert status == 1, output
    assert "2 passed, 2 errors" in output
    of_the_question, of_the_script = output.split("ERROR at teardown of ")[1:]
    assert "without a prepared answer" in of_the_question
    assert "a mistake in the script" in of_the_script


def test_the_plugin_loads_nothing_before_a_fixture_is_used(project: Path) -> None:
    (project / "test_note_taker.py").unlink()
    (project / "test_light.py").write_text(
        "import sys\n\ndef test_light():\n"
        "    loaded = [name for name in sys.modules if name.startswith('accord.')]\n"
        "    assert set(loaded) <= {'accord.lazy', 'accord.version', 'accord.testing', 'accord.testing.plugin'}\n"
        "    assert 'accord.testing.plugin' in loaded\n"
    )

    status, output = run_pytest(project)

    assert status == 0, output


def test_the_fixtures_are_documented(project: Path) -> None:
    _, output = run_pytest(project, "--fixtures")

    for name in ("accord_join", "accord_open", "accord_recorder", "accord_state", "accord_workspace"):
        described = re.search(rf"^{name} -- .*\n    (.+)$", output, re.MULTILINE)
        assert described, output
        assert "no docstring" not in described[1]


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    return Path(shutil.copytree(PROGRAMS, tmp_path / "programs", ignore=shutil.ignore_patterns("__pycache__")))


def run_program(folder: Path, *words: str) -> tuple[int, str]:
    environment = {name: value for name, value in os.environ.items() if name != "MYPYPATH"}
    finished = subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env={**environment, "HOME": str(folder.parent), "XDG_STATE_HOME": str(folder.parent)},
        capture_output=True,
        text=True,
        timeout=limit(380),
        check=False,
    )
    return finished.returncode, finished.stdout + finished.stderr


# What a stranger might write, in which program, and what the type checker says of it.
MISTAKES = [
    ("cancelling_client.py", "turn.cancel()", "await turn.cancel()", "func-returns-value"),
    ("cancelling_client.py", 'session.prompt("work")', 'session.ask("work")', "attr-defined"),
    ("cancelling_client.py", "accord.connect(agent)", "accord.connect(7)", "call-overload"),
    ("cancelling_client.py", "error.retry_after", "error.retry_later", "attr-defined"),
    ("echo_agent.py", "len(turn.text), 3", "len(turn.text)", "call-arg"),
    ("conformance_suite.py", "conformance(PROGRAM, Options(", "conformance(PROGRAM, dict(", "arg-type"),
    ("conformance_suite.py", 'test_v1("ACP-JSONRPC-001")', "test_v1(7)", "arg-type"),
]


@pytest.mark.long
@pytest.mark.timeout(400)
def test_the_programs_of_strangers_are_typed_strictly_and_their_mistakes_are_found(programs: Path) -> None:
    names = sorted(path.name for path in programs.glob("*.py"))
    assert len(names) == 11
    for number, (name, before, after, _) in enumerate(MISTAKES):
        text = (programs / name).read_text()
        assert before in text
        (programs / f"wrong_{number}.py").write_text(text.replace(before, after, 1))
    wrong = [f"wrong_{number}.py" for number in range(len(MISTAKES))]

    status, output = run_program(programs, "-m", "mypy", "--strict", "--cache-dir", os.devnull, *names, *wrong)

    errors = [line for line in output.splitlines() if ": error:" in line]
    assert status == 1
    assert [line for line in errors if not line.startswith("wrong_")] == []
    found = {(line.partition(":")[0], line.rpartition("[")[2].rstrip("]")) for line in errors}
    assert found >= set(zip(wrong, (code for *_, code in MISTAKES), strict=True))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", RUNNABLE)
def test_a_program_of_a_stranger_does_what_it_says(programs: Path, name: str) -> None:
    status, output = run_program(programs, "-W", "error", f"{name}.py")

    assert status == 0, output
