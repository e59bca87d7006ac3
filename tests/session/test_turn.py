"""Turns: the whole table cell by cell, both rules of answering as stories, and whatever order things happen in."""

from __future__ import annotations

import typing

from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from accord.session.event import Background, StateChanged, TokenUsage, WorkError
from accord.session.turn import STATES, TABLE, AnswerRule, Move, TurnAutomaton
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
from tests.tables import rows

RULES: list[AnswerRule] = ["end", "insertion"]
BROKEN = WorkError(-32603, "Internal error")
BUILD = Background("terminal", "build")

BEGUN = StateChanged("running")
INSERTED = PublishState(BEGUN, keep=False)
"""What was kept with its prompt."""
RUNNING = PublishState(BEGUN)
WAITING = PublishState(StateChanged("requires_action"))
ENDED = PublishState(StateChanged("idle", "end_turn"))
CANCELLED = PublishState(StateChanged("idle", "cancelled"))
FAILED = PublishState(StateChanged("idle", "error", BROKEN))

REACHED_BY: dict[TurnState, list[Input]] = {
    "idle": [],
    "inserting": [PromptArrived("p")],
    "running": [PromptArrived("p"), PromptInserted("p")],
    "requires_action": [PromptArrived("p"), PromptInserted("p"), QuestionOpened("q")],
    "cancelling": [PromptArrived("p"), PromptInserted("p"), CancelRequested()],
    "closing": [PromptArrived("p"), PromptInserted("p"), CloseRequested()],
    "closed": [CloseRequested()],
}
HAPPENINGS: list[Input] = [
    PromptArrived("n"),
    PromptInserted("p"),
    InsertionFailed("p", BROKEN),
    PromptWithdrawn("p"),
    WorkStarted(),
    QuestionOpened("r"),
    QuestionAnswered("q"),
    CancelRequested(),
    HandlerFinished(),
    HandlerFailed(BROKEN),
    HandlerCancelled(),
    BackgroundChanged((BUILD,)),
    CloseRequested(),
    ClientLost(),
]


def told(*inputs: Input, rule: AnswerRule) -> list[Output]:
    """What comes of the last of several inputs."""
    automaton = TurnAutomaton(rule)
    outputs: list[Output] = []
    for each in inputs:
        outputs = automaton.feed(each)
    return outputs


# --- the table, cell by cell

