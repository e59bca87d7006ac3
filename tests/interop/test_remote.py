"""The rich conversation over WebSocket and streamable HTTP, with other people's servers."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import accord
from tests.conversations.rich_driver import Story, drive
from tests.conversations.rich_stage import GREETING, Stage
from tests.forking_python import forking_python
from tests.interop.conftest import HOMES, with_needs
from tests.interop.programs import PEERS, ROOT, Program, rich_agent_on
from tests.limits import limit

EDITIONS: dict[str, Any] = {"v1": "1", "v2": "2"}
SERVERS = with_needs("ts v1", "ts v2", "py v1", "py v2", "stdio-to-ws v1", "stdio-to-ws v2")


class Talks(NamedTuple):
    """What was seen over each transport of one server, and the projects that the conversations left."""

    edition: str
    stories: dict[str, Story]
    greetings: dict[str, str]


def server_program(which: str, home: Callable[[str], Path], stage: Stage) -> tuple[Program, int | None]:
    """The program of a server, and the port that it was given; None if it prints one."""
    kind, edition = which.split()
    if kind == "py":
        # Both editions are served by the newer package.
        argv = (
            str(forking_python(str(home("python_peer_v2")), "acp")),
            "-W",
            "ignore",
            str(PEERS / "py_host.py"),
            edition,
        )
        return Program(argv, {"XDG_STATE_HOME": str(stage.state)}), None
    modules = home(HOMES[f"ts {edition}"])
    agent = rich_agent_on("ts", edition, modules, stage.state)
    if kind == "ts":
        return Program(agent.argv, {**agent.env, "ACCORD_SERVE": "1"}), None
    port = free_port()
    bridge = str(modules / "node_modules/.bin/stdio-to-ws")
    return Program(("node", bridge, "--quiet", "--port", str(port), " ".join(agent.argv)), agent.env), port


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


@asynccontextmanager
async def running(program: Program, port: int | None, stage: Stage) -> AsyncIterator[int]:
    env = {name: value for name, value in stage.environment.items() if value is not None}
    process = await asyncio.create_subprocess_exec(
        *program.argv, cwd=ROOT, env={**os.environ, **env, **program.env}, stdout=asyncio.subprocess.PIPE
    )
    try:
        async with asyncio.timeout(limit(30.0)):
            if port is None:
                assert process.stdout is not None
                port = int(await process.stdout.readline())
            while not await is_listening(port):
                await asyncio.sleep(0.02)
        yield port
    finally:
        process.terminate()
        await process.wait()


async def is_listening(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    writer.close()
    return True


async def hold_talks(which: str, transports: Sequence[str], home: Callable[[str], Path], stage: Stage) -> Talks:
    talks = Talks(which.split()[1], {}, {})
    for transport in transports:
        stage.clear()
        async with running(*server_program(which, home, stage), stage) as port:
            address = f"{transport}://127.0.0.1:{port}/acp"
            talks.stories[transport] = await drive((address,), edition=EDITIONS[talks.edition], project=stage.project)
            talks.greetings[transport] = (stage.project / "greeting.txt").read_text(encoding="utf-8")
    return talks


@pytest.fixture(scope="module", params=SERVERS)
def talks(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Talks:
    which: str = request.param
    transports = ("ws",) if which.startswith("stdio") else ("ws", "http")
    stage = Stage(tmp_path_factory.mktemp("remote"))
    return asyncio.run(hold_talks(which, transports, request.getfixturevalue, stage))


@pytest.mark.sampled(2)
def test_every_turn_ends_as_it_should_over_every_transport(talks: Talks) -> None:
    for story in talks.stories.values():
        assert story.edition == talks.edition
        assert story.stop_reasons == ["end_turn", "cancelled", "end_turn", "end_turn", "end_turn"]
        assert story.texts[2].startswith("You said fix, wait, recall;")
        assert story.listed == ["session-1"]
        assert story.refusals == [accord.ResourceNotFound]


def test_the_user_is_asked_once_and_files_are_changed(talks: Talks) -> None:
    for transport, story in talks.stories.items():
        assert [question.title for question in story.questions] == ["Edit greeting.txt"]
        assert story.live.tool_calls["edit"].raw_output == {"option": "allow"}
        assert talks.greetings[transport] == GREETING.replace("Go away", "Welcome")


def test_a_session_is_told_again_whole_on_a_new_connection(talks: Talks) -> None:
    for story in talks.stories.values():
        tools = [call.title for call in story.live.tool_calls.values()]
        assert [call.title for call in story.reopened.tool_calls.values()] == tools
        assert story.reopened.text == story.live.text
        assert story.again.text == story.continued.text


def test_settings_are_kept(talks: Talks) -> None:
    for story in talks.stories.values():
        assert story.settings == [("code", "large")] * 2
