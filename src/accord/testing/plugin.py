"""Fixtures for the tests of agents and clients; pytest finds them by itself wherever Accord is installed.

They work in plain tests (`accord_open`), and in `async def` tests with any runner. Nothing is imported before a fixture
is used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from accord.client import ConnectedAgent
    from accord.testing.files import MakeWorkspace
    from accord.testing.joint import OpenAgent
    from accord.testing.recorder import Recorder
    from accord.testing.replayed import OpenReplay, ReplayedAgent

__all__ = ["accord_join", "accord_open", "accord_recorder", "accord_replay", "accord_state", "accord_workspace"]


@pytest.fixture
def accord_state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A private state folder for the test and the programs that it starts: your own sessions are not touched.

    `accord_join` and `accord_open` use it by themselves. On macOS the folder follows from HOME, which is left alone.
    """
    state = tmp_path_factory.mktemp("accord-state")
    for variable in ("XDG_STATE_HOME", "LOCALAPPDATA"):
        monkeypatch.setenv(variable, str(state))
    return state


@pytest.fixture
def accord_recorder() -> Recorder:
    """A `Recorder`, which observes the connections of `accord_join` and `accord_open`."""
    from accord.testing.recorder import Recorder  # noqa: PLC0415 - nothing is imported before a fixture is used

    return Recorder()


@pytest.fixture
def accord_workspace(tmp_path_factory: pytest.TempPathFactory) -> MakeWorkspace:
    """Makes working directories for agents: `accord_workspace({"src/a.py": "..."})` returns the path of a new one.

    It is outside of your project, so no folder above it is a repository. `accord.testing.read_files` shows the files
    after the agent's work.
    """

    def make(files: Mapping[str, str | bytes] | None = None) -> Path:
        from accord.testing.files import write_files  # noqa: PLC0415

        return write_files(tmp_path_factory.mktemp("workspace"), files or {})

    return make


@pytest.fixture
def accord_replay(request: pytest.FixtureRequest) -> OpenReplay:
    """The agent of a trace: `accord_open(accord_replay("talk.jsonl"))`; a relative path is beside the test's file."""

    def replayed(path: str | Path, **options: Any) -> ReplayedAgent:
        from accord.testing.replayed import ReplayedAgent  # noqa: PLC0415

        return ReplayedAgent(request.path.parent / path, **options)

    return replayed


@pytest.fixture
def accord_join(
    accord_state: Path,  # noqa: ARG001
    accord_recorder: Recorder,
) -> Callable[..., AbstractAsyncContextManager[ConnectedAgent]]:
    """`accord.testing.join`, observed by the test's recorder.

    `async with accord_join(agent, permission=[True]) as remote:` is a client and an agent in one process.
    """

    def joined(*target: Any, **options: Any) -> AbstractAsyncContextManager[ConnectedAgent]:
        from accord.testing.joint import join  # noqa: PLC0415

        return join(*target, **{"recorder": accord_recorder, **options})

    return joined


@pytest.fixture
def accord_open(
    accord_state: Path,  # noqa: ARG001
    accord_recorder: Recorder,
    accord_workspace: MakeWorkspace,
) -> Iterator[OpenAgent]:
    """`accord.open` for tests without `await`: `accord_open(agent)` or `accord_open("my-agent", "--acp")`.

    Returns an open session, in a new empty workspace unless `cwd` is given, and closes it when the test is over. The
    defaults are those of `accord.testing.join`: short deadlines, `permission` may be a series of answers, and a
    question beyond them, or an exception of a `ScriptedAgent`, fails the test at its end.
    """
    from accord.testing.joint import OpenSessions  # noqa: PLC0415

    sessions = OpenSessions(accord_recorder, accord_workspace)
    try:
        yield sessions.open
    finally:
        sessions.close()
