"""The model that is built in: it follows rules, needs no key and no network, and says what it cannot do.

The same loop uses it as all others: it gets messages and tools, and answers with text and tool calls. All that it knows
is in the messages; it keeps nothing.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import AsyncGenerator, Iterator
from types import TracebackType
from typing import Any, Self

from accord.coder.model import (
    OFFLINE,
    AnswerEnd,
    Delta,
    ModelReply,
    ModelRequest,
    Spent,
    TextDelta,
    ThoughtDelta,
    ToolResult,
    ToolResults,
    ToolUse,
    UserMessage,
    estimated_tokens,
)
from accord.coder.request_parser import Action, NotUnderstood, understand
from accord.coder.tools.files import fenced

CONTEXT_TOKENS = 100_000
MAX_SHOWN_LINES = 100
CAN_DO = """\
- `read F`, `read lines 10 to 20 of F`, `what is in F`
- `search X`, `search X in D`, `search /regular expression/`
- `list`, `list D`
- `replace A with B in F`, `remove A from F`
- `write "some text" to F`, `create file F`
- `run CMD`, `/shell LINE`
- `fetch https://...`
- `plan A, B, C`

Several of them are joined by `and then`; what has spaces in it goes into quotes."""
NEEDS_MODEL = "For anything else I need a real model: `accord chat --model PROVIDER:NAME`."
GREETING = re.compile(
    r"\s*(?:hi|hello|hey|good (?:morning|day|evening)|help|what can you do|who are you)\b", re.IGNORECASE
)
_PLANNING = frozenset({"plan", "leave_plan"})


class OfflineModel:
    """Answers by rules: the same request always gets the same answer."""

    name = OFFLINE
    context_tokens = CONTEXT_TOKENS

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta, None]:
        """The answer, in parts as other models give it."""
        characters = 0
        for delta in _summary(request) if request.purpose == "summary" else _answer(request):
            characters += len(getattr(delta, "text", ""))
            yield delta
        yield Spent(estimated_tokens(*request.messages), characters // 4)
        yield AnswerEnd("done")

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Nothing is open."""


def _answer(request: ModelRequest) -> Iterator[Delta]:
    place = max(n for n, message in enumerate(request.messages) if isinstance(message, UserMessage))
    prompt, since = request.messages[place], request.messages[place + 1 :]
    text = prompt.text if isinstance(prompt, UserMessage) else ""
    if isinstance(prompt, UserMessage) and prompt.pictures and not since:
        yield TextDelta("I cannot see pictures, and go by the text alone.\n\n")
    try:
        actions = understand(text)
    except NotUnderstood as trouble:
        yield from _text_deltas(_not_understood(text, trouble))
        return
    if not actions:
        yield from _text_deltas("What shall I do? I understand:\n\n" + CAN_DO)
        return
    replies = [message for message in since if isinstance(message, ModelReply)]
    results = [result for message in since if isinstance(message, ToolResults) for result in message.results]
    yield from _Progress(actions, replies, results).go_on({tool.name for tool in request.tools}, len(request.messages))


