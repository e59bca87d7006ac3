"""The client's half of a turn: when a prompt may be sent, and which answer or state report ends it. No I/O.

`accord.session.turn` is the agent's half. Inputs say what happened, outputs say what must be done now, in this order.
An input for a prompt that is over changes nothing: answers and reports may come too late.

**The states of one prompt**

- `queued`: earlier prompts of the session are not over; `ready`: it may be sent.
- `awaiting_end`: it was sent, and its answer is the end of the turn (v1, June).
- `sent`, `behind`, `working`, `ended_early`: it was sent, and its answer says that the message is inserted (v2). No
  work was reported since; the agent was busy with earlier work; work was reported since; that work ended before the
  answer came.
- `inserted`, `running`: the message is inserted, before and after work was reported.
- `over`.

**Two rules**, which are all that the editions differ in; only `SendStarted` and the queue look at the rule:

- `"end"`: one prompt at a time, because the editions are silent about more. They report no states either, so the
  session is shown as running from the prompt to its answer, and the prompt as the user's message.
- `"insertion"`: prompts are sent at once; the agent inserts or holds them. A turn ends with the first `idle` after work
  that was reported after the insertion. An `idle` that ends earlier work (`behind`) is not the prompt's own. After a
  stop by the user an `idle` without work is the end too: agents that were stopped before their work began report none.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, ClassVar, Generic, Literal, TypeAlias, TypeVar

import msgspec

from accord.session.content import Block, Text
from accord.session.event import MessageChunk, StateChanged, StopReason, TokenUsage, WorkError
from accord.session.turn import AnswerRule

__all__ = [
    "PROMPT_STATES",
    "PROMPT_TABLE",
    "Abandoned",
    "Accepted",
    "ClientTurns",
    "EndTurn",
    "MaySend",
    "PromptEcho",
    "PromptInput",
    "PromptOutput",
    "PromptState",
    "Refused",
    "SendStarted",
    "ShowPrompt",
    "ShowState",
    "StateReported",
    "Submitted",
]

K = TypeVar("K", bound=Hashable)
"""The caller's name for a prompt; each name is used once."""


class Submitted(msgspec.Struct, Generic[K], frozen=True):
    """The user wants to prompt the agent."""

    prompt: K


class SendStarted(msgspec.Struct, Generic[K], frozen=True):
    """The request is about to be sent, after `MaySend`."""

    prompt: K


class Accepted(msgspec.Struct, Generic[K], frozen=True):
    """The request was answered with a result; `stop_reason` is given where the answer ends the turn."""

    prompt: K
    stop_reason: StopReason | str | None = None
    token_usage: TokenUsage | None = None


class Refused(msgspec.Struct, Generic[K], frozen=True):
    prompt: K
    error: WorkError


class Abandoned(msgspec.Struct, Generic[K], frozen=True):
    """The answer is not awaited any more, or cannot come."""

    prompt: K


class StateReported(msgspec.Struct, frozen=True):
    state: StateChanged


PromptInput: TypeAlias = Submitted[K] | SendStarted[K] | Accepted[K] | Refused[K] | Abandoned[K] | StateReported


class MaySend(msgspec.Struct, Generic[K], frozen=True):
    """Send the request now, and feed `SendStarted` right before."""

    prompt: K


class ShowPrompt(msgspec.Struct, Generic[K], frozen=True):
    """Show the prompt as the user's message: this edition's agents do not."""

    prompt: K


class ShowState(msgspec.Struct, Generic[K], frozen=True):
    """Show a state that this edition's agents do not report, as an event of this prompt's turn."""

    prompt: K
    state: StateChanged


class EndTurn(msgspec.Struct, Generic[K], frozen=True):
    """The turn is over. `error` is set where the agent reported that its work failed."""

    prompt: K
    stop_reason: StopReason | str | None
    error: WorkError | None = None
    token_usage: TokenUsage | None = None


PromptOutput: TypeAlias = MaySend[K] | ShowPrompt[K] | ShowState[K] | EndTurn[K]

PromptState: TypeAlias = Literal[
    "queued", "ready", "awaiting_end", "sent", "behind", "working", "ended_early", "inserted", "running", "over"
]

_Move: TypeAlias = Literal["send", "end", "insert", "fail", "drop", "work", "idle", "rest", "finish", "keep", "ignore"]

PROMPT_STATES: tuple[PromptState, ...] = (
    "queued", "ready", "awaiting_end", "sent", "behind", "working", "ended_early", "inserted", "running", "over",
)  # fmt: skip

