"""The turn automaton of an agent's session: when a turn begins, waits and ends. No I/O.

Inputs say what happened, outputs say what must be done now, in this order. It starts no task, sends nothing and never
raises on what happens: an input that cannot happen in a state comes back as `Illegal` and changes nothing.

**The states**

- `idle`: nothing is in the foreground. Background work may go on; it changes no state.
- `inserting`: a prompt is being added to the conversation (and to the store). Nothing was published yet.
- `running`: a handler works; `requires_action`: it works, but all of it waits for the user.
- `cancelling`: the client cancelled it, and the handler (or the insertion) has not ended yet.
- `closing`: the same, and the session goes too; it also waits for the background to end.
- `closed`: nothing more is published. The end of the last background work may be reported again here.

**Two rules for answering a prompt**, which is all that the editions differ in:

- `"end"` (v1, June): the answer is the end of the turn and carries its stop reason, or the error. A prompt that is
  dropped is answered `cancelled` too; those that a cancel drops, after the one that was running.
- `"insertion"` (v2): the answer says that the message is inserted. After it no error can be answered (A36): a failure
  is published as `idle` with the reason `error`. A prompt that is dropped before insertion is answered -32800 (A48).

**Common to both**

- One turn at a time. A prompt that comes in between is held; held prompts are inserted in the order of arrival (A37).
  `idle` is published between two turns, so that each has its stop reason.
- Every prompt is answered once. Every inserted prompt leads to `running` and then `idle`, also when it was cancelled
  during its insertion: a client that waits for the end of its turn must see one.
- Cancel stops the work in the foreground and drops the prompts that were held at that time, none that come later, and
  leaves the background alone (A48). The reason is then `cancelled`, also if the handler raises (v1 rule 38).
- A handler is cancelled once. Its questions are retired at once, and those it asks later too (A49).
- A state is published when it changes; once the background was reported it is part of every report (A45).
- The loss of the connection is a close: the answers then lead nowhere, and the runner may drop them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Literal, TypeAlias

import msgspec

from accord.protocol.model import UNSET, UnsetType
from accord.session.event import Background, SessionState, StateChanged, StopReason, TokenUsage, WorkError
from accord.session.turn_io import (
    AnswerClosed,
    AnswerFailed,
    AnswerInserted,
    AnswerStopped,
    AnswerWithdrawn,
    BackgroundChanged,
    CancelHandler,
    CancelRequested,
    ClientLost,
    CloseRequested,
    HandlerCancelled,
    HandlerFailed,
    HandlerFinished,
    Hold,
    Illegal,
    Input,
    Insert,
    InsertionFailed,
    Output,
    PromptArrived,
    PromptInserted,
    PromptKey,
    PromptWithdrawn,
    PublishState,
    QuestionAnswered,
    QuestionOpened,
    Retire,
    SessionEnded,
    Start,
    StopBackground,
    TurnState,
    WorkStarted,
)

__all__ = ["STATES", "TABLE", "AnswerRule", "Move", "TurnAutomaton"]

AnswerRule: TypeAlias = Literal["end", "insertion"]

Move: TypeAlias = Literal[
    "insert", "hold", "refuse", "begin", "abandon", "fail", "give_up", "withdraw", "work", "question", "retire",
    "answer", "cancel", "drop", "finish", "stop", "background", "close", "closed", "ignore", "illegal",
]  # fmt: skip
"""The actions in the table. `ignore` is for inputs that may come too late; `illegal` for inputs that cannot come."""

STATES: tuple[TurnState, ...] = (
    "idle", "inserting", "running", "requires_action", "cancelling", "closing", "closed",
)  # fmt: skip

# fmt: off
TABLE: dict[type[Input], tuple[Move, ...]] = {
    #                    idle          inserting     running       requires_action cancelling  closing       closed
    PromptArrived:     ("insert",     "hold",       "hold",       "hold",       "hold",       "refuse",     "refuse"),
    PromptInserted:    ("illegal",    "begin",      "illegal",    "illegal",    "abandon",    "abandon",    "illegal"),
    InsertionFailed:   ("illegal",    "fail",       "illegal",    "illegal",    "give_up",    "give_up",    "illegal"),
    PromptWithdrawn:   ("ignore",     "withdraw",   "withdraw",   "withdraw",   "withdraw",   "ignore",     "ignore"),
    WorkStarted:       ("work",       "illegal",    "illegal",    "illegal",    "illegal",    "illegal",    "illegal"),
    QuestionOpened:    ("ignore",     "ignore",     "question",   "question",   "retire",     "retire",     "retire"),
    QuestionAnswered:  ("ignore",     "ignore",     "answer",     "answer",     "ignore",     "ignore",     "ignore"),
    CancelRequested:   ("ignore",     "cancel",     "cancel",     "cancel",     "drop",       "ignore",     "ignore"),
    HandlerFinished:   ("illegal",    "illegal",    "finish",     "finish",     "stop",       "stop",       "illegal"),
    HandlerFailed:     ("illegal",    "illegal",    "finish",     "finish",     "stop",       "stop",       "illegal"),
    HandlerCancelled:  ("illegal",    "illegal",    "stop",       "stop",       "stop",       "stop",       "illegal"),
    BackgroundChanged: ("background", "background", "background", "background", "background", "background", "ignore"),
    CloseRequested:    ("close",      "close",      "close",      "close",      "close",      "ignore",     "closed"),
    ClientLost:        ("close",      "close",      "close",      "close",      "close",      "ignore",     "ignore"),
}
# fmt: on


class TurnAutomaton:
    """One session's turns under one rule of answering."""

    def __init__(self, rule: AnswerRule) -> None:
        self.rule = rule
        self.state: TurnState = "idle"
        self._current: tuple[PromptKey, ...] = ()
        """The prompt that is being inserted or worked on; none where the agent works by itself."""
        self._at_work = False
        self._held: dict[PromptKey, None] = {}
        self._dropped: list[PromptKey] = []
        """Prompts that a cancel dropped and that are answered when the turn before them is over."""
        self._questions: dict[PromptKey, bool] = {}
        self._background: tuple[Background, ...] | UnsetType = UNSET
        self._published = StateChanged("idle")
        self._before = self._published
        """The state that was published last when the prompt's insertion began."""

    def feed(self, event: Input) -> list[Output]:
        """Feed one input; returns the outputs, in the order in which they must be done."""
        move = TABLE[type(event)][STATES.index(self.state)]
        return self._MOVES[move](self, event)

    def snapshot(self) -> StateChanged:
        """The state that was published last, for a client that joins now (v2 rule A28)."""
        return self._published

    # --- prompts

    def _insert(self, event: PromptArrived) -> list[Output]:
        self.state, self._current, self._before = "inserting", (event.prompt,), self._published
        return [Insert(event.prompt, self._changed("running"))]

    def _hold(self, event: PromptArrived) -> list[Output]:
        if event.prompt in self._held or event.prompt in (*self._current, *self._dropped):
            return self._illegal(event)
        self._held[event.prompt] = None
        return [Hold(event.prompt)]

    def _refuse(self, event: PromptArrived) -> list[Output]:
        return [AnswerClosed(event.prompt)]

    def _begin(self, event: PromptInserted) -> list[Output]:
        if not self._awaits(event):
            return self._illegal(event)
        self.state, self._at_work = "running", True
        return [*self._answer_inserted(), self._publish_inserted(), Start(event.prompt)]

    def _abandon(self, event: PromptInserted) -> list[Output]:
        if not self._awaits(event):
            return self._illegal(event)
        return [*self._answer_inserted(), self._publish_inserted(), *self._end("cancelled")]

    def _fail(self, event: InsertionFailed) -> list[Output]:
        if not self._awaits(event):
            return self._illegal(event)
        return [AnswerFailed(event.prompt, event.error), *self._go_on()]

    def _give_up(self, event: InsertionFailed) -> list[Output]:
        if not self._awaits(event):
            return self._illegal(event)
        return [self.dropped(event.prompt), *self._go_on()]

    def _awaits(self, event: PromptInserted | InsertionFailed) -> bool:
        return not self._at_work and self._current == (event.prompt,)

    def _withdraw(self, event: PromptWithdrawn) -> list[Output]:
        if event.prompt in self._held:
            del self._held[event.prompt]
            return [self.dropped(event.prompt)]
        if self.rule == "end" and self._current == (event.prompt,):
            # v1 rule 39: the turn stops, but only this one. v2 has answered it, or is about to (A37).
            return self._stop_work("cancelling")
        return []

    # --- work and questions

    def _work(self, _: WorkStarted) -> list[Output]:
        self.state, self._at_work = "running", True
        return self._publish("running")

    def _question(self, event: QuestionOpened) -> list[Output]:
        if event.question in self._questions:
            return self._illegal(event)
        self._questions[event.question] = event.blocking
        if not event.blocking or self.state == "requires_action":
            return []
        self.state = "requires_action"
        return self._publish("requires_action")

    def _retire(self, event: QuestionOpened) -> list[Output]:
        return [Retire((event.question,))]

    def _answer(self, event: QuestionAnswered) -> list[Output]:
        self._questions.pop(event.question, None)
        # v2 rule A40: one answer of several does not mean that work goes on.
        if self.state == "running" or any(self._questions.values()):
            return []
        self.state = "running"
        return self._publish("running")

    # --- ends

    def _finish(self, event: HandlerFinished | HandlerFailed) -> list[Output]:
        if isinstance(event, HandlerFailed):
            return self._end("error", event.error, event.token_usage)
        return self._end(event.stop_reason, None, event.token_usage)

    def _stop(self, event: HandlerFinished | HandlerFailed | HandlerCancelled) -> list[Output]:
        return self._end("cancelled", None, event.token_usage) if self._at_work else self._illegal(event)

    def _end(
        self, reason: StopReason | str, error: WorkError | None = None, usage: TokenUsage | None = None
    ) -> list[Output]:
        outputs = [*self._retire_all(), *self._publish("idle", reason, error, usage)]
        if self.rule == "end":
            outputs += [AnswerFailed(p, error) if error else AnswerStopped(p, reason, usage) for p in self._current]
        return outputs + self._go_on()

    def _go_on(self) -> list[Output]:
        """The foreground is free: answer the dropped prompts, then start the next prompt or end the session."""
        outputs = [self.dropped(prompt) for prompt in self._dropped]
        self._dropped, self._current, self._at_work = [], (), False
        if self.state == "closing":
            return outputs + self._close_if_over()
        if not self._held:
            self.state = "idle"
            return outputs
        prompt = next(iter(self._held))
        del self._held[prompt]
        return outputs + self._insert(PromptArrived(prompt))

    def _cancel(self, _: CancelRequested) -> list[Output]:
        return self._stop_work("cancelling") + self._drop()

    def _close(self, _: CloseRequested | ClientLost) -> list[Output]:
        outputs = self._stop_work("closing") + self._drop()
        if self._background:
            outputs.append(StopBackground())
        return outputs + self._close_if_over()

    def _closed(self, _: CloseRequested) -> list[Output]:
        return [SessionEnded()]

    def _close_if_over(self) -> list[Output]:
        if self._current or self._at_work or self._background:
            return []
        self.state = "closed"
        return [SessionEnded()]

    def _stop_work(self, state: TurnState) -> list[Output]:
        outputs = self._retire_all()
        if self.state in {"running", "requires_action"}:
            outputs.append(CancelHandler())
        self.state = state
        return outputs

    def _drop(self, _: CancelRequested | None = None) -> list[Output]:
        held, self._held = list(self._held), {}
        if self.rule == "insertion":
            return [self.dropped(prompt) for prompt in held]
        self._dropped += held
        return []

    # --- states and answers

    def _background_changed(self, event: BackgroundChanged) -> list[Output]:
        if event.background == self._background:
            return []
        self._background = event.background
        self._published = msgspec.structs.replace(self._published, background=list(event.background))
        outputs: list[Output] = [PublishState(self._published)]
        return outputs + self._close_if_over() if self.state == "closing" else outputs

    def _publish(
        self,
        state: SessionState,
        reason: StopReason | str | None = None,
        error: WorkError | None = None,
        usage: TokenUsage | None = None,
    ) -> list[Output]:
        self._published = self._changed(state, reason, error, usage)
        return [PublishState(self._published)]

    def _publish_inserted(self) -> Output:
        # It was kept with the prompt; a change of the background may have been kept behind it.
        is_last = self._published is self._before
        self._published = self._changed("running")
        return PublishState(self._published, keep=not is_last)

    def _changed(
        self,
        state: SessionState,
        reason: StopReason | str | None = None,
        error: WorkError | None = None,
        usage: TokenUsage | None = None,
    ) -> StateChanged:
        background = UNSET if self._background is UNSET else list(self._background)
        return StateChanged(state, reason, error, background, token_usage=usage)

    def _answer_inserted(self) -> list[Output]:
        return [AnswerInserted(prompt) for prompt in self._current if self.rule == "insertion"]

    def dropped(self, prompt: PromptKey) -> Output:
        """The answer to a prompt that is dropped before its insertion, also to one that was never fed."""
        return AnswerWithdrawn(prompt) if self.rule == "insertion" else AnswerStopped(prompt, "cancelled")

    def _retire_all(self) -> list[Output]:
        questions, self._questions = tuple(self._questions), {}
        return [Retire(questions)] if questions else []

    def _ignore(self, _: Input) -> list[Output]:
        return []

    def _illegal(self, event: Input) -> list[Output]:
        return [Illegal(self.state, event)]

    _MOVES: ClassVar[dict[Move, Callable[[Any, Any], list[Output]]]] = {
        "insert": _insert,
        "hold": _hold,
        "refuse": _refuse,
        "begin": _begin,
        "abandon": _abandon,
        "fail": _fail,
        "give_up": _give_up,
        "withdraw": _withdraw,
        "work": _work,
        "question": _question,
        "retire": _retire,
        "answer": _answer,
        "cancel": _cancel,
        "drop": _drop,
        "finish": _finish,
        "stop": _stop,
        "background": _background_changed,
        "close": _close,
        "closed": _closed,
        "ignore": _ignore,
        "illegal": _illegal,
    }
