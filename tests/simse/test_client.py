"""The dialect of simse's page, with a backend that speaks it and nothing else as a real program."""

from __future__ import annotations

import asyncio
import functools
import json
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

import accord
from accord import simse
from accord.config.acp_json import read_config
from accord.config.connect import connect_to
from accord.config.entry import entry_of
from accord.dialects import MAX_UNSENT
from accord.simse.client_tool import ToolRunner
from accord.simse.client_translator import ClientTransport
from accord.transport import check_transport, memory_pair
from accord.transport.interface import Transport
from tests.client.clock import now, timeless
from tests.connection.rig import Hand, until
from tests.limits import limit
from tests.transport.one_by_one import MinimalTransport

PROGRAM = Path(__file__).with_name("page_backend.py")
BOUND_SECONDS = limit(20.0)
ORDER = {"sessionId": "s", "type": "tool_call", "toolCallId": "t", "toolName": "wait"}
PROMPT = {"jsonrpc": "2.0", "id": 1, "method": "session/prompt", "params": {"sessionId": "s", "prompt": []}}

Test = Callable[..., Coroutine[Any, Any, None]]


def timely(test: Test) -> Callable[..., None]:
    """Run an async test with a real program, for a bounded time."""

    @functools.wraps(test)
    def run(**arguments: Any) -> None:
        async def bounded() -> None:
            async with asyncio.timeout(BOUND_SECONDS):
                await test(**arguments)

        asyncio.run(bounded())

    return run


class Backend:
    """The program, and what it heard."""

    def __init__(self, folder: Path, **plan: Any) -> None:
        self.journal = folder / "journal"
        self.argv = (sys.executable, "-I", "-S", str(PROGRAM), str(self.journal), json.dumps(plan))

    def received(self, method: str) -> list[dict[str, Any]]:
        """The params of every message of a method."""
        messages = [json.loads(line) for line in self.journal.read_text(encoding="utf-8").splitlines()]
        return [message["params"] for message in messages if message.get("method") == method]

    def answers(self, kind: str) -> list[dict[str, Any]]:
        """The updates of a kind that our client sent, without the session's id."""
        updates = self.received("session/update")
        assert all(update.pop("sessionId").startswith("s-") for update in updates)
        return [update for update in updates if update["type"] == kind]


@pytest.fixture
def backend(tmp_path: Path) -> Backend:
    return Backend(tmp_path)


@asynccontextmanager
async def session_with(
    backend: Backend, folder: Path, *, dialect: simse.SimseDialect | None = None, **options: Any
) -> AsyncIterator[accord.client.Session]:
    async with accord.connect(*backend.argv, **options).use_dialect(dialect or simse.SimseDialect()) as agent:
        yield await agent.new_session(folder)


def calls_of(session: accord.client.Session) -> list[tuple[str | None, str | None, Any]]:
    return [(call.title, call.status, call.raw_output) for call in session.transcript.tool_calls.values()]


class User:
    """Answers by kind, and keeps the questions."""

    def __init__(self, *answers: str | None) -> None:
        self.questions: list[accord.client.PermissionQuestion] = []
        self._answers = list(answers)

    def __call__(self, question: accord.client.PermissionQuestion) -> str | None:
        self.questions.append(question)
        return self._answers.pop(0)


# --- what is said


