"""What all adapters share, driven by a framework of a few lines: calls, questions, plans, errors, cancel, history."""

from __future__ import annotations

import asyncio
import inspect
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from accord.adapters import Media
from accord.adapters.failures import tool_failure
from accord.adapters.history import load_state
from accord.adapters.questions import question_text
from accord.agent import Turn, current_turn
from accord.errors import InternalError, InvalidParams, RateLimited
from accord.stores import MemoryStore
from tests.adapters.scripted_framework import ScriptedRun, scripted_agent
from tests.agent.rig import ELICITS, IN_EVERY_EDITION, Heard, agent_of, choose, served
from tests.limits import limit
from tests.tables import rows

PERMISSION = "session/request_permission"
ELICIT = "elicitation/create"


# --- tool calls


@IN_EVERY_EDITION
async def test_a_call_has_the_frameworks_id_and_only_goes_forward(edition: str, tmp_path: Path) -> None:
    async def script(run: ScriptedRun) -> None:
        await run.calls.announce("call_1", "read_file", '{"path": "a.txt"}')
        await run.calls.begin("call_1")
        await run.calls.announce("call_1", "read_file", {"path": "a.txt"})
        await run.calls.complete("call_1", "the text")
        await run.calls.begin("call_1")
        await run.calls.fail("call_1", "too late")

    async with served(scripted_agent(script), edition) as client:
        heard = await client.turn(await client.new_session(str(tmp_path)))
    call = heard.tools()["call_1"]
    assert call["statuses"] == ["pending", "in_progress", "completed"]
    assert call["kind"] == "read"
    assert call["locations"][0]["path"] == str(tmp_path / "a.txt")
    assert call["rawInput"] == {"path": "a.txt"}
    assert [item["content"]["text"] for item in call["content"]] == ["the text"]


@pytest.mark.filterwarnings("error")
@rows("ask", [lambda run: run.ask_call("c", "rm"), lambda run: run.calls.request_permission("c")])
async def test_a_question_of_an_adapter_that_is_not_awaited_is_neither_yes_nor_no(ask: Any) -> None:
    raised: list[type] = []

    async def script(run: ScriptedRun) -> None:
        await run.calls.announce("c", "rm")
        try:
            bool(ask(run))
        except TypeError as error:
            raised.append(type(error))

    async with served(scripted_agent(script)) as client:
        await client.turn(await client.new_session())
    assert raised == [TypeError]


async def test_arguments_that_come_later_are_added_to_the_call(tmp_path: Path) -> None:
    async def script(run: ScriptedRun) -> None:
        await run.calls.announce("c", "edit_file")
        await run.calls.announce("c", "edit_file", {"path": "a", "old_string": "x", "new_string": "y"})
        await run.calls.complete("c")

    async with served(scripted_agent(script)) as client:
        call = (await client.turn(await client.new_session(str(tmp_path)))).tools()["c"]
    assert call["rawInput"]["new_string"] == "y"
    assert call["locations"] == [{"path": str(tmp_path / "a")}]
    assert [(item["oldText"], item["newText"]) for item in call["content"]] == [("x", "y")]


@rows("old", ["before", None])
async def test_the_diff_of_a_whole_file_has_the_text_that_was_there(old: str | None, tmp_path: Path) -> None:
    if old is not None:
        (tmp_path / "a.txt").write_text(old)

    async def script(run: ScriptedRun) -> None:
        await run.calls.announce("c", "write_file", {"path": "a.txt", "content": "after"})
        await run.calls.complete("c", "done")

    async with served(scripted_agent(script)) as client:
        call = (await client.turn(await client.new_session(str(tmp_path)))).tools()["c"]
    diff = call["content"][0]
    assert (diff.get("oldText"), diff["newText"], diff["path"]) == (old, "after", str(tmp_path / "a.txt"))