class _Progress:
    """The progress of a request: the calls that were made for it, and their results."""

    def __init__(self, actions: list[Action], replies: list[ModelReply], results: list[ToolResult]) -> None:
        self.actions = actions
        self.left = deque(actions)
        self.done: list[tuple[Action, ToolResult]] = []
        self.stuck = False
        self._replies = replies
        self._leaving = next((result for result in results if result.name == "leave_plan"), None)
        only_plans = all(action.tool == "plan" for action in actions)
        for result in results:
            if (result.name not in _PLANNING or only_plans) and self.left and not self.stuck:
                self._note(self.left.popleft(), result)

    def _note(self, action: Action, result: ToolResult) -> None:
        if result.failed and action.otherwise is not None:
            self.left.appendleft(action.otherwise)
            return
        self.done.append((action, result))
        self.stuck = result.failed

    def go_on(self, offered: set[str], place: int) -> Iterator[Delta]:
        """The next call, or the answer."""
        if not self._replies and len(self.actions) > 1:
            yield ThoughtDelta(f"These are {len(self.actions)} steps: {', '.join(a.label for a in self.actions)}.")
        missing = [action for action in self.left if action.tool not in offered]
        plans = "plan" in offered and len(self.actions) > 1
        if missing and not self.stuck:
            yield from self._outside_the_mode(missing, offered, place)
        elif self.left and not self.stuck:
            if plans:
                yield self._plan(place)
            yield ToolUse(f"call-{place}-1", self.left[0].tool, self.left[0].arguments)
        elif plans and not self._has_shown_final_plan():
            yield self._plan(place)
        else:
            yield from _text_deltas("\n\n".join(self._report()))

    def _outside_the_mode(self, missing: list[Action], offered: set[str], place: int) -> Iterator[Delta]:
        if "leave_plan" not in offered:
            names = ", ".join(dict.fromkeys(action.tool for action in missing))
            yield from _text_deltas(
                f"I did nothing: the mode here does not allow to {names}. Switch to the mode code for that."
            )
        elif self._leaving is None:
            steps = "\n".join(f"{n}. {action.label}" for n, action in enumerate(self.actions, 1))
            yield self._plan(place, running=False)
            yield ToolUse(f"call-{place}-1", "leave_plan", {"plan": steps})
        else:
            yield from _text_deltas("I stay in the mode plan, and nothing was changed.")

    def _plan(self, place: int, *, running: bool = True) -> ToolUse:
        done = len(self.done) - (1 if self.stuck else 0)
        steps: list[dict[str, Any]] = []
        for number, action in enumerate(self.actions):
            status = "completed" if number < done else "pending"
            if number == done and running and not self.stuck:
                status = "in_progress"
            steps.append({"content": action.label, "status": status})
        return ToolUse(f"call-{place}-0", "plan", {"steps": steps})

    def _has_shown_final_plan(self) -> bool:
        return bool(self._replies) and all(call.name == "plan" for call in self._replies[-1].calls)

    def _report(self) -> Iterator[str]:
        for action, result in self.done:
            if result.failed:
                yield f"I could not {action.label}. {_ending(action, result)}"
            elif not action.quiet:
                yield _ending(action, result)
        if self.stuck and self.left:
            yield f"I did not go on with: {', '.join(action.label for action in self.left)}."


def _ending(action: Action, result: ToolResult) -> str:
    text = result.text.rstrip("\n")
    match action.tool:
        case "run" | "shell":
            first, _, output = text.partition("\n")
            return f"`{action.arguments['command']}`: {first}" + (f"\n\n{_shown(output)}" if output.strip() else "")
        case "read" if not result.failed:
            return f"{action.arguments['path']}:\n\n{_shown(text)}"
        case "list" | "search" | "fetch" if not result.failed:
            return _shown(text)
        case "plan":
            return "That is the plan."
        case _:
            return text if text.endswith((".", "]")) else f"{text}."


def _shown(text: str) -> str:
    lines = text.splitlines()
    if len(lines) > MAX_SHOWN_LINES:
        lines = [*lines[:MAX_SHOWN_LINES], f"[{len(lines) - MAX_SHOWN_LINES} more lines]"]
    return fenced("\n".join(lines))


def _not_understood(text: str, trouble: NotUnderstood) -> str:
    if GREETING.match(text):
        return (
            "Hello! I am the model that is built in: I follow rules, offline. This is what I understand:\n\n"
            f"{CAN_DO}\n\n{NEEDS_MODEL}"
        )
    if trouble.question is not None:
        return f"{trouble.question}\n\nNothing was done."
    return (
        f"I do not understand this, and did nothing: {trouble.clause[:200]}\n\nI am the model that is built in: I "
        f"follow rules, offline. This is what I understand:\n\n{CAN_DO}\n\n"
        f"{NEEDS_MODEL}"
    )


def _summary(request: ModelRequest) -> Iterator[Delta]:
    """A summary without understanding: the user's requests, one line each."""
    lines = [
        line for message in request.messages if isinstance(message, UserMessage) for line in _requests_in(message.text)
    ]
    yield from _text_deltas("The user asked for:\n" + "\n".join(lines[-MAX_SHOWN_LINES:]))


def _requests_in(text: str) -> Iterator[str]:
    for line in text.splitlines():
        if line.startswith("User: "):
            yield f"- {line.removeprefix('User: ')[:200]}"
        elif line.startswith("- "):
            yield line[:200]


def _text_deltas(text: str) -> Iterator[TextDelta]:
    for part in re.findall(r"(?s).{1,80}(?:\s+|$)|.{1,80}", text):
        yield TextDelta(part)
