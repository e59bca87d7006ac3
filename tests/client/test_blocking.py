"""The client without `await`: scripts, notebooks, and Ctrl+C."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import accord
from accord.client import blocking
from accord.session.content import Text
from accord.session.event import Event, MessageChunk, StateChanged
from tests.client.programs import RawAgent
from tests.forked import forked_python
from tests.limits import limit
from tests.tables import rows
from tests.transport.processes import runs

IN_EVERY_EDITION = pytest.mark.parametrize("edition", ["1", "2", "2-june"])
SCRIPT = Path(__file__).with_name("script.py")


def wait_until(condition: Callable[[], object], seconds: float = 20.0) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("accord")]


def text_of(event: Event) -> str:
    if isinstance(event, MessageChunk) and event.speaker == "agent" and isinstance(event.block, Text):
        return event.block.text
    return ""


class Worker:
    """An agent that does what a prompt says, and what became of its turns."""

    def __init__(self) -> None:
        self.cancelled = threading.Event()
        self.agent = accord.Agent("worker", store=accord.MemoryStore())
        self.agent.modes(["slow", "fast"])
        self.agent.command("hello", "Say hello")(self._hello)
        self.agent.prompt(self._reply)

    async def _hello(self, turn: accord.agent.Turn, rest: str) -> None:
        await turn.say(f"hello {rest}")

    async def _reply(self, turn: accord.agent.Turn) -> None:
        try:
            await self._work(turn)
        except asyncio.CancelledError:
            self.cancelled.set()
            raise

    async def _work(self, turn: accord.agent.Turn) -> None:
        match turn.text.split():
            case ["hang"]:
                await turn.say("hanging")
                await asyncio.sleep(600)
            case ["many", count]:
                for number in range(int(count)):
                    await turn.say(f"{number} ")
            case ["ask"]:
                async with turn.tool("Dig", status="pending") as tool:
                    given = await turn.request_permission(tool)
                await turn.say(f"{given.allowed}")
            case ["fail"]:
                raise accord.RateLimited(3)
            case _:
                await turn.say(f"You said: {turn.text}")


# --- asking


@rows("edition", ["1", "2", "2-june"])
def test_a_question_gets_its_reply(tmp_path: Path, edition: Any) -> None:
    with accord.open(Worker().agent, cwd=tmp_path, edition=edition) as session:
        reply = session.prompt("hello")
        assert (reply.text, str(reply), reply.stop_reason) == ("You said: hello", "You said: hello", "end_turn")
        assert session.prompt("/hello you").text == "hello you"
        assert session.transcript.text == "You said: hello\n\nhello you"
        assert [command.name for command in session.commands] == ["hello"]
        session.set_mode("fast")
        assert [option.value for option in session.options] == ["fast"]  # type: ignore[union-attr]
        assert session.agent.info is not None
    assert threads() == []


def test_a_session_from_before_can_be_loaded() -> None:
    worker = Worker()
    with accord.open(worker.agent) as session:
        session.prompt("hello")
        known = session.id
    with accord.open(worker.agent, session_id=known) as session:
        assert (session.id, session.transcript.text) == (known, "You said: hello")


def test_an_error_is_raised_as_the_agent_meant_it() -> None:
    with accord.open(Worker().agent) as session:
        with pytest.raises(accord.RateLimited) as caught:
            session.prompt("fail")
        assert caught.value.retry_after == 3
        with pytest.raises(accord.RateLimited):
            list(session.stream("fail"))
        assert session.prompt("hello").text == "You said: hello"


def test_a_deadline_is_told_like_any_error() -> None:
    worker = Worker()
    with accord.open(worker.agent) as session:
        with pytest.raises(accord.DeadlineExceeded) as caught:
            session.prompt("hang", deadlines=accord.Deadlines(turn_seconds=0.05))
        assert caught.value.phase == "turn"
        assert worker.cancelled.wait(10)


def test_an_agent_that_cannot_be_started_leaves_no_thread() -> None:
    with pytest.raises(accord.ConnectFailed):
        accord.open("there-is-no-such-program").open()
    assert threads() == []


def test_a_program_is_gone_with_its_session(tmp_path: Path) -> None:
    raw = RawAgent(tmp_path)
    with accord.open(*raw.argv, cwd=tmp_path) as session:
        assert session.prompt("hello").text == "you said hello"
    assert wait_until(lambda: not any(runs(pid) for pid in raw.pids))


def test_the_async_client_underneath_can_be_used() -> None:
    async def count(agent: accord.client.ConnectedAgent) -> int:
        return len([summary async for summary in agent.list_sessions()])

    with accord.open(Worker().agent) as session:
        session.prompt("hello")
        assert session.run(count(session.agent)) == 1


# --- streams


@IN_EVERY_EDITION
def test_a_stream_gives_every_event(edition: Any) -> None:
    with accord.open(Worker().agent, edition=edition) as session:
        events = list(session.stream("many 2000"))
        said = "".join(text for event in events if (text := text_of(event)))
        assert said == "".join(f"{number} " for number in range(2000))
        assert isinstance(events[-1], StateChanged)


def test_a_slow_reader_gets_every_event_too() -> None:
    with accord.open(Worker().agent) as session:
        said: list[str] = []
        for event in session.stream("many 1500"):
            if text := text_of(event):
                said.append(text)
                if len(said) % 300 == 0:
                    threading.Event().wait(0.02)
        assert len(said) == 1500


@rows("edition", ["1", "2", "2-june"])
def test_leaving_a_stream_early_cancels_the_turn(edition: Any) -> None:
    worker = Worker()
    with accord.open(worker.agent, edition=edition) as session:
        for event in session.stream("hang"):
            if text_of(event):
                break
        assert worker.cancelled.wait(10)
        assert session.prompt("hello").text == "You said: hello"


def test_leaving_a_stream_that_is_full_cancels_the_turn() -> None:
    with accord.open(Worker().agent) as session:
        stream = session.stream("many 100000")
        next(stream)
        # So much waits on both sides of the thread that nothing goes on.
        assert wait_until(lambda: "480 " in session.transcript.text)
        began = time.monotonic()
        stream.close()
        assert session.prompt("hello").text == "You said: hello"
        assert time.monotonic() - began < limit(5)


def test_a_turn_can_be_cancelled_from_another_thread() -> None:
    with accord.open(Worker().agent) as session:
        session.session.listen(
            lambda event: threading.Thread(target=session.cancel).start() if text_of(event) else None
        )
        assert session.prompt("hang").stop_reason == "cancelled"


# --- callbacks


def test_a_callback_may_block_and_does_not_block_the_agent() -> None:
    asked = threading.Event()
    answered = threading.Event()

    def permit(_question: accord.client.PermissionQuestion) -> bool:
        asked.set()
        return answered.wait(20)

    with accord.open(Worker().agent, permission=permit) as session:
        heard: list[Event] = []
        session.session.listen(heard.append)
        replies: list[str] = []
        asking = threading.Thread(target=lambda: replies.append(session.prompt("ask").text))
        asking.start()
        assert asked.wait(10)
        assert session.run(done()) == "done"
        answered.set()
        asking.join(10)
        assert replies == ["True"]


async def done() -> str:
    return "done"


def test_a_callback_may_be_a_coroutine_function() -> None:
    async def permit(question: accord.client.PermissionQuestion) -> Any:
        await asyncio.sleep(0)
        return question.reject()

    with accord.open(Worker().agent, permission=permit) as session:
        assert session.prompt("ask").text == "False"


@rows("error", [ValueError, StopIteration, SystemExit])
def test_a_callback_that_fails_allows_nothing_and_harms_nobody(error: type[BaseException]) -> None:
    def permit(_question: accord.client.PermissionQuestion) -> bool:
        raise error

    with accord.open(Worker().agent, permission=permit) as session:
        with pytest.raises(accord.RequestError):
            session.prompt("ask")
        assert session.prompt("hello").text == "You said: hello"


def test_a_policy_decides_here_as_there() -> None:
    with accord.open(Worker().agent, permission=accord.Policy([])) as session:
        assert session.prompt("ask").text == "False"


# --- loops


def test_it_works_inside_a_running_loop() -> None:
    async def cell() -> str:
        with accord.open(Worker().agent) as session:
            return session.prompt("hello").text + str(len(list(session.stream("many 5"))) > 5)

    assert asyncio.run(cell()) == "You said: helloTrue"
    assert threads() == []


def test_two_sessions_may_be_open_side_by_side() -> None:
    with accord.open(Worker().agent) as one, accord.open(Worker().agent, edition="2") as two:
        assert (one.prompt("1").text, two.prompt("2").text) == ("You said: 1", "You said: 2")


# --- the end


def test_close_may_be_called_again_and_nothing_works_afterwards() -> None:
    session = accord.open(Worker().agent).open()
    session.close()
    session.close()
    assert threads() == []
    for call in (lambda: session.prompt("hello"), lambda: session.run(done()), session.open):
        with pytest.raises(RuntimeError):
            call()


def test_before_it_is_open_nothing_works() -> None:
    session = accord.open(Worker().agent)
    with pytest.raises(RuntimeError):
        session.prompt("hello")
    session.close()


def test_closing_cancels_what_still_runs() -> None:
    worker = Worker()
    session = accord.open(worker.agent).open()
    stream = iter(session.stream("hang"))
    while not isinstance(next(stream), MessageChunk):
        pass
    session.close()
    assert worker.cancelled.is_set()
    assert threads() == []
    assert not any(isinstance(event, MessageChunk) for event in stream)


# --- Ctrl+C


def test_ctrl_c_before_the_wait_for_a_turn_has_begun_cancels_it(monkeypatch: pytest.MonkeyPatch) -> None:
    submit = blocking._Thread.submit

    def interrupted(thread: Any, work: Any) -> Any:
        future = submit(thread, work)
        if work.__name__ == "wait":
            assert wait_until(lambda: session.transcript.text == "hanging")
            raise KeyboardInterrupt
        return future

    monkeypatch.setattr(blocking._Thread, "submit", interrupted)
    with accord.open(Worker().agent) as session:
        with pytest.raises(KeyboardInterrupt):
            session.prompt("hang")
        assert [turn.stop_reason for turn in session.transcript.turns] == ["cancelled"]


@pytest.mark.skipif(sys.platform == "win32", reason="SIGINT to one process: run it on Linux or macOS")
@pytest.mark.parametrize("way", ["ask", "stream", "body", "question", "start"])
def test_ctrl_c_cancels_first_and_is_then_raised(tmp_path: Path, way: str) -> None:
    journal = tmp_path / "journal"
    complaints = tmp_path / "complaints"
    argv = [sys.executable, str(SCRIPT), way, str(journal)]
    with contextlib.ExitStack() as stack:
        # One of them begins with an interpreter that starts from nothing.
        stack.enter_context(contextlib.nullcontext() if way == "ask" else forked_python())
        stderr = stack.enter_context(complaints.open("wb"))
        script = stack.enter_context(
            subprocess.Popen(argv, stdin=subprocess.DEVNULL, start_new_session=True, stderr=stderr)
        )
        try:
            assert wait_until(lambda: journal.exists() and "works" in journal.read_text(encoding="utf-8"))
            os.kill(script.pid, signal.SIGINT)
            status = script.wait(20)
        finally:
            script.kill()
    noted = journal.read_text(encoding="utf-8").splitlines()
    cancelled = [] if way == "start" else ["a cancel is sent", "the agent is cancelled"]
    assert (noted, status) == (["works", *cancelled, "the script is interrupted", "1 threads"], 0)
    assert complaints.read_text(encoding="utf-8") == ""


def test_a_wrong_option_is_named_as_one_of_the_function_that_was_called() -> None:
    with pytest.raises(TypeError, match=r"open\(\).*permissions"):
        accord.open("python", permissions=None)  # type: ignore[call-overload]