@IN_EVERY_EDITION
@rows(("option", "statuses"), [("allow", ["in_progress", "completed"]), ("reject", ["failed"])])
async def test_permission_is_asked_about_the_very_call(edition: str, option: str, statuses: list[str]) -> None:
    async def script(run: ScriptedRun) -> None:
        if await run.ask_call("call_1", "delete_file", {"path": "a"}):
            await run.calls.complete("call_1", "gone")

    async with served(scripted_agent(script), edition) as client:
        client.answers[PERMISSION] = choose(option)
        heard = await client.turn(await client.new_session())
    (question,) = heard.requests(PERMISSION)
    assert "call_1" in str(question["params"])
    calls = heard.tools()
    assert list(calls) == ["call_1"]
    if edition == "v2" and option == "reject":
        statuses = ["cancelled"]
    assert calls["call_1"]["statuses"][-len(statuses) :] == statuses


@IN_EVERY_EDITION
async def test_the_reason_of_a_question_reaches_the_user_also_where_its_call_shows_nothing(edition: str) -> None:
    async def script(run: ScriptedRun) -> None:
        await run.ask_call("call_1", "drop_table", description=question_text({"question": "Now?", "sql": "DROP a"}))

    async with served(scripted_agent(script), edition) as client:
        client.answers[PERMISSION] = choose("reject")
        heard = await client.turn(await client.new_session())
    (question,) = heard.requests(PERMISSION)
    assert "Now?" in str(question["params"])
    assert "DROP a" in str(question["params"])


async def test_an_answer_for_the_whole_session_holds_for_exactly_that_call() -> None:
    asked: list[str] = []

    async def script(run: ScriptedRun) -> None:
        await run.ask_call(f"call-{len(asked)}-{run.text}", "run", {"command": run.text})

    async with served(scripted_agent(script)) as client:

        def always(params: dict[str, Any]) -> Any:
            asked.append(params["toolCall"]["rawInput"]["command"])
            return choose("allow-always")(params)

        client.answers[PERMISSION] = always
        session = await client.new_session()
        for command in ("ls", "ls", "rm", "ls"):
            await client.turn(session, command)
    assert asked == ["ls", "rm"]


async def test_an_id_that_a_model_uses_again_in_one_turn_is_another_call_and_is_asked_about() -> None:
    async def script(run: ScriptedRun) -> None:
        for command in ("ls", "rm"):
            await run.ask_call("call_0", "run", {"command": command})
            await run.calls.complete("call_0", f"did {command}")
            await run.calls.announce("call_0", "run", {"command": command})  # which is no other call

    async with served(scripted_agent(script)) as client:
        client.answers[PERMISSION] = choose("allow-always")
        heard = await client.turn(await client.new_session())
    asked = [question["params"]["toolCall"]["toolCallId"] for question in heard.requests(PERMISSION)]
    assert asked == ["call_0", "call_0-2"]
    shown = {call_id: (call["rawInput"]["command"], call["status"]) for call_id, call in heard.tools().items()}
    assert shown == {"call_0": ("ls", "completed"), "call_0-2": ("rm", "completed")}
    assert "did rm" in str(heard.tools()["call_0-2"]["content"])


async def test_an_id_that_a_model_uses_again_is_another_call_also_after_a_restart() -> None:
    store = MemoryStore()

    async def script(run: ScriptedRun) -> None:
        await run.calls.complete("call_1", "done", name="read_file")

    async with served(scripted_agent(script, store)) as client:
        session = await client.new_session()
        first = await client.turn(session)
        second = await client.turn(session)
    async with served(scripted_agent(script, store)) as client:
        await client.request("session/resume", {"sessionId": session, "cwd": "/tmp", "mcpServers": []})  # noqa: S108
        third = await client.turn(session)
    assert [list(heard.tools()) for heard in (first, second, third)] == [["call_1"], ["call_1-2"], ["call_1-3"]]