# What a cell says and where it leads, from the states above. `end` and `insertion` differ only where both are given.
CELLS: dict[
    tuple[str, TurnState], tuple[TurnState, list[Output]] | dict[AnswerRule, tuple[TurnState, list[Output]]]
] = {
    ("PromptArrived", "idle"): ("inserting", [Insert("n", BEGUN)]),
    ("PromptArrived", "inserting"): ("inserting", [Hold("n")]),
    ("PromptArrived", "running"): ("running", [Hold("n")]),
    ("PromptArrived", "requires_action"): ("requires_action", [Hold("n")]),
    ("PromptArrived", "cancelling"): ("cancelling", [Hold("n")]),
    ("PromptArrived", "closing"): ("closing", [AnswerClosed("n")]),
    ("PromptArrived", "closed"): ("closed", [AnswerClosed("n")]),
    ("PromptInserted", "inserting"): {
        "end": ("running", [INSERTED, Start("p")]),
        "insertion": ("running", [AnswerInserted("p"), INSERTED, Start("p")]),
    },
    ("InsertionFailed", "inserting"): ("idle", [AnswerFailed("p", BROKEN)]),
    ("PromptWithdrawn", "idle"): ("idle", []),
    ("PromptWithdrawn", "inserting"): {"end": ("cancelling", []), "insertion": ("inserting", [])},
    ("PromptWithdrawn", "running"): {"end": ("cancelling", [CancelHandler()]), "insertion": ("running", [])},
    ("PromptWithdrawn", "requires_action"): {
        "end": ("cancelling", [Retire(("q",)), CancelHandler()]),
        "insertion": ("requires_action", []),
    },
    ("PromptWithdrawn", "cancelling"): ("cancelling", []),
    ("PromptWithdrawn", "closing"): ("closing", []),
    ("PromptWithdrawn", "closed"): ("closed", []),
    ("WorkStarted", "idle"): ("running", [RUNNING]),
    ("QuestionOpened", "idle"): ("idle", []),
    ("QuestionOpened", "inserting"): ("inserting", []),
    ("QuestionOpened", "running"): ("requires_action", [WAITING]),
    ("QuestionOpened", "requires_action"): ("requires_action", []),
    ("QuestionOpened", "cancelling"): ("cancelling", [Retire(("r",))]),
    ("QuestionOpened", "closing"): ("closing", [Retire(("r",))]),
    ("QuestionOpened", "closed"): ("closed", [Retire(("r",))]),
    ("QuestionAnswered", "idle"): ("idle", []),
    ("QuestionAnswered", "inserting"): ("inserting", []),
    ("QuestionAnswered", "running"): ("running", []),
    ("QuestionAnswered", "requires_action"): ("running", [RUNNING]),
    ("QuestionAnswered", "cancelling"): ("cancelling", []),
    ("QuestionAnswered", "closing"): ("closing", []),
    ("QuestionAnswered", "closed"): ("closed", []),
    ("CancelRequested", "idle"): ("idle", []),
    ("CancelRequested", "inserting"): ("cancelling", []),
    ("CancelRequested", "running"): ("cancelling", [CancelHandler()]),
    ("CancelRequested", "requires_action"): ("cancelling", [Retire(("q",)), CancelHandler()]),
    ("CancelRequested", "cancelling"): ("cancelling", []),
    ("CancelRequested", "closing"): ("closing", []),
    ("CancelRequested", "closed"): ("closed", []),
    ("HandlerFinished", "running"): {
        "end": ("idle", [ENDED, AnswerStopped("p", "end_turn")]),
        "insertion": ("idle", [ENDED]),
    },
    ("HandlerFinished", "requires_action"): {
        "end": ("idle", [Retire(("q",)), ENDED, AnswerStopped("p", "end_turn")]),
        "insertion": ("idle", [Retire(("q",)), ENDED]),
    },
    ("HandlerFailed", "running"): {
        "end": ("idle", [FAILED, AnswerFailed("p", BROKEN)]),
        "insertion": ("idle", [FAILED]),
    },
    ("HandlerFailed", "requires_action"): {
        "end": ("idle", [Retire(("q",)), FAILED, AnswerFailed("p", BROKEN)]),
        "insertion": ("idle", [Retire(("q",)), FAILED]),
    },
    ("HandlerCancelled", "running"): {
        "end": ("idle", [CANCELLED, AnswerStopped("p", "cancelled")]),
        "insertion": ("idle", [CANCELLED]),
    },
    ("HandlerCancelled", "requires_action"): {
        "end": ("idle", [Retire(("q",)), CANCELLED, AnswerStopped("p", "cancelled")]),
        "insertion": ("idle", [Retire(("q",)), CANCELLED]),
    },
    ("BackgroundChanged", "idle"): ("idle", [PublishState(StateChanged("idle", background=[BUILD]))]),
    ("BackgroundChanged", "inserting"): ("inserting", [PublishState(StateChanged("idle", background=[BUILD]))]),
    ("BackgroundChanged", "running"): ("running", [PublishState(StateChanged("running", background=[BUILD]))]),
    ("BackgroundChanged", "requires_action"): (
        "requires_action",
        [PublishState(StateChanged("requires_action", background=[BUILD]))],
    ),
    ("BackgroundChanged", "cancelling"): ("cancelling", [PublishState(StateChanged("running", background=[BUILD]))]),
    ("BackgroundChanged", "closing"): ("closing", [PublishState(StateChanged("running", background=[BUILD]))]),
    ("BackgroundChanged", "closed"): ("closed", []),
    ("CloseRequested", "idle"): ("closed", [SessionEnded()]),
    ("CloseRequested", "inserting"): ("closing", []),
    ("CloseRequested", "running"): ("closing", [CancelHandler()]),
    ("CloseRequested", "requires_action"): ("closing", [Retire(("q",)), CancelHandler()]),
    ("CloseRequested", "cancelling"): ("closing", []),
    ("CloseRequested", "closing"): ("closing", []),
    ("CloseRequested", "closed"): ("closed", [SessionEnded()]),
    ("ClientLost", "idle"): ("closed", [SessionEnded()]),
    ("ClientLost", "inserting"): ("closing", []),
    ("ClientLost", "running"): ("closing", [CancelHandler()]),
    ("ClientLost", "requires_action"): ("closing", [Retire(("q",)), CancelHandler()]),
    ("ClientLost", "cancelling"): ("closing", []),
    ("ClientLost", "closing"): ("closing", []),
    ("ClientLost", "closed"): ("closed", []),
}
for ending in ("HandlerFinished", "HandlerFailed", "HandlerCancelled"):
    CELLS[ending, "cancelling"] = {
        "end": ("idle", [CANCELLED, AnswerStopped("p", "cancelled")]),
        "insertion": ("idle", [CANCELLED]),
    }
    CELLS[ending, "closing"] = {
        "end": ("closed", [CANCELLED, AnswerStopped("p", "cancelled"), SessionEnded()]),
        "insertion": ("closed", [CANCELLED, SessionEnded()]),
    }


