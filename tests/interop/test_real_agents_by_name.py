"""Well-known agents and the built-in one, started by their names in the catalogue as a user types them."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from accord.config.catalogue import load_catalogue
from tests.cli.command import Result
from tests.interop.llm.script import Hang, Say, Script
from tests.interop.llm.server import ScriptedModel, serve
from tests.interop.npm_agents import AGENTS, CONTENT, NODE, NOTE, NOTE_AFTER, NpmAgent, Place
from tests.limits import limit

if "ACCORD_REAL_AGENTS" not in os.environ:
    # Before the next import: without leave to run them, that module ends half way.
    pytest.skip("scripts/test --interop", allow_module_level=True)

from tests.interop.test_real_agents import WANTED, nobody_lives_in

pytestmark = pytest.mark.timeout(240)

SECONDS = limit(100.0)
DONE = "That is done."
BUILT_IN = "demo"


class Named:
    """One agent by its name: a home and a project of its own, and only its programs on the PATH beside the system's."""

    def __init__(self, agent: NpmAgent | None, place: Place, model: ScriptedModel) -> None:
        self.agent = agent
        self.place = place
        self.model = model
        self.name = BUILT_IN if agent is None else agent.catalogue
        changed: dict[str, str | None] = {**os.environ, "HOME": str(place.home)}
        if agent is not None:
            changed |= agent.environment(place)
            # Their node without its npx: a line that downloads is none of this.
            (place.home / "bin").mkdir()
            (place.home / "bin/node").symlink_to(NODE)
            changed["PATH"] = os.pathsep.join([str(agent.path.parent), str(place.home / "bin"), "/usr/bin", "/bin"])
        self.env = {name: value for name, value in changed.items() if value is not None}

    @property
    def loads(self) -> bool:
        """Whether the next process can go on with a session."""
        return self.agent is None or self.agent.loads

    def asks_for(self, *kinds: str) -> str:
        """The prompt after which the agent does these things, one after another, and says that it is done."""
        if self.agent is None:
            lines = {
                "read": f"read {self.place.note.name}",
                "edit": f"replace {NOTE.strip()} with {NOTE_AFTER.strip()} in {self.place.note.name}",
                "command": f"run cp {self.place.home}/content {self.place.file.name}",
            }
            (self.place.home / "content").write_text(CONTENT)
            return lines[kinds[-1]]
        steps = [getattr(self.agent, kind)(self.place) for kind in kinds]
        self.model.script = Script([*steps, Say(DONE)])
        return "Please do that"

    async def start(self, *words: str) -> asyncio.subprocess.Process:
        """`accord run NAME …`, with nobody at the keyboard."""
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "accord", "run", self.name, *words, "--timeout", str(SECONDS), "-o", "events"),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=self.place.project,
            env=self.env,
            limit=2**26,
        )

    async def run(self, *words: str) -> Result:
        """The same, to its end."""
        return await self.ended(await self.start(*words))

    async def ended(self, process: asyncio.subprocess.Process, before: bytes = b"") -> Result:
        """The result of a command, when nothing that it started is left."""
        try:
            async with asyncio.timeout(SECONDS):
                stdout, stderr = await process.communicate()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        await nobody_lives_in(self.place.home)
        return Result(process.returncode or 0, (before + stdout).decode(), stderr.decode())


@pytest.fixture(params=[*AGENTS, BUILT_IN])
def agent(request: pytest.FixtureRequest) -> NpmAgent | None:
    """Each agent of `scripts/agents`, and None for ours."""
    agent = AGENTS.get(request.param)
    if agent is not None and not agent.is_installed:
        missing = f"{agent.name} is missing: scripts/agents could not install it"
        if WANTED != "present":
            pytest.fail(missing)
        pytest.skip(missing)
    return agent


@contextlib.asynccontextmanager
async def by_name(agent: NpmAgent | None, root: Path) -> AsyncIterator[Named]:
    """The agent with its model and a file in its project."""
    home, project = root / "home", root / "project"
    home.mkdir()
    project.mkdir()
    async with serve(Script([Say(DONE)])) as model:
        place = Place(home, project, model.url)
        place.note.write_text(NOTE)
        yield Named(agent, place, model)


def statuses(result: Result) -> list[str]:
    """The last status of each call."""
    last: dict[str, str] = {}
    for record in result.of_type("tool"):
        if "status" in record:
            last[record["id"]] = record["status"]
    return list(last.values())


