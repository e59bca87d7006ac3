"""deepagents itself behind the adapter for LangGraph: todos as the plan, files of the session's folder, sub-agents."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("deepagents", reason="deepagents is missing: scripts/adapters installs it with LangGraph")

from deepagents import create_deep_agent
from deepagents.backends import FilesystemBackend
from langchain.agents.middleware import TodoListMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from accord.adapters.langgraph import serve
from accord.agent import Session
from accord.stores import MemoryStore
from tests.agent.rig import choose, served

PERMISSION = "session/request_permission"
PLAN = [{"content": "write it", "status": "in_progress"}, {"content": "have it counted", "status": "pending"}]
STEPS: dict[str, list[dict[str, Any]]] = {
    "build": [
        {"name": "write_todos", "args": {"todos": PLAN}},
        {"name": "write_file", "args": {"file_path": "/note.txt", "content": "one line\n"}},
        {"name": "edit_file", "args": {"file_path": "/a.txt", "old_string": "before", "new_string": "after"}},
        {"name": "task", "args": {"subagent_type": "general-purpose", "description": "count"}},
    ],
    "count": [{"name": "read_file", "args": {"file_path": "/note.txt"}}],
}
"""The calls by the first request of a conversation; a sub-agent has one of its own."""


class ScriptedModel(BaseChatModel):
    """Makes the calls of a list one after the other, then says that it is done."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, _: Any, **__: Any) -> Any:
        return self

    def _generate(self, messages: Sequence[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        request = str(next(message for message in messages if isinstance(message, HumanMessage)).text)
        done = sum(isinstance(message, ToolMessage) for message in messages)
        calls = STEPS[request]
        if done < len(calls):
            answer = AIMessage("", tool_calls=[{**calls[done], "id": f"{request}_{done}"}])
        else:
            answer = AIMessage(f"I am done with {request}.")
        return ChatResult(generations=[ChatGeneration(message=answer)])


def make_graph(session: Session) -> Any:
    """A deep agent whose files are those of the session's folder, and that asks before it writes."""
    backend = FilesystemBackend(root_dir=session.cwd, virtual_mode=True)
    return create_deep_agent(
        ScriptedModel(), backend=backend, middleware=[TodoListMiddleware()], interrupt_on={"write_file": True}
    )


@pytest.mark.parametrize("edition", ["v1", "v2", "v2_june"])
async def test_todos_are_the_plan_files_are_changed_and_a_sub_agent_is_one_call(edition: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("before")
    agent = serve(make_graph, "deep", virtual_root=True, store=MemoryStore())
    async with served(agent, edition) as client:
        client.answers[PERMISSION] = choose("allow")
        heard = await client.turn(await client.new_session(str(tmp_path)), "build")

    assert heard.stop_reason == "end_turn"
    assert heard.text == "I am done with build."
    plan = heard.of("plan")[-1] if edition == "v1" else heard.of("plan_update")[-1]["plan"]
    assert [entry["content"] for entry in plan["entries"]] == ["write it", "have it counted"]
    calls = heard.tools()
    assert {call: shown["status"] for call, shown in calls.items()} == {
        f"build_{number}": "completed" for number in range(4)
    }
    assert (tmp_path / "note.txt").read_text() == "one line\n"
    assert (tmp_path / "a.txt").read_text() == "after"
    # The paths of its tools begin at the session's folder; the editor gets whole ones.
    assert calls["build_1"]["locations"][0]["path"] == str(tmp_path / "note.txt")
    assert calls["build_2"]["kind"] == "edit"
    # What a sub-agent does and says is the result of its call.
    assert "I am done with count." in str(calls["build_3"]["content"])
    (question,) = heard.requests(PERMISSION)
    assert "build_1" in str(question["params"])


async def test_a_file_that_the_user_refuses_is_not_written(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("before")
    agent = serve(make_graph, "deep", virtual_root=True, store=MemoryStore())
    async with served(agent, "v2") as client:
        client.answers[PERMISSION] = choose("reject")
        heard = await client.turn(await client.new_session(str(tmp_path)), "build")

    assert heard.tools()["build_1"]["status"] == "cancelled"
    assert not (tmp_path / "note.txt").exists()