async def test_a_call_is_found_by_name_and_arguments_each_once() -> None:
    found: list[str | None] = []

    async def script(run: ScriptedRun) -> None:
        for call_id in ("a", "b"):
            await run.calls.announce(call_id, "write", {"n": 1})
        for _ in range(3):
            match = run.calls.find("write", {"n": 1})
            found.append(match)
            if match is not None:
                await run.calls.complete(match)

    async with served(scripted_agent(script)) as client:
        await client.turn(await client.new_session())
    assert found == ["a", "b", None]


# --- what is said


async def test_texts_of_another_class_are_plain_and_kept() -> None:
    class Rich(str):
        __slots__ = ()

        def __str__(self) -> str:
            return "something else"

    async def script(run: ScriptedRun) -> None:
        await run.say(Rich("said"))
        await run.think(Rich("thought"))
        await run.say("")
        await run.calls.complete("c", Rich("result"), name=Rich("tool"))

    async with served(scripted_agent(script)) as client:
        heard = await client.turn(await client.new_session())
    assert (heard.text, heard.stop_reason) == ("said", "end_turn")
    assert heard.tools()["c"]["content"][0]["content"]["text"] == "result"


async def test_structured_output_is_said_as_json() -> None:
    async def script(run: ScriptedRun) -> None:
        await run.say_output({"city": "Köln"})

    async with served(scripted_agent(script)) as client:
        assert '"city": "Köln"' in (await client.turn(await client.new_session())).text


async def test_todos_are_a_plan_with_words_that_clients_know() -> None:
    async def script(run: ScriptedRun) -> None:
        await run.plan([{"content": "one", "status": "completed"}, {"title": "two", "status": "odd"}])

    async with served(scripted_agent(script)) as client:
        (plan,) = (await client.turn(await client.new_session())).of("plan")
    assert [(entry["content"], entry["status"]) for entry in plan["entries"]] == [
        ("one", "completed"),
        ("two", "pending"),
    ]


async def test_the_cost_adds_up_over_turns() -> None:
    async def script(run: ScriptedRun) -> None:
        await run.update_context(100, 1000, cost=0.5)

    async with served(scripted_agent(script)) as client:
        session = await client.new_session()
        await client.turn(session)
        (usage,) = (await client.turn(session)).of("usage_update")
    assert (usage["used"], usage["size"], usage["cost"]["amount"]) == (100, 1000, 1.0)


# --- free questions


async def test_a_free_question_is_a_form_where_the_client_has_forms() -> None:
    answers: list[Any] = []

    async def script(run: ScriptedRun) -> None:
        answers.append(await run.ask_freely("Which city?"))
        answers.append(await run.ask_freely("How many?", {"type": "integer"}))
        answers.append(await run.ask_freely("Where?", {"type": "object", "properties": {"x": {"type": "number"}}}))

    given = iter([{"answer": "Köln"}, {"answer": 3}, {"x": 1.5}])
    async with served(scripted_agent(script), capabilities=ELICITS) as client:
        client.answers[ELICIT] = lambda _: {"action": "accept", "content": next(given)}
        await client.turn(await client.new_session())
    assert [answer.value for answer in answers] == ["Köln", 3, {"x": 1.5}]


async def test_without_forms_the_question_is_said_and_the_next_prompt_is_the_answer() -> None:
    answers: list[Any] = []

    async def script(run: ScriptedRun) -> None:
        if run.state.question is not None:
            answers.append(run.answer_of(run.text, run.state.question))
            run.state.question = None
            return
        schema = {"type": "object", "properties": {"count": {"type": "integer"}}}
        if await run.ask_freely("How many?", schema) is None:
            run.state.question = schema

    store = MemoryStore()
    async with served(scripted_agent(script, store)) as client:
        session = await client.new_session()
        assert (await client.turn(session)).text == "How many?"
    async with served(scripted_agent(script, store)) as client:
        await client.request("session/resume", {"sessionId": session, "cwd": "/tmp", "mcpServers": []})  # noqa: S108
        await client.turn(session, "7")
    assert answers == [{"count": 7}]


