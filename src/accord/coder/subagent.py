"""A sub-agent: a conversation of its own with the same model, inside one tool call of a turn.

It has the tools of the mode but for those that plan, start sub-agents or run beside the turns, and asks for permission
as its turn does. Its text is the content of the tool call; its own tool calls are calls of the turn, which name it in
their `_meta`. Only its report is remembered.
"""

from __future__ import annotations

from contextlib import aclosing

from accord.agent import Tool, ToolFailed, Turn
from accord.coder.memory import Memory
from accord.coder.model import (
    AnswerEnd,
    Model,
    ModelError,
    ModelReply,
    ModelRequest,
    Spent,
    TextDelta,
    ToolResults,
    ToolUse,
    UserMessage,
    stream_answer,
)
from accord.coder.tools.runner import ToolExecutor
from accord.coder.tools.toolbox import Toolbox

MAX_REQUESTS = 25
FULL_SHARE = 0.8
TASK = (
    "\n\nYou are a sub-agent: another agent gave you one task, and the user does not read your answer. Do the task "
    "with the tools, and end with a report of what you found or did, with names and paths."
)


class Subagent:
    """One task. `paid` is the memory of the turn, to which the cost of the task is added."""

    def __init__(self, turn: Turn, model: Model, runner: ToolExecutor, system: str, paid: Memory) -> None:
        self._turn = turn
        self._model = model
        self._runner = runner
        self._system = system + TASK
        self._paid = paid
        self._memory = Memory()

    async def run(self, task: str, shown: Tool) -> str:
        """Its report.

        Raises:
            ToolFailed: The model gave none.
        """
        self._memory.add(UserMessage(task))
        toolbox = Toolbox(str(self._turn.option("mode")), for_subagent=True)
        for _ in range(MAX_REQUESTS):
            self._fit()
            try:
                reply = await self._answer(toolbox, shown)
            except ModelError as error:
                raise ToolFailed(f"The sub-agent got no answer: {error}") from error
            self._memory.add(reply)
            if not reply.calls:
                return reply.text or "[The sub-agent reported nothing.]"
            results = [await self._runner.use(use, toolbox) for use in reply.calls]
            self._memory.add(ToolResults(results))
        raise ToolFailed(f"The sub-agent was not done after {MAX_REQUESTS} requests to the model")

    def _fit(self) -> None:
        limit = int(self._model.context_tokens * FULL_SHARE)
        if self._memory.tokens > limit:
            self._memory.shorten_results(0, limit)
        if self._memory.tokens > self._model.context_tokens:
            raise ToolFailed("The task does not fit into the model")

    async def _answer(self, toolbox: Toolbox, shown: Tool) -> ModelReply:
        texts: list[str] = []
        calls: list[ToolUse] = []
        raw = None
        request = ModelRequest(self._system, list(self._memory.messages), toolbox.definitions)
        async with aclosing(stream_answer(self._model, request)) as deltas:
            async for delta in deltas:
                match delta:
                    case TextDelta(text=text):
                        texts.append(text)
                        await shown.stream(text)
                    case ToolUse():
                        calls.append(delta)
                    case Spent():
                        self._paid.pay(delta.cost)
                        self._turn.add_token_usage(delta.input_tokens, delta.output_tokens)
                    case AnswerEnd(reason="refused"):
                        raise ToolFailed("The provider refused to answer the sub-agent")
                    case AnswerEnd(reason="length"):
                        calls, raw = [], None
                    case AnswerEnd():
                        raw = delta.raw
                    case _:
                        continue
        return ModelReply("".join(texts), calls, self._model.name, raw)
