"""A project on disk, a model that does what a list says, and our client on the other end of the coding agent."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import pytest

import accord
from accord.coder import make_agent
from accord.coder.model import AnswerEnd, Delta, ModelRequest, Spent, TextDelta, ToolResult, ToolResults, ToolUse
from accord.session.entry import ToolCall

__all__ = [
    "IN_EVERY_EDITION",
    "Scripted",
    "Talk",
    "agent_with",
    "answered",
    "call",
    "project",
    "say",
    "talk",
    "use_tool",
]


def IN_EVERY_EDITION(test: AnyTest) -> AnyTest:  # noqa: N802 - a mark
    """The agent says the same in each: the framework writes the editions. A file meets all of them over its tests."""
    for mark in (pytest.mark.parametrize("edition", ["1", "2", "2-june"]), pytest.mark.rotated("edition")):
        mark(test)
    return test


AnyTest = TypeVar("AnyTest", bound=Callable[..., Any])
Answer = Sequence[Delta] | Callable[[ModelRequest], AsyncGenerator[Delta, None]]


def say(text: str, reason: Any = "done") -> list[Delta]:
    """An answer of text alone."""
    return [TextDelta(text), Spent(10, 5), AnswerEnd(reason)]


def call(name: str, /, **arguments: Any) -> list[Delta]:
    """An answer that calls one tool."""
    return [ToolUse(f"call-{name}", name, arguments), Spent(10, 5), AnswerEnd("done")]


class Scripted:
    """A model that gives the answers of a list, one for each request; what it was asked is in `requests`."""

    name = "scripted"

    def __init__(self, *answers: Answer, context_tokens: int = 100_000) -> None:
        self.context_tokens = context_tokens
        self.requests: list[ModelRequest] = []
        self._answers = list(answers)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta, None]:
        self.requests.append(request)
        answer = self._answers.pop(0) if self._answers else say("There is nothing left to say.")
        if callable(answer):
            async for delta in answer(request):
                yield delta
            return
        for delta in answer:
            yield delta

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Nothing is open."""

    def results(self, request: int = -1) -> list[ToolResult]:
        """The results that the last message of a request had."""
        last = self.requests[request].messages[-1]
        assert isinstance(last, ToolResults)
        return last.results

    def offered(self, request: int = -1) -> list[str]:
        """The tools that a request offered."""
        return [tool.name for tool in self.requests[request].tools]


def agent_with(*answers: Answer, context_tokens: int = 100_000, **more: Any) -> tuple[accord.Agent, Scripted]:
    """The coding agent with a scripted model, and that model."""
    model = Scripted(*answers, context_tokens=context_tokens)
    return make_agent(model=model, **{"store": accord.MemoryStore(), **more}), model


def project(folder: Path, **files: str) -> Path:
    """Files with their texts; two underscores stand for a slash, one at the end for a dot in front."""
    for name, text in files.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


@dataclass
class Talk:
    """A conversation of our client with the agent."""

    remote: accord.client.ConnectedAgent
    session: accord.client.Session
    asked: list[accord.client.PermissionQuestion] = field(default_factory=list)

    async def ask(self, *content: Any) -> accord.client.Turn:
        """A whole turn."""
        return await self.session.prompt(*content)

    @property
    def tools(self) -> list[ToolCall]:
        """The tool calls, in order."""
        return list(self.session.transcript.tool_calls.values())

    @property
    def tool(self) -> ToolCall:
        """The last tool call."""
        return self.tools[-1]


@asynccontextmanager
async def talk(
    agent: accord.Agent,
    cwd: Path,
    edition: Any = "1",
    *,
    answer: Any = True,
    mode: str | None = None,
    resume: str | None = None,
    **more: Any,
) -> AsyncIterator[Talk]:
    """Our client and the agent in one process; `answer` is what every permission question gets."""
    asked: list[accord.client.PermissionQuestion] = []

    def permission(question: accord.client.PermissionQuestion) -> Any:
        asked.append(question)
        return answer(question) if callable(answer) else answer

    async with accord.connect(agent, edition=edition, permission=permission, **more) as remote:
        session = await (remote.new_session(cwd) if resume is None else remote.load_session(resume, cwd))
        if mode is not None:
            await session.set_mode(mode)
        yield Talk(remote, session, asked)


async def use_tool(cwd: Path, name: str, /, **arguments: Any) -> tuple[ToolResult, ToolCall]:
    """One call of a tool that is allowed: what the model hears of it, and what the client sees."""
    agent, model = agent_with(call(name, **arguments), say("Done."))
    async with talk(agent, cwd) as talked:
        await talked.ask("go")
        (result,) = model.results()
        return result, talked.tool


def answered(talked: Talk) -> str:
    """What the agent said last."""
    messages = [message for message in talked.session.transcript.messages if message.speaker == "agent"]
    return messages[-1].text
