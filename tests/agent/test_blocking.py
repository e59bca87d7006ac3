"""Handlers without `async`: what they are given has the same verbs, and each blocks in the handler's own thread."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import functools
import inspect
import sys
import threading
import typing
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from accord.agent import (
    Agent,
    BlockingExtension,
    BlockingSession,
    BlockingTurn,
    Client,
    Extension,
    Session,
    Tool,
    Turn,
    blocking as views,
)
from accord.agent.files import Files
from accord.agent.mcp import McpServers, McpTool
from accord.agent.settings import OptionValue
from accord.agent.terminals import Terminal, Terminals
from accord.agent.threads import runs_on_the_loop
from accord.agent.turn_values import Compaction
from accord.errors import InvalidParams, LocalProtocolError
from tests.agent.rig import EDITIONS, ELICITS, IN_EVERY_EDITION, Heard, agent_of, allow, choose, served, until
from tests.limits import limit
from tests.tables import rows

PERMISSION = "session/request_permission"
SLOW = "_example.org/slow"
BOUND_SECONDS = limit(20.0)
GRACE_SECONDS = 0.05

PAIRS = {
    Turn: views.BlockingTurn,
    Compaction: views.BlockingCompaction,
    Tool: views.BlockingTool,
    Session: views.BlockingSession,
    Client: views.BlockingClient,
    Extension: views.BlockingExtension,
    Files: views.BlockingFiles,
    Terminals: views.BlockingTerminals,
    Terminal: views.BlockingTerminal,
    McpServers: views.BlockingMcpServers,
    McpTool: views.BlockingMcpTool,
}
# What the framework itself uses of an object, and what is of no use without a loop.
FRAMEWORK: dict[type, set[str]] = {
    Session: {
        *("workspace", "connect_servers", "unreported", "settings", "tell", "touch", "announce", "withdraw"),
        *("stop_background", "end_commands", "cancel_tool", "close"),
    },
    Client: {"stand_in", "speaks"},
    Terminals: {"unreleased", "cancel", "stop", "close"},
    Terminal: {"announce", "discard", "on_released"},
    McpServers: {"close"},
    McpTool: {"caller"},
}
# The one verb that takes something else: a function in place of a coroutine.
OTHERWISE = {"spawn"}


def public(kind: type) -> dict[str, Any]:
    return {name: inspect.getattr_static(kind, name) for name in dir(kind) if not name.startswith("_")}


def parameters(function: Any) -> list[tuple[str, Any, Any, str]]:
    """Name, kind, default and type of each; a type of ours reads as the one it stands for."""
    names = {f"Blocking{kind.__name__}": kind.__name__ for kind in PAIRS}
    found = []
    for parameter in inspect.signature(function).parameters.values():
        annotation = str(parameter.annotation)
        for ours, theirs in names.items():
            annotation = annotation.replace(ours, theirs)
        found.append((parameter.name, parameter.kind, parameter.default, annotation))
    return found


@rows("kind", PAIRS)
def test_a_blocking_class_has_the_names_and_the_signatures_of_its_counterpart(kind: type) -> None:
    view = PAIRS[kind]
    expected = {name for name in public(kind) if name not in FRAMEWORK.get(kind, set())}
    # Attributes of instances are no part of the class: the other has a property where its value can change.
    assert expected - set(public(view)) <= instance_names(view)
    extra = set(public(view)) - set(public(kind))
    assert extra <= instance_names(kind), "nothing that the other does not have"
    for name in expected & set(public(view)) - OTHERWISE:
        ours, theirs = getattr(view, name), getattr(kind, name)
        if not callable(theirs):
            assert isinstance(inspect.getattr_static(view, name), property)
            continue
        if name == "run" and kind is Terminals:
            continue  # `on_start` gets the blocking one
        assert parameters(ours) == parameters(theirs), name
        assert not inspect.iscoroutinefunction(ours), name


def instance_names(kind: type) -> set[str]:
    """The attributes that `__init__` sets, by its text, and those of a class without one."""
    with contextlib.suppress(OSError, TypeError):
        text = inspect.getsource(kind.__init__)  # type: ignore[misc]
        return {
            line.strip()[5:].split(":")[0].split(" ")[0]
            for line in text.splitlines()
            if line.strip().startswith("self.")
        }
    return set(typing.get_type_hints(kind))


@rows("kind", [Turn, Tool, Session, Extension])
def test_every_attribute_of_an_object_is_there_on_the_blocking_one(kind: type) -> None:
    inner = set() if kind is Tool else {"tools", "background", "outlet", "feed"}
    attributes = {name for name in instance_names(kind) if not name.startswith("_")} - inner
    view = PAIRS[kind]
    assert attributes <= instance_names(view) | set(public(view))


# --- which handlers


async def coroutine_handler(turn: Turn) -> None:
    await turn.say("async")


class AsyncObject:
    async def __call__(self, turn: Turn) -> None:
        await turn.say("async")

    async def method(self, turn: Turn) -> None:
        await turn.say("async")


def logged(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*arguments: Any) -> Any:
        return function(*arguments)

    return wrapper


class PlainObject:
    def __call__(self, turn: BlockingTurn) -> None:
        turn.say("plain")


def plain_handler(turn: BlockingTurn, *_: object) -> None:
    turn.say("plain")


@rows(
    ("handler", "kind"),
    [
        (coroutine_handler, "async"),
        (functools.partial(coroutine_handler), "async"),
        (AsyncObject(), "async"),
        (functools.partial(AsyncObject()), "async"),
        (AsyncObject().method, "async"),
        (logged(coroutine_handler), "async"),
        (plain_handler, "plain"),
        (functools.partial(plain_handler), "plain"),
        (PlainObject(), "plain"),
        (logged(plain_handler), "plain"),
        (lambda turn: turn.say("plain"), "plain"),
    ],
)
async def test_a_handler_gets_the_turn_that_fits_it(handler: Callable[..., Any], kind: str) -> None:
    assert runs_on_the_loop(handler) == (kind == "async")
    async with served(agent_of(handler)) as hand:
        assert (await hand.turn(await hand.new_session())).text == kind


async def test_what_a_plain_function_returns_is_awaited_on_the_loop() -> None:
    threads: list[int] = []

    async def rest() -> None:
        threads.append(threading.get_ident())

    def reply(turn: BlockingTurn) -> Awaitable[None]:
        turn.say("first")
        return rest()

    async with served(agent_of(reply)) as hand:
        heard = await hand.turn(await hand.new_session())
    assert (heard.text, heard.stop_reason) == ("first", "end_turn")
    assert threads == [threading.get_ident()]


async def test_a_handler_runs_in_a_thread_of_its_own_with_a_copy_of_the_context() -> None:
    seen: list[Any] = []
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="unset")

    def reply(turn: BlockingTurn) -> None:
        seen.append((threading.get_ident(), variable.get()))
        variable.set("changed")
        turn.say("done")
        seen.append(variable.get())

    variable.set("given")
    async with served(agent_of(reply)) as hand:
        await hand.turn(await hand.new_session())
    (thread, value), changed = seen
    assert thread != threading.get_ident()
    assert (value, changed, variable.get()) == ("given", "changed", "given")


async def test_a_verb_on_the_loops_own_thread_says_what_is_wrong() -> None:
    turns: list[BlockingTurn] = []
    async with served(agent_of(turns.append)) as hand:
        await hand.turn(await hand.new_session())
        with pytest.raises(RuntimeError, match="event loop"):
            turns[0].say("here")


async def test_a_notification_is_taken_on_the_loop() -> None:
    agent = agent_of(lambda _: None)
    threads: list[int] = []

    @agent.notification("_example.org/seen")
    def seen(call: Extension) -> None:
        threads.append(threading.get_ident())
        assert isinstance(call, Extension)

    async with served(agent) as hand:
        await hand.notify("_example.org/seen", {})
        await until(lambda: bool(threads))
    assert threads == [threading.get_ident()]


# --- every verb


@pytest.mark.parametrize("edition", EDITIONS)
async def test_every_verb_of_a_turn_works_in_a_thread(edition: str, tmp_path: Path) -> None:  # noqa: PLR0915
    shown: list[Any] = []

    def reply(turn: BlockingTurn) -> None:
        turn.think("hm")
        first = turn.say("one ")
        assert turn.say("two") == first
        turn.new_message()
        assert turn.say("three") != first
        turn.plan(iter(["Read", "Write"]))
        turn.update_usage(1, 10, cost=0.5)
        turn.set_title("A title")
        turn.notice("A notice", severity="info")
        with turn.compact() as compaction:
            compaction.say("Short")
        turn.files.write("a.txt", "text")
        with turn.tool("Run", kind="execute", status="pending", input={"a": 1}) as tool:

            def started(terminal: views.BlockingTerminal) -> None:
                tool.show(terminal)
                shown.append(terminal.id)

            assert turn.request_permission(tool)
            outcome = turn.terminals.run(
                [sys.executable, "-c", "print(open('a.txt').read())"],
                on_start=started,
            )
            tool.stream(outcome.output)
            tool.diff("a.txt", "old", "text")
            tool.locate("a.txt")
            tool.update(title="Ran")
            tool.complete("done", output={"code": outcome.exit_code})
        with turn.terminals.start([sys.executable, "-c", "import time; time.sleep(600)"]) as terminal:
            assert [each.id for each in turn.terminals.running] == [terminal.id]
            assert terminal.wait(0.01) is None
            terminal.kill()
            assert terminal.wait() is not None
            terminal.output()
        assert turn.mcp().tools == []
        turn.session.state = {"n": 1}
        turn.save()
        history = turn.history()
        turn.correct(first, "changed")
        turn.finish("max_tokens")
        turn.say(f"{len(history.tool_calls)} {outcome.output.strip()} {turn.files.read('a.txt')} {turn.session.title}")

    agent = agent_of(reply, mcp=True)
    async with served(agent, edition) as hand:
        hand.answers[PERMISSION] = allow
        heard = await hand.turn(await hand.new_session(str(tmp_path)))
    assert heard.stop_reason == "max_tokens"
    assert heard.text.endswith("1 text text A title")
    (call,) = heard.tools().values()
    assert call["status"] == "completed"
    assert call["title"] == "Ran"
    assert call["rawOutput"] == {"code": 0}
    assert len(shown) == 1
    assert {"plan", "usage_update", "agent_thought_chunk"} <= {*heard.kinds} | {"plan"}


@rows("edition", ["v1", "v2"])
async def test_a_form_is_asked_from_a_thread(edition: str) -> None:
    def reply(turn: BlockingTurn) -> None:
        form = turn.elicit("Who?", {"name": {"type": "string"}})
        turn.say(form.content["name"])

    async with served(agent_of(reply), edition, ELICITS) as hand:
        hand.answers["elicitation/create"] = lambda _: {"action": "accept", "content": {"name": "Ada"}}
        assert (await hand.turn(await hand.new_session())).text == "Ada"


async def test_an_option_a_session_a_command_a_request_and_a_login_are_handled_in_threads() -> None:
    agent = Agent("settings", store=None)
    agent.select("model", "Model", ["small", "large", "huge"])
    threads: dict[str, int] = {}

    @agent.on_session
    def prepare(session: BlockingSession) -> None:
        threads["session"] = threading.get_ident()
        session.state = {"seen": []}

    @agent.on_option
    def check(session: BlockingSession, option_id: str, value: OptionValue) -> None:
        threads["option"] = threading.get_ident()
        if value == "huge":
            raise InvalidParams("Too large")
        session.state["seen"].append((option_id, value, session.option("model")))

    @agent.command("switch", "Changes the model")
    def switch(turn: BlockingTurn, argument: str) -> None:
        threads["command"] = threading.get_ident()
        turn.session.set_option("model", argument)
        turn.say(str(turn.session.state["seen"]))

    @agent.request("_example.org/count")
    def count(call: BlockingExtension) -> Any:
        threads["request"] = threading.get_ident()
        assert call.session is not None
        call.session.set_title("Counted")
        return {"count": len(call.session.state["seen"])}

    @agent.login("key", "By a key")
    def log_in() -> None:
        threads["login"] = threading.get_ident()

    async with served(agent) as hand:
        await hand.request("authenticate", {"methodId": "key"})
        session = await hand.new_session()
        set_option = {"sessionId": session, "configId": "model", "value": "large"}
        assert "result" in await hand.request("session/set_config_option", set_option)
        refused = await hand.request("session/set_config_option", {**set_option, "value": "huge"})
        assert refused["error"]["message"] == "Too large"
        # The handler of the option is called while that of the command waits for it.
        heard = await hand.turn(session, "/switch small")
        assert heard.text == "[('model', 'large', 'small'), ('model', 'small', 'large')]"
        answer = await hand.request("_example.org/count", {"sessionId": session})
        assert answer["result"] == {"count": 2}
        assert Heard(hand.received).of("session_info_update")[-1]["title"] == "Counted"
    assert set(threads) == {"session", "option", "command", "request", "login"}
    assert threading.get_ident() not in threads.values()


async def test_an_option_handler_that_sets_the_option_again_without_an_end_fails() -> None:
    agent = Agent("endless", store=None)
    agent.select("model", "Model", ["small", "large"])
    agent.prompt(lambda _: None)

    @agent.on_option
    def again(session: BlockingSession, option_id: str, value: OptionValue) -> None:
        session.set_option(option_id, value)

    async with served(agent) as hand:
        session = await hand.new_session()
        answer = await hand.request(
            "session/set_config_option", {"sessionId": session, "configId": "model", "value": "large"}
        )
        assert answer["error"]["code"] == -32603


@rows("error", [SystemExit(3), KeyboardInterrupt(), StopIteration(), ValueError("secret")])
async def test_whatever_a_handler_raises_ends_its_turn_and_nothing_else(error: BaseException) -> None:
    def reply(turn: BlockingTurn) -> None:
        if turn.text == "raise":
            raise error
        turn.say("on")

    async with served(agent_of(reply)) as hand:
        session = await hand.new_session()
        heard = await hand.turn(session, "raise")
        assert heard.error["code"] == -32603
        assert "secret" not in str(heard.messages)
        assert (await hand.turn(session)).text == "on"


async def test_an_error_inside_a_tool_call_fails_the_call_and_not_the_turn() -> None:
    def reply(turn: BlockingTurn) -> None:
        with turn.tool("Break") as tool:
            raise ValueError("broken")
        assert tool.failed
        assert isinstance(tool.error, ValueError)
        turn.say("on")

    async with served(agent_of(reply)) as hand:
        heard = await hand.turn(await hand.new_session())
    assert heard.text == "on"
    assert [call["status"] for call in heard.tools().values()] == ["failed"]


async def test_when_the_turn_is_over_nothing_more_can_be_said_in_it() -> None:
    turns: list[BlockingTurn] = []
    async with served(agent_of(turns.append)) as hand:
        await hand.turn(await hand.new_session())
        with pytest.raises(LocalProtocolError, match="the turn is over"):
            await asyncio.to_thread(turns[0].say, "late")
        assert await hand.drain() == []


# --- cancelling


class Stage:
    """A handler that says "begun", works, and notes how that ended; `release` lets a thread that sleeps go on."""

    def __init__(self, work: Callable[[BlockingTurn], Any]) -> None:
        self._work = work
        self.ended: list[BaseException | None] = []
        self.late: list[BaseException | None] = []

    def __call__(self, turn: BlockingTurn) -> None:
        turn.say("begun")
        try:
            self._work(turn)
        except BaseException as error:
            self.ended.append(error)
            try:
                turn.say("late")
            except BaseException as late:  # noqa: BLE001 - it is looked at
                self.late.append(late)
            raise
        self.ended.append(None)


def ask(turn: BlockingTurn) -> None:
    with turn.tool("Write", status="pending") as tool:
        turn.request_permission(tool)


def wait_for_a_command(turn: BlockingTurn) -> None:
    turn.terminals.run(["sleep", "600"], on_start=lambda _: turn.client.notify(SLOW))


def wait_for_the_client(turn: BlockingTurn) -> None:
    turn.client.request(SLOW)


def compact(turn: BlockingTurn) -> None:
    with turn.compact():
        turn.request_permission("Go on?")


def swallow(turn: BlockingTurn) -> None:
    while True:
        with contextlib.suppress(Exception):
            turn.request_permission("Go on?")


@IN_EVERY_EDITION
@rows("work", [ask, wait_for_a_command, wait_for_the_client, compact, swallow])
async def test_a_cancel_reaches_the_verb_that_is_waited_for(work: Callable[[BlockingTurn], Any], edition: str) -> None:
    stage = Stage(work)
    async with served(agent_of(stage), edition) as hand:
        session = await hand.new_session()
        prompt = await hand.prompt(session)
        await hand.said("begun")
        await hand.hear_until(lambda message: message.get("method") in {PERMISSION, SLOW})
        await hand.cancel(session)
        heard = await hand.ended(prompt)
        assert heard.stop_reason == "cancelled"
        await until(lambda: bool(stage.late))
        assert await hand.drain() == []
    assert [type(error) for error in stage.ended + stage.late] == 2 * [asyncio.CancelledError]
    assert all(call["status"] in {"cancelled", "failed"} for call in heard.tools().values())
    if work is compact and edition == "v2":
        assert heard.of("compaction_update")[-1]["status"] == "cancelled"


@IN_EVERY_EDITION
async def test_a_cancel_ends_the_turn_at_once_while_the_thread_goes_on(edition: str) -> None:
    goes_on, cancelled = threading.Event(), threading.Event()

    def sleep(turn: BlockingTurn) -> None:
        with turn.tool("Sleep"):
            assert goes_on.wait(BOUND_SECONDS)
            if turn.cancelled:
                cancelled.set()
            turn.say("too late")

    # Whoever waited for the grace would wait for longer than every bound of the test.
    stage = Stage(sleep)
    async with served(agent_of(stage, cancel_grace_seconds=600.0), edition) as hand:
        session = await hand.new_session()
        prompt = await hand.prompt(session)
        await hand.update_of("tool_call" if edition == "v1" else "tool_call_update")
        await hand.cancel(session)
        heard = await hand.ended(prompt)
        assert heard.stop_reason == "cancelled"
        assert [call["status"] for call in heard.tools().values()] == ["failed" if edition != "v2" else "cancelled"]
        assert not stage.ended
        # And the next turn does not wait for it either.
        prompt = await hand.prompt(session)
        await hand.said("begun")
        await hand.cancel(session)
        assert (await hand.ended(prompt)).stop_reason == "cancelled"
        goes_on.set()
        await until(lambda: len(stage.late) == 2)
        assert cancelled.is_set()
        assert await hand.drain() == []
    assert {type(error) for error in stage.ended + stage.late} == {asyncio.CancelledError}


async def test_a_client_that_cancels_one_tool_call_ends_its_block_and_not_the_turn() -> None:
    goes_on = threading.Event()
    seen: list[str] = []

    def reply(turn: BlockingTurn) -> None:
        with turn.tool("Ask", cancellable=True, id="asking") as tool:
            try:
                turn.request_permission("Go on?")
            except asyncio.CancelledError:
                seen.append("in the verb")
                raise
        with turn.tool("Sleep", cancellable=True, id="sleeping") as outer, turn.tool("Inner", id="inner"):
            assert goes_on.wait(BOUND_SECONDS)
            turn.say("not said")
        turn.say(f"{tool.cancel_requested} {outer.cancel_requested}")

    async with served(agent_of(reply), "v2") as hand:
        session = await hand.new_session()
        prompt = await hand.prompt(session)
        await hand.asked(PERMISSION)
        await hand.request("tool_call/cancel", {"sessionId": session, "toolCallId": "asking"})
        await hand.hear_until(lambda message: "Inner" in str(message))
        await hand.request("tool_call/cancel", {"sessionId": session, "toolCallId": "sleeping"})
        goes_on.set()
        heard = await hand.ended(prompt)
    assert heard.stop_reason == "end_turn"
    assert heard.text == "True True"
    assert seen == ["in the verb"]
    statuses = {id_: call["status"] for id_, call in heard.tools().items()}
    assert statuses == {"asking": "cancelled", "sleeping": "cancelled", "inner": "cancelled"}


async def test_work_beside_the_turns_outlives_the_cancel_of_the_turn_that_began_it() -> None:
    goes_on = threading.Event()

    def reply(turn: BlockingTurn) -> None:
        tool = turn.tool("Index", background=True).start()

        def index() -> int:
            assert goes_on.wait(BOUND_SECONDS)
            tool.complete("200 files")
            turn.session.set_title("Indexed")
            return 200

        turn.session.spawn(index)
        turn.request_permission("Go on?")

    async with served(agent_of(reply)) as hand:
        session = await hand.new_session()
        prompt = await hand.prompt(session)
        await hand.asked(PERMISSION)
        await hand.cancel(session)
        assert (await hand.ended(prompt)).stop_reason == "cancelled"
        goes_on.set()
        assert (await hand.update_of("session_info_update"))["title"] == "Indexed"
        assert [call["status"] for call in Heard(hand.received).tools().values()] == ["completed"]


async def test_what_was_spawned_ends_with_its_session() -> None:
    spawned: list[Any] = []
    late: list[BaseException] = []
    goes_on = threading.Event()

    def reply(turn: BlockingTurn) -> None:
        def work() -> None:
            assert goes_on.wait(BOUND_SECONDS)
            try:
                turn.session.set_title("late")
            except BaseException as error:
                late.append(error)
                raise

        spawned.append(turn.session.spawn(work))
        turn.say("spawned")

    async with served(agent_of(reply)) as hand:
        session = await hand.new_session()
        await hand.turn(session)
        await hand.request("session/close", {"sessionId": session})
        assert isinstance(spawned[0].exception(0), asyncio.CancelledError)
        goes_on.set()
        await until(lambda: bool(late))
    assert isinstance(late[0], asyncio.CancelledError)


# --- many at once


async def test_hundreds_of_turns_that_all_wait_for_a_permission_come_to_their_end(tmp_path: Path) -> None:
    count = 200

    def reply(turn: BlockingTurn) -> None:
        turn.say("allowed" if turn.request_permission("Go on?") else "refused")

    agent = agent_of(reply, stored=False)
    async with served(agent, max_bytes=64 * 1024 * 1024) as hand:
        sessions = [await hand.new_session(str(tmp_path)) for _ in range(count)]
        prompts = [await hand.prompt(session) for session in sessions]
        questions = [await hand.asked(PERMISSION) for _ in range(count)]
        for number, question in enumerate(questions):
            await hand.reply(question, choose("allow" if number % 2 else "reject")({}))
        ends = [await hand.ended(prompt) for prompt in prompts]
    assert {end.stop_reason for end in ends} == {"end_turn"}
    texts = Heard(hand.received).text
    assert (texts.count("allowed"), texts.count("refused")) == (count // 2, count // 2)
    assert not [thread for thread in threading.enumerate() if thread.name == "accord-handler"]
