"""Whole sessions with a model on loopback: turns that end well, are cancelled, fail, are compacted, undone, or killed.

The agent is a process of its own, and `kill -9` is one. At each request the model is told exactly what it should
remember, and at the end the disk and the transcript of a client that loads the session agree with that.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

import accord
from accord.coder.memory import LOST, STOPPED, SUMMARY, SUMMARY_MESSAGES
from accord.session.tool import FINISHED
from tests.coder.llm import FakeModel, Hang, Say, Status, StopShort, ToolInvocation, serve
from tests.coder.test_remembered_turns import accepted, until
from tests.coder.wires import Spoken
from tests.limits import limit

pytest.importorskip("pydantic_ai", reason='pydantic-ai is missing: pip install "accord[agent]"')
if not Path("/proc/self/task").exists():
    pytest.skip("the agent is found among the children in /proc, which is Linux's", allow_module_level=True)

FULL = Status("400 Bad Request", "too long", "context_length_exceeded")
EVERY_KIND = (
    "write", "cancel", "crash", "fail", "crash_in_a_tool", "undo", "full", "cancel_a_tool", "undo", "compact",
    "write_two", "cancel_an_undo", "undo", "write_two", "crash_in_an_undo", "help", "crash_in_an_undo", "undo", "say",
)  # fmt: skip


class WholeSession:
    """A session, what its model should remember, and what should be on the disk."""

    session: accord.client.Session

    def __init__(self, fake: FakeModel) -> None:
        self._fake = fake
        self.memory: list[Spoken] = []
        self.files: dict[str, str] = {}
        self.prompts: list[str] = []
        self._before: list[dict[str, str | None]] = []
        """What each turn changed: the files and their texts before, the latest turn last."""
        self._allowed = -1
        """So many questions are answered, and the next stays open; all are if it is below 0."""
        self._unanswered = asyncio.Event()

    async def turn(self, kind: str, number: int) -> None:
        """One turn; what the request before its end said is compared with the memory."""
        await getattr(self, f"_{kind}")(number)

    async def _say(self, number: int) -> None:
        await self._prompt(f"say {number}", Say(f"Answer {number}."))
        self._told(("user", f"say {number}"))
        self._remember(("agent", f"Answer {number}."))

    async def _write(self, number: int) -> None:
        call = self._call(number)
        await self._prompt(f"write {number}", ToolInvocation([call], text="I write."), Say("Written."))
        self._remember(("user", f"write {number}"), ("agent", "I write."), ("call", call))
        self._told(("result", f"Wrote 1 line to {call[1]['path']}."))
        self._remember(("agent", "Written."))

    async def _cancel(self, number: int) -> None:
        await self._cancelled_while(number, lambda turn: turn.text == "I begin", Hang("I begin"))
        self._told(("user", f"cancel {number}"))
        self._remember(("agent", f"I begin\n\n{STOPPED}"))

    async def _cancel_a_tool(self, number: int) -> None:
        call = self._call(number)
        sleep = ("run", {"command": "sleep 100"})
        known = self._commands()
        await self._cancelled_while(number, lambda _: self._commands() > known, ToolInvocation([call, sleep]))
        self._told(("user", f"cancel {number}"))
        self._remember(("call", call), ("call", sleep), ("result", f"Wrote 1 line to {call[1]['path']}."))
        self._remember(("result", STOPPED), ("agent", STOPPED))

    async def _fail(self, number: int) -> None:
        with pytest.raises(accord.RequestError) as caught:
            await self._prompt(f"fail {number}", StopShort("Half"))
        self._told(("user", f"fail {number}"))
        self._remember(("agent", f"Half\n\n[The turn ended here: {caught.value.message}.]"))

    async def _crash(self, number: int) -> None:
        await self._killed_while(number, lambda turn: turn.text == "I begin", Hang("I begin"))
        self._told(("user", f"crash {number}"))
        self._remember(("agent", f"I begin\n\n{LOST}"))

    async def _crash_in_a_tool(self, number: int) -> None:
        call = self._call(number)
        sleep = ("run", {"command": "sleep 100"})
        known = self._commands()
        await self._killed_while(
            number, lambda _: self._commands() > known, ToolInvocation([call, sleep], text="I write.")
        )
        self._told(("user", f"crash {number}"))
        self._remember(("agent", "I write."), ("call", call), ("call", sleep))
        self._remember(("result", f"Wrote 1 line to {call[1]['path']}."), ("result", LOST), ("agent", LOST))

    async def _full(self, number: int) -> None:
        await self._say_something(number)
        await self._prompt(f"full {number}", FULL, Say(f"Summary {number}."), Say(f"Answer {number}."))
        self._compacted(number)
        self._told(("user", f"full {number}"))
        self._remember(("agent", f"Answer {number}."))

    async def _compact(self, number: int) -> None:
        await self._say_something(number)
        await self._prompt("/compact", Say(f"Summary {number}."))
        self._compacted(number)

    async def _write_two(self, number: int) -> None:
        calls = [self._call(number), self._call(number, "other")]
        await self._prompt(f"write {number}", ToolInvocation(calls), Say("Written."))
        self._remember(("user", f"write {number}"), *(("call", call) for call in calls))
        self._remember(("result", f"Wrote 1 line to {calls[0][1]['path']}."))
        self._told(("result", f"Wrote 1 line to {calls[1][1]['path']}."))
        self._remember(("agent", "Written."))

    async def _undo(self, _: int) -> None:
        await self._prompt("/undo")
        self._remember(("user", "/undo"), ("agent", self._put_back()))

    async def _cancel_an_undo(self, number: int) -> None:
        """The user stops it at the second file, or at the only one."""
        await self._write_something(number)
        put_back = self._put_back_first()
        self.prompts.append("/undo")
        async with self.session.prompt("/undo") as turn:
            await self._until_unanswered()
            turn.cancel()
        assert turn.stop_reason == "cancelled"
        self._remember(("user", "/undo"), ("agent", f"{put_back}\n\n{STOPPED}" if put_back else STOPPED))

    async def _crash_in_an_undo(self, number: int) -> None:
        await self._write_something(number)
        put_back = self._put_back_first()
        self.prompts.append("/undo")
        with pytest.raises(accord.AccordError):
            await self._kill_while("/undo", self._until_unanswered)
        self._remember(("user", "/undo"), ("agent", f"{put_back}\n\n{LOST}" if put_back else LOST))

    async def _help(self, _: int) -> None:
        await self._prompt("/help")

    async def _say_something(self, number: int) -> None:
        """There must be more than a summary, else nothing is compacted."""
        if len(self.memory) <= SUMMARY_MESSAGES:
            await self._say(number)

    async def _write_something(self, number: int) -> None:
        """There must be something to undo."""
        if not self._before:
            await self._write_two(number)

    # --- what all of them need

    async def answer(self, _: accord.client.PermissionQuestion) -> bool:
        """Allow it, or never answer."""
        if self._allowed == 0:
            self._unanswered.set()
            await asyncio.Event().wait()
        self._allowed -= 1
        return True

    async def _until_unanswered(self, _: Any = None) -> None:
        async with asyncio.timeout(limit(20)):
            await self._unanswered.wait()
        self._allowed = -1
        self._unanswered.clear()

    def _call(self, number: int, prefix: str = "file") -> tuple[str, dict[str, Any]]:
        path = f"{prefix}{number % 4}"
        if prefix == "file":
            self._before.append({})
        self._before[-1][path] = self.files.get(path)
        self.files[path] = f"written in turn {number}"
        return ("write", {"path": path, "text": self.files[path]})

    def _put_back(self) -> str:
        """Put back what the last turn changed; what the agent says about it."""
        if not self._before:
            return "There is nothing to undo: no turn has changed a file."
        paths = list(self._before[-1])
        for path in paths:
            self._put_back_one(path)
        return f"I put back {', '.join(paths)}."

    def _put_back_first(self) -> str:
        """Put back one of the last turn's files and leave the next question open; what the agent says about it."""
        self._allowed = 1 if len(self._before[-1]) > 1 else 0
        if not self._allowed:
            return ""
        path = next(iter(self._before[-1]))
        self._put_back_one(path)
        return f"I put back {path}."

    def _put_back_one(self, path: str) -> None:
        text = self._before[-1].pop(path)
        if text is None:
            del self.files[path]
        else:
            self.files[path] = text
        if not self._before[-1]:
            self._before.pop()

    def _commands(self) -> int:
        calls = self.session.transcript.tool_calls.values()
        return sum(each.kind == "execute" and bool(each.content) for each in calls)

    async def _prompt(self, text: str, *steps: Any) -> None:
        self.prompts.append(text)
        self._fake.then(*steps)
        turn = await self.session.prompt(text)
        assert turn.stop_reason == "end_turn"

    async def _cancelled_while(self, number: int, happened: Callable[[Any], bool], *steps: Any) -> None:
        self.prompts.append(f"cancel {number}")
        self._fake.then(*steps)
        async with self.session.prompt(f"cancel {number}") as turn:
            await until(lambda: happened(turn))
            turn.cancel()
        assert turn.stop_reason == "cancelled"

    async def _killed_while(self, number: int, happened: Callable[[Any], bool], *steps: Any) -> None:
        self.prompts.append(f"crash {number}")
        self._fake.then(*steps)
        with pytest.raises(accord.AccordError):
            await self._kill_while(f"crash {number}", lambda turn: until(lambda: happened(turn)))

    async def _kill_while(self, text: str, happened: Callable[[Any], Awaitable[None]]) -> None:
        async with self.session.prompt(text) as turn:
            await happened(turn)
            _kill_agent()
            async for _ in turn:
                pass

    def _told(self, last: Spoken) -> None:
        """The last request said all that is remembered, and this at its end."""
        self.memory.append(last)
        assert self._fake.conversation() == self.memory
        accepted(self.memory)

    def _remember(self, *spoken: Spoken) -> None:
        self.memory += spoken

    def _compacted(self, number: int) -> None:
        self.memory = [("user", f"{SUMMARY}Summary {number}."), ("agent", "Understood.")]


