"""What holds for every adapter: the rules of `docs/adapters.md`, and the failures of the first day, as tests.

A framework's test module has a class that extends `AdapterContract` and says how its agent is made.
"""

from __future__ import annotations

import abc
import asyncio
import importlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

import accord
from accord.agent import Agent
from accord.errors import RequestError
from accord.stores import MemoryStore
from accord.stores.interface import Store
from tests.adapters.rehearsal import PIXEL
from tests.agent.rig import ELICITS, Hand, Heard, choose, served
from tests.limits import limit

PERMISSION = "session/request_permission"
ELICIT = "elicitation/create"
MCP_SERVER = Path(__file__).with_name("adding_server.py")
BEGUN = "begun"
"""The file that tells a test in another process that a tool waits."""
_begun: dict[str, threading.Event] = {}
_released: dict[str, threading.Event] = {}


def begun(cwd: str) -> threading.Event:
    """Set by the tools that wait, in the session of a directory."""
    return _begun.setdefault(cwd, threading.Event())


def note_begin(cwd: str) -> None:
    """Called by the tools that wait: not every framework says that the body of a tool begins."""
    begun(cwd).set()
    Path(cwd, BEGUN).touch()


def released(cwd: str) -> threading.Event:
    """Set by a test when a tool that blocks its thread may go on."""
    return _released.setdefault(cwd, threading.Event())


async def _killed_in_its_tool(session: accord.client.Session, pid_file: Path) -> None:
    async with session.prompt("sleep") as turn:
        async for event in turn:
            if isinstance(event, accord.ToolChanged):
                os.kill(int(pid_file.read_text()), signal.SIGKILL)


async def remembered_after_restart(serve: Callable[[], AbstractAsyncContextManager[Hand]], folder: Path) -> str:
    """What an agent remembers of two turns after it was made again over the same store."""
    async with serve() as client:
        session = await client.new_session(str(folder))
        await client.turn(session, "hello")
        await client.turn(session, "read")
    async with serve() as client:
        await client.request("session/resume", {"sessionId": session, "cwd": str(folder), "mcpServers": []})
        return (await client.turn(session, "remember")).text


async def texts_of_parallel_sessions(client: Hand, folder: Path) -> list[str]:
    """The texts of three sessions that are prompted at the same time, twice each."""
    sessions = [await client.new_session(str(folder)) for _ in range(3)]
    for texts in (["hello", "read", "again"], ["remember"] * 3):
        prompts = [await client.prompt(session, text) for session, text in zip(sessions, texts, strict=True)]
        for prompt in prompts:
            await client.answer_to(prompt)
    return [
        Heard([m for m in client.received if m.get("params", {}).get("sessionId") == session]).text
        for session in sessions
    ]