# --- what comes in


async def test_media_and_resources_come_as_parts_in_their_order() -> None:
    parts: list[Any] = []

    async def script(run: ScriptedRun) -> None:
        parts.extend(run.prompt_parts())

    prompt: list[dict[str, Any]] = [
        {"type": "text", "text": "look at"},
        {"type": "resource_link", "uri": "file:///tmp/x/a.py", "name": "a.py"},
        {"type": "image", "data": "aGk=", "mimeType": "image/png"},
        {"type": "resource", "resource": {"uri": "file:///tmp/x/b.md", "text": "# B"}},
    ]
    async with served(scripted_agent(script)) as client:
        await client.turn(await client.new_session("/tmp/x"), prompt)  # noqa: S108 - nothing is read there
    assert parts == [
        "look at a.py",
        Media("aGk=", "image/png"),
        '\n<resource uri="b.md">\n# B\n</resource>\n',
    ]
    assert parts[1].content == b"hi"


async def test_what_the_agent_cannot_take_is_refused_in_a_sentence() -> None:
    async def script(run: ScriptedRun) -> None:
        run.prompt_parts()

    async with served(scripted_agent(script)) as client:
        sound = {"type": "audio", "data": "aGk=", "mimeType": "audio/wav"}
        heard = await client.turn(await client.new_session(), [sound])
    assert heard.error["code"] == InvalidParams.code
    assert heard.error["message"] != InvalidParams.default_message


# --- errors


class StatusError(Exception):
    def __init__(self, status_code: int) -> None:
        super().__init__("secret-key-123")
        self.status_code = status_code


@rows(
    ("error", "code"),
    [
        (StatusError(429), RateLimited.code),
        (StatusError(401), InternalError.code),
        (StatusError(503), InternalError.code),
        (ExceptionGroup("all", [StatusError(404)]), InternalError.code),
        (ValueError("secret-key-123"), InternalError.code),
    ],
)
async def test_an_error_is_a_sentence_without_the_text_of_the_exception(error: Exception, code: int) -> None:
    async def script(_: ScriptedRun) -> None:
        raise error

    async with served(scripted_agent(script)) as client:
        heard = await client.turn(await client.new_session())
    assert heard.error["code"] == code
    assert heard.error["message"] != InternalError.default_message
    assert "secret-key-123" not in str(client.received)


class Panic(BaseException):
    """As extension modules raise it."""


async def leaves(error: type[BaseException]) -> None:
    await asyncio.sleep(0)
    raise error("secret-key-123")


async def leaves_in_a_task(error: type[BaseException]) -> None:
    await asyncio.gather(leaves(error), asyncio.sleep(3600))


async def leaves_in_a_group(error: type[BaseException]) -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(leaves(error))


async def leaves_in_a_thread(error: type[BaseException]) -> None:
    def leave() -> None:
        raise error("secret-key-123")

    await asyncio.get_running_loop().create_task(asyncio.to_thread(leave))


@rows("way_out", [leaves, leaves_in_a_task, leaves_in_a_group, leaves_in_a_thread])
@rows("error", [SystemExit, KeyboardInterrupt, Panic])
async def test_what_ends_a_program_ends_its_call_and_its_turn_alone(way_out: Any, error: type[BaseException]) -> None:
    begun, release = asyncio.Event(), asyncio.Event()

    async def script(run: ScriptedRun) -> None:
        await run.calls.announce("c", "tool")
        await run.calls.begin("c")
        if run.text == "wait":
            begun.set()
            await release.wait()
        else:
            await way_out(error)

    async with served(scripted_agent(script)) as client:
        other = await client.prompt(await client.new_session(), "wait")
        await begun.wait()
        heard = await client.turn(await client.new_session(), "leave")
        release.set()
        assert (await client.ended(other)).stop_reason == "end_turn"
    assert (heard.stop_reason, heard.tools()["c"]["status"]) == ("error", "failed")
    assert "secret-key-123" not in str(client.received)