@timely
async def test_a_prompt_is_one_string_and_its_empty_result_ends_the_turn(backend: Backend, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("x")
    async with session_with(backend, tmp_path) as session:
        turn = await session.prompt("think", Path("notes.txt"), "say yes")
    [params] = backend.received("session/prompt")
    uri = (tmp_path / "notes.txt").as_uri()
    assert (params["prompt"], turn.stop_reason) == (f"think\n[notes.txt]({uri})\nsay yes", "end_turn")


@timely
async def test_updates_are_heard_flat_and_nested_and_by_both_tags(backend: Backend, tmp_path: Path) -> None:
    async with session_with(backend, tmp_path) as session:
        turn = await session.prompt("say yes")
        assert turn.text == "yes yes yes yes "
        assert session.transcript.text.endswith(turn.text)


@pytest.mark.parametrize(("result", "reason"), [("null", "end_turn"), ('{"stopReason":"refusal"}', "refusal")])
@timely
async def test_a_stop_reason_that_is_told_counts(backend: Backend, tmp_path: Path, result: str, reason: str) -> None:
    async with session_with(backend, tmp_path) as session:
        turn = await session.prompt(f"result {result}")
    assert turn.stop_reason == reason


@timely
async def test_the_dialect_is_off_unless_it_is_wanted(backend: Backend) -> None:
    with pytest.raises(accord.MethodNotFound):
        await accord.connect(*backend.argv, edition="1").open()


# --- the start


@timely
async def test_a_backend_without_initialize_is_a_v1_agent_that_can_do_nothing_more(
    backend: Backend, tmp_path: Path
) -> None:
    async with accord.connect(*backend.argv).use_dialect(simse.SimseDialect()) as agent:
        assert (agent.edition, agent.capabilities.load, agent.capabilities.prompts) == ("v1", False, frozenset())
        link = agent.connection.transport
        assert isinstance(link, ClientTransport)
        assert link.pid is not None
        await agent.new_session(tmp_path)
    assert [params["cwd"] for params in backend.received("session/new")] == [str(tmp_path)]


@timely
async def test_a_backend_that_leaves_initialize_unanswered_is_one_too(tmp_path: Path) -> None:
    backend = Backend(tmp_path, silent=True)
    async with session_with(backend, tmp_path, deadlines=accord.Deadlines(start_seconds=2.0)) as session:
        assert (await session.prompt("say on")).text.startswith("on")


@timely
async def test_a_backend_that_ends_at_its_start_tells_its_status(tmp_path: Path) -> None:
    program = "import sys; sys.stdin.readline(); sys.stderr.write('no key'); sys.exit(3)"
    with pytest.raises(accord.ConnectionLost) as caught:
        await (
            accord.connect(sys.executable, "-c", program, program_cwd=tmp_path).use_dialect(simse.SimseDialect()).open()
        )
    assert (caught.value.exit_status, caught.value.stderr_tail) == (3, "no key")


@timely
async def test_an_agent_that_refuses_v1_for_a_reason_is_not_asked_for_a_draft() -> None:
    ours, theirs = memory_pair()
    hand = Hand(theirs)
    opening = asyncio.ensure_future(accord.connect(ours).use_dialect(simse.SimseDialect()).open())
    asked = await hand.hear()
    await hand.say({"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -32000, "message": "log in"}})
    with pytest.raises(accord.AuthRequired):
        await opening
    assert await theirs.receive() == []


# --- permission


@pytest.mark.parametrize("shape", ["ask", "ask-nested"])
@pytest.mark.parametrize("answer", ["allow_once", "allow_always", "reject_once", "reject_always"])
@timely
async def test_a_permission_inside_an_update_is_asked_and_answered(
    backend: Backend, tmp_path: Path, shape: str, answer: str
) -> None:
    user = User(answer)
    async with session_with(backend, tmp_path, permission=user, strict=True) as session:
        turn = await session.prompt(f"{shape} delete Delete the file a.txt")
        calls = calls_of(session)
    [question] = user.questions
    assert [option.kind for option in question.options] == [
        "allow_once", "allow_always", "reject_once", "reject_always",
    ]  # fmt: skip
    assert (question.title, turn.text) == ("Delete the file a.txt", answer + " ")
    assert question.tool is not None
    assert question.tool.raw_input["action"] == "delete"
    assert calls == [("Delete the file a.txt", "completed" if answer.startswith("allow") else "failed", None)]
    assert backend.answers("permission_response") == [
        {"type": "permission_response", "requestId": "r1", "response": answer}
    ]


@pytest.mark.parametrize("answer", ["allow_always", "reject_always"])
@timely
async def test_always_holds_for_the_action_and_for_the_session(backend: Backend, tmp_path: Path, answer: str) -> None:
    user = User(answer, "allow_once", "reject_once")
    async with accord.connect(*backend.argv, permission=user).use_dialect(simse.SimseDialect()) as agent:
        session = await agent.new_session(tmp_path)
        first = await session.prompt("ask delete a\nask delete b\nask write c")
        second = await session.prompt("ask delete d")
        # The backend gives every session the same id: it is another one all the same.
        other = await agent.new_session(tmp_path)
        third = await other.prompt("ask delete e")
    assert (first.text, second.text) == (f"{answer} {answer} allow_once ", f"{answer} ")
    assert third.text == "reject_once "
    assert [question.title for question in user.questions] == ["a", "c", "e"]


@timely
async def test_a_once_holds_once(backend: Backend, tmp_path: Path) -> None:
    user = User("allow_once", "reject_once")
    async with session_with(backend, tmp_path, permission=user) as session:
        turn = await session.prompt("ask delete a\nask delete b")
    assert turn.text == "allow_once reject_once "


@timely
async def test_an_always_that_a_policy_remembers_holds_for_the_action_too(backend: Backend, tmp_path: Path) -> None:
    user = User("allow_always", "reject_once")
    async with session_with(backend, tmp_path, permission=accord.Policy(on_question=user)) as session:
        turn = await session.prompt("ask delete a\nask write b")
    assert turn.text == "allow_always reject_once "


@timely
async def test_a_rule_can_be_about_an_action(backend: Backend, tmp_path: Path) -> None:
    policy = accord.Policy(["allow _delete"])
    async with session_with(backend, tmp_path, permission=policy) as session:
        turn = await session.prompt("ask delete a\nask write b")
    assert turn.text == "allow_once reject_once "


@timely
async def test_a_question_that_nobody_answers_is_rejected(backend: Backend, tmp_path: Path) -> None:
    async with session_with(backend, tmp_path, permission=User(None)) as session:
        dismissed = await session.prompt("ask delete a")
    assert dismissed.text == "reject_once "
    async with session_with(backend, tmp_path) as session:
        unasked = await session.prompt("ask delete a")
    assert unasked.text == "reject_once "


# --- tools


@timely
async def test_a_registered_tool_is_run_and_its_output_goes_back(backend: Backend, tmp_path: Path) -> None:
    threads: list[threading.Thread] = []

    def add(given: dict[str, Any]) -> int:
        threads.append(threading.current_thread())
        return int(given["a"] + given["b"])

    async def greet(given: dict[str, Any]) -> str:
        threads.append(threading.current_thread())
        return f"hello {given['name']}"

    async with session_with(
        backend, tmp_path, dialect=simse.SimseDialect({"add": add, "greet": greet}), strict=True
    ) as session:
        turn = await session.prompt('tool add {"a": 2, "b": 3}\ntool greet {"name": "Ada"}')
        calls = calls_of(session)
        [_, call] = session.transcript.tool_calls.values()
    added, greeted = turn.text.splitlines()
    assert json.loads(added) == {"status": "completed", "output": 5}
    assert json.loads(greeted) == {"status": "completed", "output": "hello Ada"}
    assert calls == [("add", "completed", 5), ("greet", "completed", "hello Ada")]
    assert (call.kind, call.raw_input) == ("other", {"name": "Ada"})
    assert [thread is threading.main_thread() for thread in threads] == [False, True]
    statuses = [(told["toolCallId"], told["status"]) for told in backend.answers("tool_call_update")]
    assert statuses == [("t1", "in_progress"), ("t1", "completed"), ("t2", "in_progress"), ("t2", "completed")]


@timely
async def test_a_tool_that_nobody_registered_fails_and_nothing_is_run(backend: Backend, tmp_path: Path) -> None:
    ran: list[Any] = []
    async with session_with(backend, tmp_path, dialect=simse.SimseDialect({"safe": ran.append})) as session:
        turn = await session.prompt('tool rm {"path": "/"}')
        calls = calls_of(session)
    told = json.loads(turn.text)
    assert (ran, calls) == ([], [("rm", "failed", None)])
    assert told == {"status": "completed", "error": "this client has no such tool"}


@timely
async def test_a_failing_tool_says_why_only_where_it_wants_to(
    backend: Backend, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(_given: dict[str, Any]) -> None:
        raise accord.RequestError("the disk is full")

    def crash(_given: dict[str, Any]) -> None:
        raise ValueError("a secret path")

    def leave(_given: dict[str, Any]) -> None:
        raise SystemExit(3)

    def mumble(_given: dict[str, Any]) -> Any:
        return object()

    tools = {"refuse": refuse, "crash": crash, "leave": leave, "mumble": mumble}
    async with session_with(backend, tmp_path, dialect=simse.SimseDialect(tools)) as session:
        turn = await session.prompt("\n".join(f"tool {name}" for name in tools))
        statuses = [status for _, status, _ in calls_of(session)]
    told = [json.loads(line) for line in turn.text.splitlines()]
    assert statuses == ["failed"] * 4
    assert told[0] == {"status": "completed", "error": "the disk is full"}
    for each in told[1:]:
        error = each["error"]
        assert error.startswith("Internal error (")
        assert "secret" not in error
        assert error[error.index("(") + 1 : -1] in caplog.text


@timely
async def test_a_slow_tool_is_given_up(backend: Backend, tmp_path: Path) -> None:
    cancelled = asyncio.Event()
    hold = threading.Event()

    async def wait(_given: dict[str, Any]) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    def block(_given: dict[str, Any]) -> None:
        hold.wait(BOUND_SECONDS)

    dialect = simse.SimseDialect({"wait": wait, "block": block}, tool_seconds=0.05)
    async with session_with(backend, tmp_path, dialect=dialect) as session:
        turn = await session.prompt("tool wait\ntool block\nsay done")
    hold.set()
    assert cancelled.is_set()
    late, blocked, said = turn.text.splitlines()
    assert json.loads(late) == json.loads(blocked)
    assert json.loads(late) == {"status": "completed", "error": "the tool did not finish within 0.05 s"}
    assert said.startswith("done")


# --- the end


@timely
async def test_a_cancel_rejects_the_open_question_and_ends_the_turn_as_cancelled(
    backend: Backend, tmp_path: Path
) -> None:
    asked = asyncio.Event()

    async def user(_question: accord.client.PermissionQuestion) -> str:
        asked.set()
        await asyncio.Event().wait()
        return "allow_always"

    async with session_with(backend, tmp_path, permission=user) as session:
        turn = session.prompt("ask delete a\nask delete b")
        ending = asyncio.ensure_future(turn.wait())
        await asked.wait()
        turn.cancel()
        await ending
    assert turn.stop_reason == "cancelled"
    assert [told["response"] for told in backend.answers("permission_response")] == ["reject_once", "reject_once"]
    assert len(backend.received("session/cancel")) == 1


@timely
async def test_a_cancel_stops_the_tool_that_runs(backend: Backend, tmp_path: Path) -> None:
    started, stopped = asyncio.Event(), asyncio.Event()

    async def wait(_given: dict[str, Any]) -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    async with session_with(backend, tmp_path, dialect=simse.SimseDialect({"wait": wait})) as session:
        turn = session.prompt("tool wait\ntool wait")
        ending = asyncio.ensure_future(turn.wait())
        await started.wait()
        started.clear()
        turn.cancel()
        await ending
        await stopped.wait()
        statuses = [status for _, status, _ in calls_of(session)]
    assert (turn.stop_reason, started.is_set(), statuses) == ("cancelled", False, ["failed", "failed"])


@timely
async def test_what_a_backend_does_not_wait_for_ends_with_its_turn(backend: Backend, tmp_path: Path) -> None:
    began: set[str] = set()
    gone: set[str] = set()

    async def hang(name: str, _given: Any) -> Any:
        began.add(name)
        try:
            await asyncio.Event().wait()
        finally:
            gone.add(name)

    tool, user = functools.partial(hang, "tool"), functools.partial(hang, "question")
    async with session_with(backend, tmp_path, dialect=simse.SimseDialect({"hang": tool}), permission=user) as session:
        turn = await session.prompt("leave")
        await until(lambda: all(status == "failed" for _, status, _ in calls_of(session)))
        await until(lambda: began == gone)
        again = await session.prompt("say on")
    assert (turn.stop_reason, again.stop_reason, began) == ("end_turn", "end_turn", gone)
    assert backend.answers("permission_response") == []


@timely
async def test_a_backend_that_falls_silent_is_late(backend: Backend, tmp_path: Path) -> None:
    deadlines = accord.Deadlines(first_seconds=5.0, idle_seconds=0.2, cancel_seconds=0.1)
    async with session_with(backend, tmp_path, deadlines=deadlines) as session:
        with pytest.raises(accord.DeadlineExceeded) as caught:
            await session.prompt("say one moment\nhang")
    assert (caught.value.phase, caught.value.seconds) == ("idle", 0.2)
    assert len(backend.received("session/cancel")) == 1


@timely
async def test_an_entry_of_acp_json_switches_it_on(backend: Backend, tmp_path: Path) -> None:
    server = {"name": "page", "command": backend.argv[0], "args": backend.argv[1:], "timeoutMs": 5000}
    policy = {"dialect": "simse", "permissionPolicy": "auto-approve"}
    path = tmp_path / "acp.json"
    path.write_text(json.dumps({"servers": [{**server, **policy}]}))
    file = read_config(path, "user")
    assert file is not None
    async with connect_to(entry_of(file.servers["page"], file, needs_trust=False)) as agent:
        turn = await (await agent.new_session(tmp_path)).prompt("ask delete a\nask delete b\ntool rm")
    answered, failed = turn.text.split(" ", 2)[:2], turn.text.split(" ", 2)[2]
    assert (answered, "error" in failed) == (["allow_always", "allow_always"], True)


# --- what does not go together


def test_the_dialect_is_one_of_v1_and_its_tools_are_functions() -> None:
    with pytest.raises(accord.LocalProtocolError) as caught:
        accord.connect("agent", edition="2").use_dialect(simse.SimseDialect())
    assert caught.value.field == "edition"
    with pytest.raises(accord.LocalProtocolError) as caught:
        simse.SimseDialect({"add": 3})  # type: ignore[dict-item]
    assert caught.value.field == "tools"


# --- time, with a hand at the other end


@asynccontextmanager
async def hand_with(
    *, dialect: simse.SimseDialect | None = None, **options: Any
) -> AsyncIterator[tuple[Hand, accord.client.Session]]:
    """A client of the dialect, and a hand that plays its agent."""
    ours, theirs = memory_pair()
    hand = Hand(theirs)
    agent = accord.connect(ours, **options).use_dialect(dialect or simse.SimseDialect())
    opening = asyncio.ensure_future(agent.open())
    asked = await hand.hear()
    await hand.say({"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -32601, "message": "no"}})
    await opening
    making = asyncio.ensure_future(agent.new_session("/"))
    asked = await hand.hear()
    await hand.say({"jsonrpc": "2.0", "id": asked["id"], "result": {"sessionId": "s"}})
    try:
        yield hand, await making
    finally:
        await agent.close()


@timeless
async def test_an_agent_may_be_silent_for_nearly_all_of_its_start() -> None:
    for deadlines, seconds in (
        (accord.Deadlines(start_seconds=20), 16.0),
        (accord.Deadlines(start_seconds=None), 30.0),
    ):
        ours, _theirs = memory_pair()
        before = now()
        async with accord.connect(ours, deadlines=deadlines).use_dialect(simse.SimseDialect()) as agent:
            assert (agent.edition, now() - before) == ("v1", seconds)


@timeless
async def test_an_introduction_that_comes_late_is_passed_over() -> None:
    ours, theirs = memory_pair()
    hand = Hand(theirs)
    async with accord.connect(ours).use_dialect(simse.SimseDialect()) as agent:
        asked = await hand.hear()
        await hand.say({"jsonrpc": "2.0", "id": asked["id"], "result": {"protocolVersion": 7}})
        assert await hand.is_alive()
        assert agent.edition == "v1"


@timeless
async def test_the_clock_rests_while_the_user_is_asked_and_while_a_tool_runs() -> None:
    async def user(_question: accord.client.PermissionQuestion) -> str:
        await asyncio.sleep(3600)
        return "allow_once"

    async def slow(_given: dict[str, Any]) -> str:
        await asyncio.sleep(3600)
        return "done"

    deadlines = accord.Deadlines(first_seconds=60, idle_seconds=60)
    options: dict[str, Any] = {"permission": user, "dialect": simse.SimseDialect({"slow": slow}, tool_seconds=4000)}
    async with hand_with(deadlines=deadlines, **options) as (hand, session):
        turn = session.prompt("go")
        ending = asyncio.ensure_future(turn.wait())
        prompt = await hand.hear()
        await hand.notify(
            "session/update", {"sessionId": "s", "type": "request_permission", "action": "a", "requestId": "r"}
        )
        assert await asyncio.wait_for(hand.transport.receive(), limit(4000)) is not None
        assert now() == 3600
        await hand.notify(
            "session/update", {"sessionId": "s", "type": "tool_call", "toolCallId": "t", "toolName": "slow"}
        )
        assert (await hand.hear())["params"]["status"] == "in_progress"
        assert await asyncio.wait_for(hand.transport.receive(), limit(4000)) is not None
        assert now() == 7200
        await asyncio.sleep(59)
        await hand.say({"jsonrpc": "2.0", "id": prompt["id"], "result": {}})
        await ending
    assert turn.stop_reason == "end_turn"


@timeless
async def test_silence_after_a_permission_counts_from_its_answer() -> None:
    async with hand_with(
        deadlines=accord.Deadlines(first_seconds=60, idle_seconds=60, cancel_seconds=5), permission=User("allow_once")
    ) as (
        hand,
        session,
    ):
        ending = asyncio.ensure_future(session.prompt("go").wait())
        await hand.hear()
        await asyncio.sleep(50)
        await hand.notify(
            "session/update", {"sessionId": "s", "type": "request_permission", "action": "a", "requestId": "r"}
        )
        with pytest.raises(accord.DeadlineExceeded) as caught:
            await ending
        assert (caught.value.phase, now()) == ("idle", 115.0)


# --- the transport


def test_the_transport_keeps_what_transports_promise() -> None:
    async def pair() -> tuple[Transport, Transport]:
        ours, theirs = memory_pair()
        return ClientTransport(ours), theirs

    asyncio.run(check_transport(pair))


@timely
async def test_answers_wait_for_an_agent_that_does_not_read_which_is_then_not_read_either() -> None:
    ours, theirs = memory_pair(max_bytes=2000)
    link, hand = ClientTransport(ours), Hand(theirs)
    question = {"sessionId": "s", "type": "request_permission", "action": "a" * 100, "requestId": "r"}
    await hand.notify("session/update", question)
    asked = json.loads(*await link.receive())
    always = {"outcome": {"outcome": "selected", "optionId": "allow_always"}}
    await link.send(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": always}).encode())
    assert json.loads(*await link.receive())["params"]["update"]["status"] == "completed"
    receiving = asyncio.ensure_future(link.receive())
    count = 4 * MAX_UNSENT
    asking = asyncio.ensure_future(_repeat(hand, count, question))
    await until(lambda: len(link._unsent) == MAX_UNSENT)
    for _ in range(20):
        await asyncio.sleep(0)
    assert (len(link._unsent), asking.done()) == (MAX_UNSENT, False)
    for _ in range(count + 1):
        assert (await hand.hear())["params"]["response"] == "allow_always"
    await asking
    await link.close()
    assert await receiving == []


async def _repeat(hand: Hand, count: int, question: dict[str, Any]) -> None:
    for _ in range(count):
        await hand.notify("session/update", question)


@timely
async def test_what_is_not_the_pages_business_passes_byte_for_byte() -> None:
    texts = [
        b'{"jsonrpc":"2.0", "method":"_x", "params":{"n":123456789012345678901234567890,"s":"\\ud83d"}}',
        b'{"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"plan","entries":[]}}}',
        b'{"x":NaN}',
        b"[1]",
        b"banner",
        b'{"a":' * 100_000,
    ]
    ours, theirs = memory_pair()
    link = ClientTransport(ours)
    for text in texts:
        await theirs.send(text)
        assert await link.receive() == [text]
        await link.send(text)
        assert await theirs.receive() == [text]
    await link.close()


@timely
async def test_an_order_may_say_whatever_json_can() -> None:
    given: list[Any] = []
    async with hand_with(dialect=simse.SimseDialect({"take": given.append})) as (hand, session):
        ending = asyncio.ensure_future(session.prompt("go").wait())
        prompt = await hand.hear()
        head = '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","type":"tool_call",'
        await hand.say(head + '"toolCallId":"t","toolName":"take","input":{"n":123456789012345678901,"s":"\\ud83d"}}}')
        await until(lambda: bool(given))
        await hand.say({"jsonrpc": "2.0", "id": prompt["id"], "result": {}})
        assert (await ending).stop_reason == "end_turn"
    assert given == [{"n": 123456789012345678901, "s": "\ud83d"}]


@timely
async def test_no_depth_of_an_order_ends_the_connection() -> None:
    async with hand_with(dialect=simse.SimseDialect({"dig": lambda _: None})) as (hand, session):
        ending = asyncio.ensure_future(session.prompt("go").wait())
        prompt = await hand.hear()
        for depth in range(0, 1200, 50):
            deep = '{"x":' * depth + "1" + "}" * depth
            await hand.say(
                '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","type":"tool_call",'
                f'"toolCallId":"t{depth}","toolName":"dig","input":{deep}}}}}'
            )
        await hand.say({"jsonrpc": "2.0", "id": prompt["id"], "result": {}})
        assert (await ending).stop_reason == "end_turn"


@timely
async def test_what_was_ordered_behind_a_cancel_that_is_itself_cancelled_still_leaves() -> None:
    ours, theirs = memory_pair(max_bytes=10)
    link, hand = ClientTransport(ours, ["wait"]), Hand(theirs)
    prompting = asyncio.ensure_future(link.send(json.dumps(PROMPT).encode()))
    ordering = asyncio.ensure_future(hand.notify("session/update", ORDER))
    assert json.loads((await link.receive())[0])["method"] == "session/update"
    cancel = {"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": "s"}}
    cancelling = asyncio.ensure_future(link.send(json.dumps(cancel).encode()))
    for _ in range(5):
        await asyncio.sleep(0)
    cancelling.cancel()
    await asyncio.wait([cancelling])
    heard = [await hand.hear() for _ in range(3)]
    await asyncio.gather(prompting, ordering)
    assert [message["params"].get("status") for message in heard] == [None, "in_progress", "completed"]
    await link.close()


@timely
async def test_a_tool_that_is_done_at_once_was_in_progress_before() -> None:
    ours, theirs = memory_pair()
    link, hand = ClientTransport(ours, ["wait"]), Hand(theirs)
    await link.send(json.dumps(PROMPT).encode())
    assert (await hand.hear())["id"] == 1
    await hand.notify("session/update", ORDER)
    _, asked = map(json.loads, await link.receive())
    await link.send(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": 1}).encode())
    assert [(await hand.hear())["params"]["status"] for _ in range(2)] == ["in_progress", "completed"]
    await link.close()


class HeldLink(MinimalTransport):
    """A link whose first text after `hold` is not sent before the test wants it."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.incoming: asyncio.Queue[list[bytes]] = asyncio.Queue()
        self.held: asyncio.Future[None] | None = None

    async def send(self, text: bytes | bytearray) -> None:
        held, self.held = self.held, None
        if held is not None:
            await held
        self.sent.append(bytes(text))

    async def receive(self) -> list[bytes]:
        return await self.incoming.get()

    async def close(self) -> None:
        self.incoming.put_nowait([])


@timely
async def test_who_waits_behind_our_own_answers_is_not_overtaken() -> None:
    below = HeldLink()
    link = ClientTransport(below)
    held = below.held = asyncio.get_running_loop().create_future()
    below.incoming.put_nowait([b'{"jsonrpc":"2.0","id":9,"method":"_simse/tool"}'])
    receiving = asyncio.ensure_future(link.receive())
    await until(lambda: below.held is None)
    first = asyncio.ensure_future(link.send(b'"first"'))
    for _ in range(5):
        await asyncio.sleep(0)
    held.set_result(None)
    second = asyncio.ensure_future(link.send(b'"second"'))
    await asyncio.gather(first, second)
    assert below.sent[1:] == [b'"first"', b'"second"']
    await link.close()
    assert await receiving == []


def test_a_tool_that_hangs_in_its_thread_keeps_no_program_from_ending() -> None:
    program = """
import asyncio, threading
from accord.simse.client_tool import ToolRunner
bench = ToolRunner({"hang": lambda _: threading.Event().wait()}, 0.01)
try:
    asyncio.run(bench.run({"toolName": "hang", "sessionId": "s", "input": {}}))
except Exception as error:
    print(type(error).__name__, end="")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=BOUND_SECONDS, check=True)
    assert done.stdout == b"InternalError"


@timely
async def test_a_timeout_of_the_tools_own_is_not_ours() -> None:
    async def fail(_given: dict[str, Any]) -> None:
        raise TimeoutError

    bench = ToolRunner({"fail": fail}, None)
    with pytest.raises(TimeoutError):
        await bench.run({"toolName": "fail", "sessionId": "s", "input": {}})