def test_the_table_has_a_cell_for_everything_that_can_happen_in_every_state() -> None:
    assert set(TABLE) == set(typing.get_args(Input))
    assert typing.get_args(TurnState) == STATES
    assert all(len(row) == len(STATES) for row in TABLE.values())
    assert {move for row in TABLE.values() for move in row} == set(typing.get_args(Move))
    assert set(TurnAutomaton._MOVES) == set(typing.get_args(Move))


@rows("rule", RULES)
@rows("state", STATES)
@rows("happening", HAPPENINGS)
def test_a_cell_of_the_table(happening: Input, state: TurnState, rule: AnswerRule) -> None:
    automaton = TurnAutomaton(rule)
    for each in REACHED_BY[state]:
        automaton.feed(each)
    assert automaton.state == state

    outputs = automaton.feed(happening)

    expected = CELLS.get((type(happening).__name__, state), (state, [Illegal(state, happening)]))
    assert (automaton.state, outputs) == (expected[rule] if isinstance(expected, dict) else expected)


# --- both rules as stories


@rows("rule", RULES)
def test_a_prompt_that_is_cancelled_during_its_insertion_never_starts_but_is_told_running_and_ended(
    rule: AnswerRule,
) -> None:
    automaton = TurnAutomaton(rule)
    for each in (
        PromptArrived(1),
        PromptInserted(1),
        CancelRequested(),
        HandlerCancelled(),
        PromptArrived(2),
        CancelRequested(),
    ):
        automaton.feed(each)

    outputs = automaton.feed(PromptInserted(2))

    answers: dict[AnswerRule, list[Output]] = {
        "end": [INSERTED, CANCELLED, AnswerStopped(2, "cancelled")],
        "insertion": [AnswerInserted(2), INSERTED, CANCELLED],
    }
    assert outputs == answers[rule]
    assert automaton.state == "idle"


def test_a_prompt_that_is_cancelled_during_an_insertion_that_fails_is_dropped() -> None:
    inputs = (PromptArrived(1), CancelRequested(), InsertionFailed(1, BROKEN))
    assert told(*inputs, rule="insertion") == [AnswerWithdrawn(1)]
    # v1 rule 38: never an error for a cancel.
    assert told(*inputs, rule="end") == [AnswerStopped(1, "cancelled")]


@rows("rule", RULES)
def test_held_prompts_are_inserted_one_by_one_in_the_order_of_arrival(rule: AnswerRule) -> None:
    automaton = TurnAutomaton(rule)
    for each in (PromptArrived(1), PromptInserted(1), PromptArrived(2), PromptArrived(3)):
        automaton.feed(each)

    first = automaton.feed(HandlerFinished("max_tokens"))
    assert first[0] == PublishState(StateChanged("idle", "max_tokens"))
    assert first[-1] == Insert(2, BEGUN)
    # What could not be inserted makes room for the next.
    assert automaton.feed(InsertionFailed(2, BROKEN)) == [AnswerFailed(2, BROKEN), Insert(3, BEGUN)]
    assert automaton.feed(PromptInserted(3))[-1] == Start(3)


USAGE = TokenUsage(3, 4, 7)


