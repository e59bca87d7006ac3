"""The settings of an entry reach `connect`; entries that are not trusted or not installed do not."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

import accord
from accord.client import Deadlines, Session
from accord.config.acp_json import read_config
from accord.config.connect import connect_to
from accord.config.entry import AgentEntry, entry_of
from accord.config.errors import DownloadError, RegistryError, UntrustedFile
from accord.config.registry import Download
from accord.errors import DeadlineExceeded
from tests.config.world import World, write


class Called(Exception):
    """Carries the call out; nothing went wrong."""

    def __init__(self, argv: tuple[str, ...], options: dict[str, Any]) -> None:
        super().__init__()
        self.argv = argv
        self.options = options


def call(entry: AgentEntry, **options: Any) -> Called:
    def connect(*argv: str, **said: Any) -> Any:
        raise Called(argv, said)

    with pytest.raises(Called) as caught:
        connect_to(entry, connect=connect, **options)
    return caught.value


def test_an_entry_says_what_is_started_and_how_long_it_may_take() -> None:
    entry = AgentEntry(
        "a", ("c", "x"), "user", "f", cwd="/w", env={"A": "1", "B": None}, start_seconds=30.0, idle_seconds=5.0,
        edition="1", framing="headers",
    )  # fmt: skip
    called = call(entry)
    permission = called.options.pop("permission")
    assert callable(permission)
    assert called.argv == ("c", "x")
    assert called.options == {
        "program_cwd": "/w",
        "env": {"A": "1", "B": None},
        "deadlines": Deadlines(start_seconds=30.0, first_seconds=5.0, idle_seconds=5.0),
        "edition": "1",
        "framing": "headers",
    }


def test_what_the_caller_says_comes_first() -> None:
    called = call(AgentEntry("a", ("c",), "user", "f", edition="1"), edition="2", program_cwd="/here")
    assert (called.options["edition"], called.options["program_cwd"]) == ("2", "/here")


def test_an_entry_of_an_installed_dialect_speaks_it() -> None:
    chosen: list[accord.DialectPlugin] = []

    class Chosen:
        """What `connect` gives: it is only to be told of the dialect."""

        def use_dialect(self, dialect: accord.DialectPlugin) -> None:
            chosen.append(dialect)

    def connect(*_argv: str, **said: Any) -> Any:
        assert "dialect" not in said
        return Chosen()

    connect_to(AgentEntry("a", ("c",), "user", "f", dialect="simse"), connect=connect)
    assert [dialect.name for dialect in chosen] == ["simse"]


def test_a_command_that_nobody_trusted_is_not_started() -> None:
    entry = AgentEntry("a", ("evil", "\x1b[2J"), "project", "/p/acp.json", needs_trust=True)
    with pytest.raises(UntrustedFile) as caught:
        connect_to(entry)
    assert (caught.value.path, caught.value.argv) == ("/p/acp.json", ("evil", "\x1b[2J"))
    assert str(caught.value) == "/p/acp.json is not trusted: it wants to run evil '\\x1b[2J'"


def test_a_program_that_is_not_installed_is_not_started(world: World) -> None:
    download = Download("https://x.test/a.zip", world.paths.cache, "a")
    with pytest.raises(DownloadError, match="not installed"):
        connect_to(AgentEntry("a", ("c",), "registry", "r", download=download))


def test_a_command_that_only_the_registry_knows_must_be_found_first() -> None:
    with pytest.raises(RegistryError, match="find it by its name"):
        connect_to(AgentEntry("a", (), "user", "f", registry_id="a"))


SILENT = """
import asyncio
import accord
agent = accord.Agent("silent", version="1", store=accord.MemoryStore())
@agent.prompt
async def reply(turn):
    await turn.say("first")
    await asyncio.Event().wait()
agent.run()
"""


async def to_the_end(session: Session) -> None:
    async with session.prompt("hello") as turn:
        async for _ in turn:
            pass


async def test_an_agent_that_is_silent_for_longer_than_its_config_allows_is_given_up(tmp_path: Path) -> None:
    settings = {"name": "silent", "command": sys.executable, "args": ["-c", SILENT], "timeoutMs": 1000}
    write(tmp_path / "acp.json", {"servers": [settings]})
    file = read_config(tmp_path / "acp.json", "user")
    assert file is not None
    entry = entry_of(file.servers["silent"], file, needs_trust=False)
    async with connect_to(entry) as agent:
        session = await agent.new_session(cwd=tmp_path)
        with pytest.raises(DeadlineExceeded) as caught:
            await to_the_end(session)
    assert (caught.value.phase, caught.value.seconds) == ("idle", 1.0)


def test_a_download_that_nobody_was_asked_about_is_refused() -> None:
    with pytest.raises(DownloadError) as caught:
        connect_to(AgentEntry("a", ("npx", "a"), "catalogue", "s", asks_download=True))
    assert caught.value.reason == "refused"


def test_the_folder_in_which_a_package_runner_is_started_is_made(tmp_path: Path) -> None:
    folder = tmp_path / "cache" / "runners"
    connect_to(AgentEntry("a", ("npx", "a"), "catalogue", "s", cwd=str(folder), runs_outside=True))
    assert folder.is_dir()
    assert folder.stat().st_mode & 0o777 == 0o700