async def test_its_name_is_a_row_that_says_where_it_was_tried(agent: NpmAgent | None, tmp_path: Path) -> None:
    async with by_name(agent, tmp_path) as named:
        if named.agent is None:
            return
        row = load_catalogue().find(named.name)

        assert row is not None
        assert row.tried
        assert shutil.which(named.agent.program, path=named.env["PATH"]) is not None


async def test_a_file_is_read(agent: NpmAgent | None, tmp_path: Path) -> None:
    async with by_name(agent, tmp_path) as named:
        result = await named.run(named.asks_for("read"), "--allow", "all")

        assert result.status == 0, result.stderr
        assert statuses(result) == ["completed"]
        told = str([each.body for each in named.model.questions]) if named.agent else result.stdout
        assert NOTE.strip() in told
        assert named.place.note.read_text() == NOTE


async def test_a_file_is_edited_when_a_rule_allows_it(agent: NpmAgent | None, tmp_path: Path) -> None:
    async with by_name(agent, tmp_path) as named:
        result = await named.run(named.asks_for("read", "edit"), "--allow", "all")

        assert result.status == 0, result.stderr
        permissions = [record for record in result.of_type("permission") if record["by"] == "rule"]
        assert permissions
        assert statuses(result)[-1] == "completed"
        assert named.place.note.read_text() == NOTE_AFTER


async def test_a_command_is_run_when_a_rule_allows_it(agent: NpmAgent | None, tmp_path: Path) -> None:
    async with by_name(agent, tmp_path) as named:
        result = await named.run(named.asks_for("command"), "--allow", "execute", "--allow", "edit")

        # The line has a redirection: that is an edit beside the command.
        assert result.status == 0, result.stderr
        assert {record["rule"] for record in result.of_type("permission")} & {"allow execute", "allow edit"}
        assert named.place.file.read_text() == CONTENT


@pytest.mark.parametrize("kind", ["edit", "command"])
async def test_what_is_denied_is_not_done(agent: NpmAgent | None, tmp_path: Path, kind: str) -> None:
    async with by_name(agent, tmp_path) as named:
        kinds = ("read", "edit") if kind == "edit" else ("command",)
        result = await named.run(named.asks_for(*kinds), "--deny", "edit", "--deny", "execute")

        assert result.status in {0, 5, 130}, result.stderr
        assert [record["rule"] for record in result.of_type("permission") if (record["rule"] or "").startswith("deny ")]
        assert named.place.note.read_text() == NOTE
        assert not named.place.file.exists()


async def test_an_interrupted_turn_is_cancelled_and_nothing_is_left(agent: NpmAgent | None, tmp_path: Path) -> None:
    async with by_name(agent, tmp_path) as named:
        if named.agent is None:
            process = await named.start("run sleep 600", "--allow", "execute")
            before = await until(process, b'"type": "terminal"')
        else:
            named.model.script = Script([Hang("Let me think about that")])
            process = await named.start("Please think")
            async with asyncio.timeout(SECONDS):
                await named.model.hanging.wait()
            before = b""
        process.send_signal(signal.SIGINT)
        result = await named.ended(process, before)

        assert result.status == 130, result.stderr
        (end,) = result.of_type("end")
        assert end["stop_reason"] == "cancelled"


async def until(process: asyncio.subprocess.Process, part: bytes) -> bytes:
    """What the command printed up to the first record with this part."""
    assert process.stdout is not None
    read = b""
    async with asyncio.timeout(SECONDS):
        while part not in read:
            line = await process.stdout.readline()
            assert line, "the command ended before"
            read += line
    return read


async def test_the_next_command_goes_on_with_the_conversation(agent: NpmAgent | None, tmp_path: Path) -> None:
    async with by_name(agent, tmp_path) as named:
        if not named.loads:
            pytest.skip("this agent loses a session that it is asked to load soon after: see docs/real-agents.md")
        first = await named.run(named.asks_for("read"), "--allow", "all")
        again = await named.run("-c", named.asks_for("read"), "--allow", "all")

        assert (first.status, again.status) == (0, 0), first.stderr + again.stderr
        (begun,), (resumed,) = first.of_type("start"), again.of_type("start")
        assert (resumed["session"], resumed["resumed"]) == (begun["session"], True)