def _kill_agent() -> None:
    """`kill -9` for the agent that this process started."""
    me = Path("/proc/self").resolve().name
    for pid in Path(f"/proc/{me}/task/{me}/children").read_text().split():
        if b"accord.coder" in Path(f"/proc/{pid}/cmdline").read_bytes():
            os.kill(int(pid), signal.SIGKILL)
            return
    raise AssertionError("the agent is no child of this process")


async def _play(tmp_path: Path, kinds: list[str]) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    store = f"sqlite:{tmp_path / 'sessions.db'}"
    async with serve() as fake:
        model = ("--model", "fake-1", "--base-url", fake.url)
        argv = (sys.executable, "-m", "accord.coder", *model, "--store", store)
        whole = WholeSession(fake)
        async with accord.connect(*argv, permission=whole.answer) as remote:
            session = whole.session = await remote.new_session(folder)
            for number, kind in enumerate(kinds):
                await whole.turn(kind, number)
            await whole.turn("say", len(kinds))
            seen = session.transcript
        assert {path.name: path.read_text() for path in folder.iterdir()} == whole.files
        offline = (sys.executable, "-m", "accord.coder", "--store", store)
        async with accord.connect(*offline) as remote:
            loaded = (await remote.load_session(session.id, folder)).transcript
    assert [each.text for each in loaded.messages if each.speaker == "user"] == whole.prompts
    assert [each.text for each in loaded.messages] == [each.text for each in seen.messages]
    assert list(loaded.tool_calls) == list(seen.tool_calls)
    assert {each.status for each in loaded.tool_calls.values()} <= FINISHED


@pytest.mark.long
async def test_a_session_with_a_turn_of_every_kind(tmp_path: Path) -> None:
    await _play(tmp_path, list(EVERY_KIND))


@pytest.mark.long
@pytest.mark.timeout(180)
async def test_a_session_of_thirty_turns(tmp_path: Path) -> None:
    chance = random.Random(16)
    more = ("crash", "undo", "crash_in_a_tool", "write", "write_two", "crash_in_an_undo", "cancel", "compact", "full")
    kinds = [*EVERY_KIND, *more, "undo", "cancel_an_undo"]
    chance.shuffle(kinds)
    await _play(tmp_path, kinds)