@rows(
    ("ending", "reason"),
    [
        (HandlerFinished("refusal", USAGE), "refusal"),
        (HandlerFailed(BROKEN, USAGE), "error"),
        (HandlerCancelled(USAGE), "cancelled"),
    ],
)
@rows("rule", RULES)
def test_the_token_usage_of_a_handler_goes_with_the_end_of_its_turn(
    rule: AnswerRule, ending: typing.Any, reason: str
) -> None:
    automaton = TurnAutomaton(rule)
    for each in (PromptArrived(1), PromptInserted(1)):
        automaton.feed(each)

    end, *answers = automaton.feed(ending)
    error = BROKEN if reason == "error" else None
    assert end == PublishState(StateChanged("idle", reason, error, token_usage=USAGE))
    if rule == "end":
        assert answers == [AnswerFailed(1, error) if error else AnswerStopped(1, reason, USAGE)]
    # The next turn has its own.
    automaton.feed(PromptArrived(2))
    assert INSERTED in automaton.feed(PromptInserted(2))


def test_the_token_usage_of_a_cancelled_turn_is_not_that_of_the_prompts_behind_it() -> None:
    automaton = TurnAutomaton("end")
    for each in (PromptArrived(1), PromptInserted(1), PromptArrived(2), CancelRequested()):
        automaton.feed(each)

    answers = automaton.feed(HandlerCancelled(USAGE))[1:]
    assert answers == [AnswerStopped(1, "cancelled", USAGE), AnswerStopped(2, "cancelled")]


def test_under_the_rule_of_the_end_a_cancel_answers_all_prompts_cancelled_after_the_one_that_ran() -> None:
    automaton = TurnAutomaton("end")
    for each in (PromptArrived(1), PromptInserted(1), PromptArrived(2), PromptArrived(3)):
        automaton.feed(each)

    assert automaton.feed(CancelRequested()) == [CancelHandler()]
    assert automaton.feed(PromptArrived(4)) == [Hold(4)]
    assert automaton.feed(PromptArrived(2)) == [Illegal("cancelling", PromptArrived(2))]
    assert automaton.feed(HandlerFailed(BROKEN)) == [
        CANCELLED,
        AnswerStopped(1, "cancelled"),
        AnswerStopped(2, "cancelled"),
        AnswerStopped(3, "cancelled"),
        Insert(4, BEGUN),
    ]


def test_under_the_rule_of_insertion_a_cancel_drops_what_is_held_at_once() -> None:
    automaton = TurnAutomaton("insertion")
    for each in (PromptArrived(1), PromptInserted(1), PromptArrived(2), PromptArrived(3)):
        automaton.feed(each)

    assert automaton.feed(CancelRequested()) == [CancelHandler(), AnswerWithdrawn(2), AnswerWithdrawn(3)]
    assert automaton.feed(PromptArrived(4)) == [Hold(4)]
    assert automaton.feed(HandlerFinished()) == [CANCELLED, Insert(4, BEGUN)]


@rows(("rule", "now"), [("end", []), ("insertion", [AnswerWithdrawn(2)])])
def test_a_second_cancel_drops_what_came_after_the_first_and_bothers_the_handler_no_more(
    rule: AnswerRule, now: list[Output]
) -> None:
    inputs = (PromptArrived(1), PromptInserted(1), CancelRequested(), PromptArrived(2), CancelRequested())
    assert told(*inputs, rule=rule) == now
    assert Insert(2, BEGUN) not in told(*inputs, HandlerCancelled(), rule=rule)


def test_a_held_prompt_can_be_withdrawn_alone() -> None:
    inputs = (PromptArrived(1), PromptInserted(1), PromptArrived(2), PromptArrived(3), PromptWithdrawn(2))
    assert told(*inputs, rule="insertion") == [AnswerWithdrawn(2)]
    assert told(*inputs, rule="end") == [AnswerStopped(2, "cancelled")]
    assert told(*inputs, HandlerFinished(), rule="insertion") == [ENDED, Insert(3, BEGUN)]


def test_withdrawing_the_running_prompt_of_v1_leaves_the_held_ones() -> None:
    inputs = (PromptArrived(1), PromptInserted(1), PromptArrived(2), PromptWithdrawn(1), HandlerCancelled())
    assert told(*inputs, rule="end") == [CANCELLED, AnswerStopped(1, "cancelled"), Insert(2, BEGUN)]


@rows("rule", RULES)
def test_work_without_a_prompt_is_told_and_answered_to_nobody(rule: AnswerRule) -> None:
    assert told(WorkStarted(), HandlerFinished(), rule=rule) == [ENDED]
    assert told(WorkStarted(), CancelRequested(), HandlerCancelled(), rule=rule) == [CANCELLED]
    assert told(WorkStarted(), PromptArrived(1), HandlerFinished(), rule=rule) == [ENDED, Insert(1, BEGUN)]