# fmt: off
PROMPT_TABLE: dict[type[Any] | Literal["work", "idle"], tuple[_Move, ...]] = {
    #             queued   ready    awaiting_end sent     behind   working  ended_early inserted running  over
    SendStarted: ("ignore","send",  "ignore",   "ignore","ignore","ignore","ignore",   "ignore","ignore","ignore"),
    Accepted:    ("ignore","ignore","end",      "insert","insert","insert","finish",   "ignore","ignore","ignore"),
    Refused:     ("ignore","ignore","fail",     "drop",  "drop",  "drop",  "drop",     "ignore","ignore","ignore"),
    Abandoned:   ("drop",  "drop",  "fail",     "drop",  "drop",  "drop",  "drop",     "drop",  "drop",  "ignore"),
    "work":      ("ignore","ignore","ignore",   "work",  "ignore","ignore","work",     "work",  "ignore","ignore"),
    "idle":      ("ignore","ignore","ignore",   "rest",  "idle",  "keep",  "keep",     "rest",  "finish","ignore"),
}
# fmt: on

_AFTER_INSERTION: dict[PromptState, PromptState] = {"sent": "inserted", "behind": "running", "working": "running"}
_AFTER_WORK: dict[PromptState, PromptState] = {"sent": "working", "ended_early": "working", "inserted": "running"}