async def test_a_task_of_a_run_that_is_cancelled_before_it_begins_leaves_no_warning() -> None:
    async def script(_: ScriptedRun) -> None:
        task = asyncio.create_task(leaves(SystemExit))
        task.cancel()
        await asyncio.wait([task])
        assert asyncio.iscoroutine(task.get_coro())
        assert inspect.getcoroutinestate(task.get_coro()) == inspect.CORO_CLOSED  # type: ignore[arg-type]

    async with served(scripted_agent(script)) as client:
        assert (await client.turn(await client.new_session())).stop_reason == "end_turn"


async def test_the_tasks_of_others_and_their_factory_stay_as_they_are() -> None:
    made: list[str] = []

    def factory(loop: asyncio.AbstractEventLoop, work: Any, **options: Any) -> asyncio.Task[Any]:
        made.append(work.__name__)
        return asyncio.Task(work, loop=loop, **options)

    async def script(_: ScriptedRun) -> None:
        await asyncio.create_task(asyncio.sleep(0))

    asyncio.get_running_loop().set_task_factory(factory)
    async with served(scripted_agent(script)) as client:
        await client.turn(await client.new_session())
    assert "sleep" in made
    task = asyncio.create_task(leaves(Panic))
    with pytest.raises(Panic):
        await task


async def test_the_text_of_a_tools_exception_is_in_the_log_alone(caplog: pytest.LogCaptureFixture) -> None:
    async def script(run: ScriptedRun) -> None:
        await run.calls.fail("c", tool_failure(ValueError("secret-key-123")))

    async with served(scripted_agent(script)) as client:
        heard = await client.turn(await client.new_session())
    assert heard.tools()["c"]["status"] == "failed"
    assert "ValueError" in str(heard.tools()["c"]["content"])
    assert "secret-key-123" not in str(client.received)
    assert "secret-key-123" in caplog.text


async def test_a_run_that_cancels_itself_is_an_error_and_no_cancel() -> None:
    async def script(_: ScriptedRun) -> None:
        raise asyncio.CancelledError

    async with served(scripted_agent(script)) as client:
        assert (await client.turn(await client.new_session())).stop_reason == "error"


# --- the end, and what is kept


async def kept(store: MemoryStore, session: str) -> Any:
    states: list[Any] = []

    async def reply(turn: Turn) -> None:
        states.append(turn.session.state)

    async with served(agent_of(reply, store=store)) as client:
        await client.request("session/resume", {"sessionId": session, "cwd": "/tmp", "mcpServers": []})  # noqa: S108
        await client.turn(session)
    return states[0]["adapter"]["history"]


@rows("end", ["end", "error"])
async def test_the_history_is_kept_however_the_run_ends(end: str) -> None:
    async def script(run: ScriptedRun) -> None:
        run.messages.append("answer")
        if end == "error":
            raise StatusError(500)

    store = MemoryStore()
    async with served(scripted_agent(script, store)) as client:
        session = await client.new_session()
        await client.turn(session, "question")
    assert await kept(store, session) == ["question", "answer"]


async def test_a_cancel_keeps_the_history_and_ends_the_calls() -> None:
    begun = asyncio.Event()

    async def script(run: ScriptedRun) -> None:
        await run.calls.announce("c", "sleep")
        await run.calls.begin("c")
        begun.set()
        await asyncio.sleep(3600)

    store = MemoryStore()
    async with served(scripted_agent(script, store), "v2") as client:
        session = await client.new_session()
        prompt = await client.prompt(session, "question")
        await begun.wait()
        await client.cancel(session)
        heard = await client.ended(prompt)
    assert heard.stop_reason == "cancelled"
    assert heard.tools()["c"]["status"] == "cancelled"
    assert await kept(store, session) == ["question"]