@rows("rule", RULES)
def test_only_the_last_answer_that_all_work_waits_for_lets_it_run_on(rule: AnswerRule) -> None:
    automaton = TurnAutomaton(rule)
    for each in (PromptArrived(1), PromptInserted(1)):
        automaton.feed(each)

    assert automaton.feed(QuestionOpened("aside", blocking=False)) == []
    assert automaton.feed(QuestionOpened("a")) == [WAITING]
    assert automaton.feed(QuestionOpened("b")) == []
    assert automaton.feed(QuestionOpened("b")) == [Illegal("requires_action", QuestionOpened("b"))]
    assert automaton.feed(QuestionAnswered("a")) == []
    assert automaton.feed(QuestionAnswered("b")) == [RUNNING]
    assert automaton.feed(QuestionAnswered("b")) == []
    assert automaton.feed(CancelRequested()) == [Retire(("aside",)), CancelHandler()]
    # v2 rule A52: what is answered too late revives nothing.
    assert automaton.feed(QuestionAnswered("aside")) == []


def test_an_answer_to_nothing_while_the_user_is_asked_changes_nothing() -> None:
    inputs = (PromptArrived(1), PromptInserted(1), QuestionOpened("a"), QuestionAnswered("never asked"))
    assert told(*inputs, rule="insertion") == []


@rows("rule", RULES)
def test_once_reported_the_background_is_part_of_every_report(rule: AnswerRule) -> None:
    automaton = TurnAutomaton(rule)
    assert automaton.snapshot() == StateChanged("idle")
    for each in (PromptArrived(1), PromptInserted(1), BackgroundChanged((BUILD,)), BackgroundChanged((BUILD,))):
        outputs = automaton.feed(each)
    assert outputs == []

    assert automaton.feed(HandlerFinished())[0] == PublishState(StateChanged("idle", "end_turn", background=[BUILD]))
    assert automaton.feed(BackgroundChanged()) == [PublishState(StateChanged("idle", "end_turn", background=[]))]
    assert automaton.snapshot() == StateChanged("idle", "end_turn", background=[])


@rows("rule", RULES)
def test_a_cancel_leaves_the_background_alone_and_a_close_waits_for_its_end(rule: AnswerRule) -> None:
    automaton = TurnAutomaton(rule)
    for each in (PromptArrived(1), PromptInserted(1), BackgroundChanged((BUILD,))):
        automaton.feed(each)

    assert automaton.feed(CancelRequested()) == [CancelHandler()]
    assert automaton.feed(CloseRequested()) == [StopBackground()]
    assert automaton.feed(HandlerCancelled())[0] == PublishState(StateChanged("idle", "cancelled", background=[BUILD]))
    assert automaton.state == "closing"
    assert automaton.feed(HandlerCancelled()) == [Illegal("closing", HandlerCancelled())]
    assert automaton.feed(BackgroundChanged()) == [
        PublishState(StateChanged("idle", "cancelled", background=[])),
        SessionEnded(),
    ]


@rows("rule", RULES)
def test_a_background_that_changes_while_a_prompt_is_inserted_leaves_no_log_that_says_idle(rule: AnswerRule) -> None:
    begun = PublishState(StateChanged("running", background=[BUILD]))
    assert begun in told(PromptArrived(1), BackgroundChanged((BUILD,)), PromptInserted(1), rule=rule)


@rows(
    ("rule", "now", "then"),
    [
        (
            "end",
            [],
            [INSERTED, CANCELLED, AnswerStopped(1, "cancelled"), AnswerStopped(2, "cancelled"), SessionEnded()],
        ),
        ("insertion", [AnswerWithdrawn(2)], [AnswerInserted(1), INSERTED, CANCELLED, SessionEnded()]),
    ],
)
def test_a_close_during_an_insertion_waits_for_it(rule: AnswerRule, now: list[Output], then: list[Output]) -> None:
    inputs = (PromptArrived(1), PromptArrived(2), CloseRequested())
    assert told(*inputs, rule=rule) == now
    assert told(*inputs, PromptInserted(1), rule=rule) == then
    assert told(*inputs, InsertionFailed(1, BROKEN), rule=rule)[-1] == SessionEnded()