class ClientTurns(Generic[K]):
    """The prompts of one session that are not over, the oldest first."""

    def __init__(self, rule: AnswerRule) -> None:
        self.rule = rule
        self._states: dict[K, PromptState] = {}
        self.sent: list[K] = []
        """The prompts that were sent and are not over, the oldest first. A list, because every update looks at it."""
        self._ends: dict[K, StateChanged] = {}
        """The report that ended a turn before the prompt was answered."""
        self._stopped: set[K] = set()
        """The prompts that were sent when the user stopped the session's work."""
        self._is_busy = False

    def feed(self, event: PromptInput[K]) -> list[PromptOutput[K]]:
        """Feed one input; returns the outputs, in the order in which they must be done."""
        if isinstance(event, Submitted):
            return self._submit(event.prompt)
        if isinstance(event, StateReported):
            return self._report(event.state)
        return self._move(type(event), event.prompt, event)

    def state_of(self, prompt: K) -> PromptState:
        """The state of a prompt; `over` also for one that was never submitted."""
        return self._states.get(prompt, "over")

    # --- the session's state

    @property
    def unsent(self) -> list[K]:
        """The prompts that wait for their turn to be sent."""
        return [prompt for prompt, state in self._states.items() if state in {"queued", "ready"}]

    @property
    def running(self) -> list[K]:
        """The prompts that were sent and not stopped by the user, the oldest first."""
        return [prompt for prompt in self.sent if prompt not in self._stopped]

    @property
    def is_cancelling(self) -> bool:
        """Whether questions of the agent belong to work that the user stopped (v1 rule 37).

        Never where states report the end: there only the agent knows which work a question belongs to.
        """
        return any(self._states[prompt] == "awaiting_end" for prompt in self._stopped if prompt in self._states)

    def stop(self) -> None:
        """The user stops the session's work: all that was sent until now."""
        self._stopped = set(self.sent)

    # --- moves

    def _submit(self, prompt: K) -> list[PromptOutput[K]]:
        must_wait = self.rule == "end" and bool(self._states)
        self._states[prompt] = "queued" if must_wait else "ready"
        return [] if must_wait else [MaySend(prompt)]

    def _report(self, state: StateChanged) -> list[PromptOutput[K]]:
        self._is_busy = state.state != "idle"
        kind: Literal["work", "idle"] = "work" if self._is_busy else "idle"
        outputs: list[PromptOutput[K]] = []
        for prompt in list(self._states):
            outputs += self._move(kind, prompt, state)
        return outputs

    def _move(self, kind: type[Any] | Literal["work", "idle"], prompt: K, event: Any) -> list[PromptOutput[K]]:
        move = PROMPT_TABLE[kind][PROMPT_STATES.index(self.state_of(prompt))]
        return self._MOVES[move](self, prompt, event)

    def _send(self, prompt: K, _: SendStarted[K]) -> list[PromptOutput[K]]:
        self.sent.append(prompt)
        if self.rule == "end":
            self._states[prompt] = "awaiting_end"
            return [ShowPrompt(prompt), ShowState(prompt, StateChanged("running"))]
        self._states[prompt] = "behind" if self._is_busy else "sent"
        return []

    def _end(self, prompt: K, event: Accepted[K]) -> list[PromptOutput[K]]:
        reason = event.stop_reason or "end_turn"
        usage = event.token_usage
        shown = ShowState(prompt, StateChanged("idle", reason, token_usage=usage))
        return [shown, *self._over(prompt, reason, usage=usage)]

    def _fail(self, prompt: K, event: Refused[K] | Abandoned[K]) -> list[PromptOutput[K]]:
        error = event.error if isinstance(event, Refused) else None
        return [ShowState(prompt, StateChanged("idle", "error", error)), *self._drop(prompt, event)]

    def _drop(self, prompt: K, _: Refused[K] | Abandoned[K]) -> list[PromptOutput[K]]:
        """Remove a prompt whose end the caller knows: an exception of the request, or a cancel."""
        self._forget(prompt)
        return self._next()

    def _insert(self, prompt: K, _: Accepted[K]) -> list[PromptOutput[K]]:
        self._states[prompt] = _AFTER_INSERTION[self._states[prompt]]
        return []

    def _work(self, prompt: K, _: StateChanged) -> list[PromptOutput[K]]:
        self._states[prompt] = _AFTER_WORK[self._states[prompt]]
        self._ends.pop(prompt, None)
        return []

    def _idle(self, prompt: K, _: StateChanged) -> list[PromptOutput[K]]:
        self._states[prompt] = "sent"
        return []

    def _rest(self, prompt: K, event: StateChanged) -> list[PromptOutput[K]]:
        """Nothing was done for the prompt, and nothing is: the end where the user stopped it, else no news (A42)."""
        if prompt not in self._stopped:
            return []
        ending = event if event.stop_reason == "error" else msgspec.structs.replace(event, stop_reason="cancelled")
        return self._finish(prompt, ending) if self._states[prompt] == "inserted" else self._keep(prompt, ending)

    def _keep(self, prompt: K, event: StateChanged) -> list[PromptOutput[K]]:
        self._states[prompt] = "ended_early"
        self._ends[prompt] = event
        return []

    def _finish(self, prompt: K, event: StateChanged | Accepted[K]) -> list[PromptOutput[K]]:
        state = event if isinstance(event, StateChanged) else self._ends[prompt]
        error = state.error or WorkError(-32603, "The agent failed") if state.stop_reason == "error" else None
        return self._over(prompt, state.stop_reason or "end_turn", error, state.token_usage)

    def _over(
        self, prompt: K, reason: StopReason | str, error: WorkError | None = None, usage: TokenUsage | None = None
    ) -> list[PromptOutput[K]]:
        self._forget(prompt)
        return [EndTurn(prompt, reason, error, usage), *self._next()]

    def _forget(self, prompt: K) -> None:
        if self._states.pop(prompt) not in {"queued", "ready"}:
            self.sent.remove(prompt)
        self._ends.pop(prompt, None)
        self._stopped.discard(prompt)

    def _next(self) -> list[PromptOutput[K]]:
        """A turn is over: the first one in the queue may be sent."""
        first = next(iter(self._states), None)
        if first is None or self._states[first] != "queued":
            return []
        self._states[first] = "ready"
        return [MaySend(first)]

    def _ignore(self, _prompt: K, _event: object) -> list[PromptOutput[K]]:
        return []

    _MOVES: ClassVar[dict[_Move, Callable[[Any, Any, Any], list[Any]]]] = {
        "send": _send,
        "end": _end,
        "insert": _insert,
        "fail": _fail,
        "drop": _drop,
        "work": _work,
        "idle": _idle,
        "rest": _rest,
        "finish": _finish,
        "keep": _keep,
        "ignore": _ignore,
    }


class PromptEcho:
    """Recognises the prompt in an agent's updates. Some agents repeat it, and it is in the transcript already."""

    def __init__(self, prompt: list[Block]) -> None:
        self._rest = "".join(block.text for block in prompt if isinstance(block, Text))

    def __bool__(self) -> bool:
        return bool(self._rest)

    def takes(self, chunk: MessageChunk) -> bool:
        """Whether a chunk of the user's message continues the repeated prompt; after one that does not, none does."""
        block = chunk.block
        if not isinstance(block, Text) or not self._rest.startswith(block.text):
            self._rest = ""
            return False
        self._rest = self._rest[len(block.text) :]
        return True