class AdapterContract(abc.ABC):
    """The tests of one adapter. The class has no state: each test makes an agent."""

    editions = ("v1", "v2", "v2_june")
    reports_failure = True
    """Whether the framework says that a tool failed."""
    asks_with_a_value = True
    """Whether a tool can ask with a value of its own, and not with its arguments alone."""
    tells_the_model_why = False
    """Whether the framework gives the text of a tool's exception to the model, whose answer may repeat it."""
    shows_pictures = True
    """Whether a tool of the framework can return a picture."""
    takes_mcp = True
    asks_by_call_id = True

    @abc.abstractmethod
    def make(self, store: Store) -> Agent:
        """The agent with the rehearsed model and its tools."""

    def framework_agent(self) -> object:
        """The agent of the module beside, as its framework has it."""
        module = type(self).__module__.replace("test_", "") + "_agent"
        agent: object = importlib.import_module(module).agent
        return agent

    def serve(self, edition: str = "v1", store: Store | None = None) -> AbstractAsyncContextManager[Hand]:
        return served(self.make(store or MemoryStore()), edition)

    @pytest.fixture(autouse=True)
    def project(self, tmp_path: Path) -> Path:
        (tmp_path / "a.txt").write_text("before")
        (tmp_path / "old.txt").write_text("old")
        return tmp_path

    # --- saying

    async def test_text_and_thoughts_are_streamed_and_said_once(self, project: Path) -> None:
        for edition in self.editions:
            async with self.serve(edition) as client:
                heard = await client.turn(await client.new_session(str(project)), "hello")
            assert heard.text == "Hello there."
            assert len(heard.of("agent_message_chunk")) >= 2
            thoughts = "".join(update["content"]["text"] for update in heard.of("agent_thought_chunk"))
            assert thoughts == "Somebody is there."
            assert heard.stop_reason == "end_turn"

    # --- tool calls

    async def test_a_call_is_asked_about_under_its_own_id_and_ends(self, project: Path) -> None:
        for edition in self.editions:
            (project / "old.txt").write_text("old")
            async with self.serve(edition) as client:
                client.answers[PERMISSION] = choose("allow")
                heard = await client.turn(await client.new_session(str(project)), "delete")
            (question,) = heard.requests(PERMISSION)
            calls = heard.tools()
            assert list(calls) == ["call_1"]
            assert "call_1" in str(question["params"])
            assert calls["call_1"]["statuses"] == ["pending", "in_progress", "completed"]
            assert calls["call_1"]["kind"] == "delete"
            assert calls["call_1"]["locations"][0]["path"] == str(project / "old.txt")
            assert calls["call_1"]["rawInput"] == {"path": "old.txt"}
            assert "removed" in str(calls["call_1"]["content"])
            assert not (project / "old.txt").exists()

    async def test_a_call_that_is_refused_does_nothing_and_is_cancelled(self, project: Path) -> None:
        async with self.serve("v2") as client:
            client.answers[PERMISSION] = choose("reject")
            heard = await client.turn(await client.new_session(str(project)), "delete")
        assert heard.tools()["call_1"]["statuses"] == ["pending", "cancelled"]
        assert (project / "old.txt").exists()
        assert heard.stop_reason == "end_turn"

    @pytest.mark.parametrize("has_forms", [True, False])
    async def test_a_question_shows_all_that_is_to_be_approved_and_no_is_no(
        self,
        project: Path,
        has_forms: bool,  # noqa: FBT001
    ) -> None:
        def declines(params: dict[str, Any]) -> Any:
            (field,) = params["requestedSchema"]["properties"].values()
            return {"action": "accept", "content": {"answer": False if field["type"] == "boolean" else "no"}}

        made = self.make(MemoryStore())
        async with served(made, capabilities=ELICITS if has_forms else None) as client:
            client.answers[PERMISSION] = choose("reject")
            client.answers[ELICIT] = declines
            session = await client.new_session(str(project))
            heard = await client.turn(session, "drop")
            asked: list[Any] = [*heard.requests(PERMISSION), *heard.requests(ELICIT)]
            if not asked:
                asked = [heard.text]
                heard = await client.turn(session, "no")
        assert len(asked) == 1
        assert "users" in str(asked)
        if self.asks_with_a_value:
            assert "Approve this action?" in str(asked)
            assert "DROP TABLE users" in str(asked)
        assert "dropped" not in heard.text

    async def test_a_tool_that_fails_is_a_failed_call_with_its_text(self, project: Path) -> None:
        async with self.serve() as client:
            heard = await client.turn(await client.new_session(str(project)), "fail")
        call = heard.tools()["call_1"]
        assert "it does not work" in str(call["content"])
        if self.reports_failure:
            assert call["status"] == "failed"

    async def test_an_edit_shows_what_it_replaces_and_completes(self, project: Path) -> None:
        async with self.serve() as client:
            heard = await client.turn(await client.new_session(str(project)), "write")
        call = heard.tools()["call_1"]
        diff = next(item for item in call["content"] if item["type"] == "diff")
        assert (diff["oldText"], diff["newText"]) == ("before", "after")
        assert diff["path"] == str(project / "a.txt")
        assert (call["kind"], call["status"]) == ("edit", "completed")
        assert (project / "a.txt").read_text() == "after"

    async def test_a_picture_that_a_tool_returns_is_shown_as_a_picture_beside_its_text(self, project: Path) -> None:
        if not self.shows_pictures:
            pytest.skip("its tools return texts")
        async with self.serve() as client:
            heard = await client.turn(await client.new_session(str(project)), "draw")
        shown = [item["content"] for item in heard.tools()["call_1"]["content"]]
        assert [(block["type"], block.get("text"), block.get("data")) for block in shown] == [
            ("text", "drawn", None),
            ("image", None, PIXEL),
        ]
        assert heard.stop_reason == "end_turn"

    async def test_two_calls_of_one_answer_both_end_and_one_is_asked_about(self, project: Path) -> None:
        async with self.serve() as client:
            client.answers[PERMISSION] = choose("allow")
            heard = await client.turn(await client.new_session(str(project)), "both")
        (question,) = heard.requests(PERMISSION)
        assert question["params"]["toolCall"]["toolCallId"] == "second_1"
        calls = heard.tools()
        assert {name: call["status"] for name, call in calls.items()} == {
            "first_1": "completed",
            "second_1": "completed",
        }
        assert "before" in str(calls["first_1"]["content"])

    async def test_an_id_that_the_model_uses_again_is_another_call(self, project: Path) -> None:
        async with self.serve() as client:
            session = await client.new_session(str(project))
            first, second = [await client.turn(session, "same id") for _ in range(2)]
        assert (list(first.tools()), list(second.tools())) == (["call_1"], ["call_1-2"])
        assert second.tools()["call_1-2"]["status"] == "completed"

    async def test_todos_are_the_plan(self, project: Path) -> None:
        async with self.serve() as client:
            heard = await client.turn(await client.new_session(str(project)), "plan")
        assert heard.of("plan")[-1]["entries"][0]["content"] == "one"

    async def test_a_tool_that_raises_ends_the_turn_or_the_call_without_its_text(self, project: Path) -> None:
        async with self.serve() as client:
            session = await client.new_session(str(project))
            heard = await client.turn(session, "raise")
            assert heard.tools()["call_1"]["status"] == "failed"
            if heard.stop_reason == "error":
                assert heard.error["message"] != RequestError.default_message
            told = client.received
            if self.tells_the_model_why:
                told = [message for message in told if "agent_message_chunk" not in str(message)]
            assert "secret-in-the-exception" not in str(told)
            after = await client.turn(session, "remember")
        assert after.text == "raise / remember"

    @pytest.mark.parametrize("tool", ["leave", "leave_later"])
    async def test_a_tool_that_ends_the_program_ends_its_call_and_its_turn(self, project: Path, tool: str) -> None:
        async with self.serve() as client:
            other = await client.new_session(str(project))
            waiting = await client.prompt(other, "sleep")
            assert await asyncio.to_thread(begun(str(project)).wait, limit(20.0))
            session = await client.new_session(str(project))
            prompts = [f"{tool} {how}" for how in ("exit", "interrupt", "panic")]
            for number, prompt in enumerate(prompts, 1):
                heard = await client.turn(session, prompt)
                assert heard.stop_reason == "error"
                assert heard.tools()[f"call_{number}"]["status"] == "failed"
                assert "secret-in-the-exception" not in str(client.received)
            after = await client.turn(session, "remember")
            assert after.text == " / ".join([*prompts, "remember"])
            await client.cancel(other)
            assert (await client.ended(waiting)).stop_reason == "cancelled"

    def keyless(self) -> Any:
        """An agent with a model of a provider, or a function that makes one; there is no key."""
        pytest.skip("this one has no model of its own")

    async def test_a_missing_key_is_said_with_its_remedy(self, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in [name for name in os.environ if name.endswith("_KEY") or name.startswith("AWS_")]:
            monkeypatch.delenv(name)
        monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        monkeypatch.setenv("HOME", str(project))
        async with served(accord.adapters.serve(self.keyless(), "keyless", store=MemoryStore())) as client:
            heard = await client.turn(await client.new_session(str(project)), "hello")
        assert heard.error["data"] == {"reason": "no_key"}
        assert "KEY" in heard.error["message"]

    @pytest.mark.parametrize("takes_session", [True, False])
    @pytest.mark.parametrize("is_async", [True, False])
    async def test_a_function_that_makes_the_agent_is_called_and_awaited(
        self,
        project: Path,
        takes_session: bool,  # noqa: FBT001
        is_async: bool,  # noqa: FBT001
    ) -> None:
        made: list[object] = []

        def make() -> object:
            made.append(None)
            return self.framework_agent()

        async def make_later() -> object:
            await asyncio.sleep(0)
            return make()

        def make_for(session: accord.agent.Session) -> object:
            assert session.cwd == str(project)
            return make()

        async def make_later_for(session: accord.agent.Session) -> object:
            return make_for(session)

        functions: dict[tuple[bool, bool], Callable[..., object]] = {
            (False, False): make,
            (False, True): make_later,
            (True, False): make_for,
            (True, True): make_later_for,
        }
        agent = accord.adapters.serve(functions[takes_session, is_async], "made", store=MemoryStore())
        async with served(agent) as client:
            session = await client.new_session(str(project))
            texts = [(await client.turn(session, text)).text for text in ("hello", "remember")]
        assert texts == ["Hello there.", "hello / remember"]
        assert len(made) == (2 if takes_session else 1)

    # --- history

    async def test_the_conversation_is_remembered_also_after_a_restart(self, project: Path) -> None:
        store = MemoryStore()
        said = await remembered_after_restart(lambda: self.serve(store=store), project)
        assert said == "hello / read / remember"

    async def test_parallel_sessions_do_not_mix(self, project: Path) -> None:
        async with self.serve() as client:
            said = await texts_of_parallel_sessions(client, project)
        assert [text.rpartition("there.")[2].rpartition("before")[2] or text for text in said] == [
            "hello / remember",
            "read / remember",
            "again / remember",
        ]

    def program(self) -> str:
        """The agent of the module beside, as a program."""
        module = type(self).__module__.replace("test_", "") + "_agent"
        return f"from accord.adapters import serve; from {module} import agent; serve(agent, 'killed').run()"

    @pytest.mark.long
    async def test_after_a_kill_the_history_is_whole(self, project: Path) -> None:
        env = {"XDG_STATE_HOME": str(project), "PYTHONWARNINGS": "ignore"}
        program = f"import os, pathlib; pathlib.Path('{project}/pid').write_text(str(os.getpid())); {self.program()}"
        command = (sys.executable, "-c", program)
        deadlines = accord.Deadlines(start_seconds=limit(60.0))
        async with accord.connect(*command, env=env, deadlines=deadlines) as remote:
            session = await remote.new_session(project)
            for text in ("hello", "read"):
                await session.prompt(text)
            with pytest.raises(accord.ConnectionLost):
                await _killed_in_its_tool(session, project / "pid")
        async with accord.connect(*command, env=env, deadlines=deadlines) as remote:
            session = await remote.load_session(session.id, project)
            remembered = await session.prompt("remember")
            again = await session.prompt("read")
        assert remembered.text == "hello / read / sleep / remember"
        assert again.text.endswith("Done: before")

    # --- the end

    @pytest.mark.parametrize("tool", ["sleep", "block"])
    async def test_a_cancel_ends_the_turn_at_once_inside_a_tool_and_the_next_prompt_works(
        self, project: Path, tool: str
    ) -> None:
        async with self.serve("v2") as client:
            session = await client.new_session(str(project))
            prompt = await client.prompt(session, tool)
            assert await asyncio.to_thread(begun(str(project)).wait, limit(20.0))
            start = time.monotonic()
            await client.cancel(session)
            heard = await client.ended(prompt)
            seconds = time.monotonic() - start
            assert heard.stop_reason == "cancelled"
            assert seconds < limit(1.0)
            assert heard.tools()["call_1"]["status"] == "cancelled"
            after = await client.turn(session, "remember")
            released(str(project)).set()
        assert after.stop_reason == "end_turn"
        assert after.text == f"{tool} / remember"

    # --- what comes in

    async def test_a_picture_reaches_the_model(self, project: Path) -> None:
        picture = {"type": "image", "data": PIXEL, "mimeType": "image/png"}
        async with self.serve() as client:
            heard = await client.turn(
                await client.new_session(str(project)), [{"type": "text", "text": "media"}, picture]
            )
        assert heard.text == "got image/png"

    async def test_the_clients_mcp_servers_are_tools_and_are_asked_about(self, project: Path) -> None:
        pytest.importorskip("mcp", reason="the client's MCP servers need the extra `mcp`")
        server: dict[str, Any] = {"name": "sums", "command": sys.executable, "args": [str(MCP_SERVER)], "env": []}
        async with self.serve() as client:
            client.answers[PERMISSION] = choose("allow")
            session = await client.new_session(str(project), mcpServers=[server])
            heard = await client.turn(session, "mcp")
        if not self.takes_mcp:
            assert heard.stop_reason == "end_turn"
            return
        call = heard.tools()["call_1"]
        assert call["status"] == "completed"
        assert "5" in str(call["content"])
        assert heard.text.endswith("Done: 5")
        assert len(heard.requests(PERMISSION)) == 1

    async def test_a_broken_mcp_server_does_not_keep_the_agent_from_answering(self, project: Path) -> None:
        broken: dict[str, Any] = {"name": "broken", "command": "/nowhere/at/all", "args": [], "env": []}
        async with self.serve() as client:
            session = await client.new_session(str(project), mcpServers=[broken])
            heard = await client.turn(session, "hello")
        assert heard.text.endswith("Hello there.")