@rows("rule", RULES)
@rows(
    "inputs",
    [
        (PromptArrived(1), PromptInserted(2)),
        (PromptArrived(1), InsertionFailed(2, BROKEN)),
        (PromptArrived(1), PromptArrived(1)),
        (PromptArrived(1), PromptArrived(2), PromptArrived(2)),
        (PromptArrived(1), CancelRequested(), PromptInserted(2)),
        (PromptArrived(1), CancelRequested(), InsertionFailed(2, BROKEN)),
        (PromptArrived(1), CancelRequested(), HandlerCancelled()),
        (PromptArrived(1), PromptInserted(1), CancelRequested(), PromptInserted(1)),
    ],
)
def test_what_cannot_happen_is_a_value_and_changes_nothing(inputs: tuple[Input, ...], rule: AnswerRule) -> None:
    automaton = TurnAutomaton(rule)
    for each in inputs[:-1]:
        automaton.feed(each)
    before = (automaton.state, automaton.snapshot())

    assert automaton.feed(inputs[-1]) == [Illegal(before[0], inputs[-1])]
    assert (automaton.state, automaton.snapshot()) == before


# --- whatever order things happen in


class Session(RuleBasedStateMachine):
    """One who carries out every output, and checks what was promised about them."""

    rule_of_answers: AnswerRule

    def __init__(self) -> None:
        super().__init__()
        self.automaton = TurnAutomaton(self.rule_of_answers)
        self.arrived: list[int] = []
        self.answers: dict[int, Output] = {}
        self.inserts: list[int] = []
        self.inserting: int | None = None
        self.started: list[int] = []
        self.working = False
        self.handler_cancelled = False
        self.questions: set[int] = set()
        self.asked = 0
        self.tells: list[StateChanged] = [StateChanged("idle")]
        self.background: tuple[Background, ...] = ()
        self.closed = False
        self.cancelled_at: int | None = None

    def feed(self, event: Input) -> list[Output]:
        outputs = self.automaton.feed(event)
        for output in outputs:
            self.carry_out(output)
        return outputs

    def carry_out(self, output: Output) -> None:
        match output:
            case Insert() | Start() | CancelHandler():
                self.work_on(output)
            case PublishState(state):
                assert not self.closed
                assert state != self.tells[-1]
                self.tells.append(state)
            case Retire(questions):
                retired = set(typing.cast("tuple[int, ...]", questions))
                assert retired
                assert retired <= self.questions
                self.questions -= retired
            case SessionEnded():
                assert not self.working
                assert self.inserting is None
                assert not self.background
                self.closed = True
            case Hold() | StopBackground():
                pass
            case _:
                self.note_answer(output)

    def work_on(self, output: Insert | Start | CancelHandler) -> None:
        if isinstance(output, CancelHandler):
            assert self.working
            assert not self.handler_cancelled
            self.handler_cancelled = True
            return
        assert isinstance(output.prompt, int)
        assert self.inserting is None
        assert not self.working
        assert not self.closed
        if isinstance(output, Insert):
            self.inserting = output.prompt
            self.inserts.append(output.prompt)
        else:
            self.working, self.handler_cancelled = True, False
            self.started.append(output.prompt)

    def note_answer(self, output: Output) -> None:
        assert isinstance(output, AnswerInserted | AnswerStopped | AnswerFailed | AnswerWithdrawn | AnswerClosed)
        assert isinstance(output.prompt, int)
        assert output.prompt not in self.answers
        self.answers[output.prompt] = output

    # --- the client

    @rule()
    def prompt(self) -> None:
        self.arrived.append(len(self.arrived))
        self.feed(PromptArrived(self.arrived[-1]))

    @precondition(lambda self: self.arrived)
    @rule(data=st.data())
    def withdraw(self, data: st.DataObject) -> None:
        self.feed(PromptWithdrawn(data.draw(st.sampled_from(self.arrived))))

    @rule()
    def cancel(self) -> None:
        before = set(self.arrived)
        self.feed(CancelRequested())
        # None of those that were held is ever worked on.
        self.cancelled_at = max(before, default=None)

    @precondition(lambda self: self.questions)
    @rule(data=st.data())
    def answer(self, data: st.DataObject) -> None:
        question = data.draw(st.sampled_from(sorted(self.questions)))
        self.questions.discard(question)
        self.feed(QuestionAnswered(question))

    @rule(ending=st.sampled_from([CloseRequested(), ClientLost()]), really=st.integers(0, 9))
    def close(self, ending: Input, really: int) -> None:
        if really == 0:
            self.feed(ending)

    # --- the agent

    @precondition(lambda self: self.inserting is not None)
    @rule(fails=st.booleans())
    def end_of_insertion(self, *, fails: bool) -> None:
        assert self.inserting is not None
        prompt, self.inserting = self.inserting, None
        outputs = self.feed(InsertionFailed(prompt, BROKEN) if fails else PromptInserted(prompt))
        if self.cancelled_at is not None and prompt <= self.cancelled_at:
            assert Start(prompt) not in outputs

    @precondition(lambda self: self.working)
    @rule(
        ending=st.sampled_from(
            [HandlerFinished(), HandlerFinished("refusal"), HandlerFailed(BROKEN), HandlerCancelled()]
        )
    )
    def end_of_work(self, ending: Input) -> None:
        was_cancelled, self.working = self.handler_cancelled, False
        outputs = self.feed(ending)
        if was_cancelled:
            assert [each.state.stop_reason for each in outputs if isinstance(each, PublishState)] == ["cancelled"]
        assert not self.questions

    @precondition(lambda self: self.automaton.state == "idle")
    @rule()
    def work_unasked(self) -> None:
        self.working, self.handler_cancelled = True, False
        self.feed(WorkStarted())

    @precondition(lambda self: self.working)
    @rule(blocking=st.booleans())
    def ask(self, *, blocking: bool) -> None:
        self.asked += 1
        self.questions.add(self.asked)
        self.feed(QuestionOpened(self.asked, blocking=blocking))

    @precondition(lambda self: not self.closed)
    @rule(names=st.sets(st.sampled_from(["build", "watch"])))
    def go_on_beside(self, names: set[str]) -> None:
        self.background = tuple(Background("terminal", name) for name in sorted(names))
        self.feed(BackgroundChanged(self.background))

    # --- what was promised

    @invariant()
    def prompts_are_inserted_in_the_order_of_arrival(self) -> None:
        assert self.inserts == sorted(set(self.inserts))
        assert self.started == sorted(set(self.started))

    @invariant()
    def the_state_that_was_told_is_the_state(self) -> None:
        shown = self.tells[-1].state
        assert self.automaton.snapshot() == self.tells[-1]
        state = self.automaton.state
        assert {"idle": "idle", "inserting": "idle", "running": "running"}.get(state, shown) == shown
        assert (shown == "idle") is not self.working

    @invariant()
    def a_cancelled_handler_waits_for_no_answer(self) -> None:
        assert not (self.handler_cancelled and self.working and self.questions)

    @invariant()
    def what_an_answer_says_fits_the_rule(self) -> None:
        for prompt, answer in self.answers.items():
            if self.rule_of_answers == "end":
                assert not isinstance(answer, AnswerInserted | AnswerWithdrawn)
            else:
                assert not isinstance(answer, AnswerStopped)
                # v2 rule A36: an error means that it was not inserted.
                assert isinstance(answer, AnswerInserted) or prompt not in self.started

    def teardown(self) -> None:
        """Let everything come to its end: every prompt has its answer, and the session is idle or closed."""
        self.feed(CancelRequested())
        for _ in range(3):
            if self.inserting is not None:
                self.end_of_insertion(fails=False)
            if self.working:
                self.working = False
                self.feed(HandlerCancelled())
        if self.automaton.state == "closing":
            self.background = ()
            self.feed(BackgroundChanged())
        assert self.automaton.state == ("closed" if self.closed else "idle")
        assert sorted(self.answers) == self.arrived


class SessionUnderTheRuleOfTheEnd(Session):
    rule_of_answers: AnswerRule = "end"


class SessionUnderTheRuleOfInsertion(Session):
    rule_of_answers: AnswerRule = "insertion"


TestTheRuleOfTheEnd = SessionUnderTheRuleOfTheEnd.TestCase
TestTheRuleOfTheEnd.settings = settings(max_examples=30, stateful_step_count=30, deadline=None)
TestTheRuleOfInsertion = SessionUnderTheRuleOfInsertion.TestCase
TestTheRuleOfInsertion.settings = settings(max_examples=30, stateful_step_count=30, deadline=None)