async def test_a_cancel_does_not_wait_for_a_tool_that_blocks_its_thread() -> None:
    release, begun = threading.Event(), threading.Event()

    def tool() -> None:
        begun.set()
        release.wait(limit(60.0))

    async def script(run: ScriptedRun) -> None:
        await run.calls.announce("c", "sleep")
        work = asyncio.ensure_future(asyncio.to_thread(tool))
        while not work.done():
            # As anyio waits for the thread of a tool, cancelled or not.
            try:
                await asyncio.shield(work)
            except asyncio.CancelledError:
                continue

    async with served(scripted_agent(script)) as client:
        session = await client.new_session()
        prompt = await client.prompt(session)
        assert await asyncio.to_thread(begun.wait, limit(20.0))
        start = time.monotonic()
        await client.cancel(session)
        heard = await client.ended(prompt)
        seconds = time.monotonic() - start
        release.set()
    assert heard.stop_reason == "cancelled"
    assert seconds < limit(1.0)


async def test_a_checkpoint_is_kept_before_the_turn_is_over() -> None:
    states: list[Any] = []

    async def script(run: ScriptedRun) -> None:
        run.messages.append("half")
        await run.checkpoint()
        states.append(load_state(run.turn.session, "scripted").history)

    async with served(scripted_agent(script)) as client:
        await client.turn(await client.new_session(), "question")
    assert states == [["question", "half"]]


async def test_a_session_of_another_framework_is_refused_in_a_sentence() -> None:
    async def reply(turn: Turn) -> None:
        await turn.save({"adapter": {"framework": "other", "history": []}, "own": 1})

    async def script(_: ScriptedRun) -> None: ...

    store = MemoryStore()
    async with served(agent_of(reply, store=store)) as client:
        session = await client.new_session()
        await client.turn(session)
    async with served(scripted_agent(script, store)) as client:
        await client.request("session/resume", {"sessionId": session, "cwd": "/tmp", "mcpServers": []})  # noqa: S108
        heard = await client.turn(session)
    assert heard.error["code"] == InvalidParams.code


async def test_the_state_of_an_author_stays_beside_that_of_the_adapter() -> None:
    seen: list[Any] = []

    async def script(run: ScriptedRun) -> None:
        state = run.turn.session.state
        seen.append(state)
        if state is None:
            run.turn.session.state = {"own": 1}

    async with served(scripted_agent(script)) as client:
        session = await client.new_session()
        for _ in range(2):
            await client.turn(session, "hello")
    assert seen[1]["own"] == 1
    assert seen[1]["adapter"]["history"] == ["hello"]


async def test_an_agent_without_a_store_remembers_as_long_as_the_session_is_open() -> None:
    histories: list[Any] = []

    async def script(run: ScriptedRun) -> None:
        histories.append(list(run.messages))

    agent = scripted_agent(script)
    agent = type(agent)("scripted", store=None)

    @agent.prompt
    async def reply(turn: Turn) -> None:
        await ScriptedRun(turn, script).handle()

    async with served(agent) as client:
        session = await client.new_session()
        for text in ("one", "two"):
            await client.turn(session, text)
    assert histories == [["one"], ["one", "two"]]


async def test_parallel_sessions_do_not_mix() -> None:
    met = asyncio.Barrier(3)

    async def script(run: ScriptedRun) -> None:
        await met.wait()
        await run.calls.announce("call_1", "read_file", {"path": run.text})
        await met.wait()
        await run.calls.complete("call_1", run.text)
        await current_turn().say(run.text)

    async with served(scripted_agent(script)) as client:
        sessions = {await client.new_session(): f"text-{n}" for n in range(3)}
        prompts = [await client.prompt(session, text) for session, text in sessions.items()]
        for prompt in prompts:
            await client.answer_to(prompt)
        for session, text in sessions.items():
            heard = Heard([m for m in client.received if m.get("params", {}).get("sessionId") == session])
            assert heard.text == text
            assert heard.tools()["call_1"]["rawInput"] == {"path": text}
