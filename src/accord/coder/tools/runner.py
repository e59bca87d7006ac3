"""Runs the tool calls of a model in one turn: each is shown, permitted, run and ended, and its result is a text."""

from __future__ import annotations

from accord.agent import ToolFailed, Turn
from accord.agent.mcp import McpError
from accord.agent.request_errors import client_reason
from accord.coder.file_changes import ChangeLog
from accord.coder.model import ToolResult, ToolUse
from accord.coder.permission import NotAllowed, PermissionGate
from accord.coder.tools.call import BadArguments, Delegation, SessionWork, ToolInvocation, ToolOutcome, Work
from accord.coder.tools.toolbox import Toolbox
from accord.coder.tools.turn import MakePlan
from accord.errors import RequestError
from accord.workspace import WorkspaceError

MAX_TITLE = 120


class ToolExecutor:
    """The tool calls of one turn; of a sub-agent in it where `parent` names the tool call that it works for."""

    def __init__(
        self,
        turn: Turn,
        gate: PermissionGate,
        session_work: SessionWork,
        changes: ChangeLog,
        *,
        delegate: Delegation | None = None,
        parent: str | None = None,
    ) -> None:
        self._turn = turn
        self._gate = gate
        self._session_work = session_work
        self._changes = changes
        self._delegate = delegate
        self._meta = None if parent is None else {"accord": {"parentToolCallId": parent}}

    async def use(self, use: ToolUse, toolbox: Toolbox) -> ToolResult:
        """One call, to its end."""
        try:
            call = _prepared(use, toolbox)
        except BadArguments as error:
            async with self._turn.tool(shortened(use.name), name=use.name, input=use.arguments, meta=self._meta):
                raise
            return ToolResult(use.id, use.name, str(error), failed=True)
        outcome = await self._carry_out(use, call)
        return ToolResult(use.id, use.name, outcome.text, outcome.failed, outcome.pictures)

    async def _carry_out(self, use: ToolUse, call: ToolInvocation) -> ToolOutcome:
        turn = self._turn
        if isinstance(call, MakePlan):
            return await call.show(turn)  # the plan is shown instead of a tool call
        shown = turn.tool(
            shortened(call.title),
            kind=call.kind,
            status="pending",
            name=use.name,
            input=use.arguments,
            locations=call.locations,
            cancellable=call.cancellable,
            meta=self._meta,
        )
        work = Work(turn, shown, self._gate, self._session_work, self._changes, self._delegate)
        outcome: ToolOutcome | None = None
        async with shown:
            outcome = await _run(call, work)
        if outcome is not None:
            return outcome
        if shown.cancel_requested:
            return ToolOutcome("The user stopped it.", failed=True)
        known = isinstance(shown.error, ToolFailed)
        return ToolOutcome(str(shown.error) if known else "It failed inside the agent; its log says why.", failed=True)


async def _run(call: ToolInvocation, work: Work) -> ToolOutcome:
    """Run it; errors of other packages become texts for the user and the model."""
    try:
        return await call.run(work)
    except NotAllowed as refusal:
        if refusal.by_rule:
            await work.shown.fail(str(refusal))
        return ToolOutcome(str(refusal), failed=True)
    except (WorkspaceError, McpError) as error:
        text = str(error)
        raise ToolFailed(f"{text[:1].upper()}{text[1:]}") from error
    except RequestError as error:
        raise ToolFailed(f"The client refused: {client_reason(error)}") from error


def _prepared(use: ToolUse, toolbox: Toolbox) -> ToolInvocation:
    if use.broken is not None:
        raise BadArguments(f"These arguments are no JSON object: {use.broken[:200]}")
    return toolbox.prepare(use.name, use.arguments)


def shortened(text: str) -> str:
    """A title of one line."""
    line = " ".join(text.split())
    return line if len(line) <= MAX_TITLE else f"{line[: MAX_TITLE - 1]}…"
