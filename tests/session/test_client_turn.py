"""The client's half of a turn: the table cell by cell, both rules as stories, and any order in which things happen."""

from __future__ import annotations

import typing

from hypothesis import given, strategies as st

from accord.session.client_turn import (
    PROMPT_STATES,
    PROMPT_TABLE,
    Abandoned,
    Accepted,
    ClientTurns,
    EndTurn,
    MaySend,
    PromptEcho,
    PromptInput,
    PromptOutput,
    PromptState,
    Refused,
    SendStarted,
    ShowPrompt,
    ShowState,
    StateReported,
    Submitted,
)
from accord.session.content import Block, Link, Text
from accord.session.event import MessageChunk, StateChanged, WorkError
from accord.session.turn import AnswerRule
from tests.tables import rows

BROKEN = WorkError(-32603, "Internal error")
RUNNING = StateReported(StateChanged("running"))
IDLE = StateReported(StateChanged("idle", "max_tokens"))
FAILED = StateReported(StateChanged("idle", "error"))

Story = list[PromptInput[str]]
REACHED_BY: dict[PromptState, tuple[AnswerRule, Story]] = {
    "queued": ("end", [Submitted("first"), Submitted("p")]),
    "ready": ("insertion", [Submitted("p")]),
    "awaiting_end": ("end", [Submitted("p"), SendStarted("p")]),
    "sent": ("insertion", [Submitted("p"), SendStarted("p")]),
    "behind": ("insertion", [RUNNING, Submitted("p"), SendStarted("p")]),
    "working": ("insertion", [Submitted("p"), SendStarted("p"), RUNNING]),
    "ended_early": ("insertion", [Submitted("p"), SendStarted("p"), RUNNING, IDLE]),
    "inserted": ("insertion", [Submitted("p"), SendStarted("p"), Accepted("p")]),
    "running": ("insertion", [Submitted("p"), SendStarted("p"), Accepted("p"), RUNNING]),
    "over": ("insertion", []),
}
INPUTS: dict[str, PromptInput[str]] = {
    "SendStarted": SendStarted("p"),
    "Accepted": Accepted("p"),
    "Refused": Refused("p", BROKEN),
    "Abandoned": Abandoned("p"),
    "work": RUNNING,
    "idle": IDLE,
}

# Where each cell leads and what it puts out; the other cells change nothing.
CELLS: dict[tuple[str, PromptState], tuple[PromptState, list[PromptOutput[str]]]] = {
    ("SendStarted", "ready"): ("sent", []),
    ("Accepted", "awaiting_end"): (
        "over",
        [ShowState("p", StateChanged("idle", "end_turn")), EndTurn("p", "end_turn")],
    ),
    ("Accepted", "sent"): ("inserted", []),
    ("Accepted", "behind"): ("running", []),
    ("Accepted", "working"): ("running", []),
    ("Accepted", "ended_early"): ("over", [EndTurn("p", "max_tokens")]),
    ("Refused", "awaiting_end"): ("over", [ShowState("p", StateChanged("idle", "error", BROKEN))]),
    ("Refused", "sent"): ("over", []),
    ("Refused", "behind"): ("over", []),
    ("Refused", "working"): ("over", []),
    ("Refused", "ended_early"): ("over", []),
    ("Abandoned", "queued"): ("over", []),
    ("Abandoned", "ready"): ("over", []),
    ("Abandoned", "awaiting_end"): ("over", [ShowState("p", StateChanged("idle", "error"))]),
    ("Abandoned", "sent"): ("over", []),
    ("Abandoned", "behind"): ("over", []),
    ("Abandoned", "working"): ("over", []),
    ("Abandoned", "ended_early"): ("over", []),
    ("Abandoned", "inserted"): ("over", []),
    ("Abandoned", "running"): ("over", []),
    ("work", "sent"): ("working", []),
    ("work", "ended_early"): ("working", []),
    ("work", "inserted"): ("running", []),
    ("idle", "behind"): ("sent", []),
    ("idle", "working"): ("ended_early", []),
    ("idle", "running"): ("over", [EndTurn("p", "max_tokens")]),
}


def after(rule: AnswerRule, story: Story) -> ClientTurns[str]:
    turns: ClientTurns[str] = ClientTurns(rule)
    for event in story:
        turns.feed(event)
    return turns


def outputs(rule: AnswerRule, story: Story) -> list[PromptOutput[str]]:
    """All that comes out of a story."""
    turns: ClientTurns[str] = ClientTurns(rule)
    return [output for event in story for output in turns.feed(event)]


def test_the_table_has_a_cell_for_every_input_in_every_state() -> None:
    assert typing.get_args(PromptState) == PROMPT_STATES == tuple(REACHED_BY)
    names = {key if isinstance(key, str) else key.__name__ for key in PROMPT_TABLE}
    assert names == set(INPUTS)
    assert {len(row) for row in PROMPT_TABLE.values()} == {len(PROMPT_STATES)}


@rows("state", PROMPT_STATES)
@rows("name", INPUTS)
def test_a_cell_leads_where_the_table_says(name: str, state: PromptState) -> None:
    rule, story = REACHED_BY[state]
    turns = after(rule, story)
    assert turns.state_of("p") == state
    leads_to, puts_out = CELLS.get((name, state), (state, []))
    assert turns.feed(INPUTS[name]) == puts_out
    assert turns.state_of("p") == leads_to


def test_where_the_answer_ends_the_turn_prompts_are_sent_one_after_the_other() -> None:
    story: Story = [Submitted("a"), Submitted("b"), SendStarted("a"), Accepted("a", "refusal"), SendStarted("b")]
    assert outputs("end", story) == [
        MaySend("a"),
        ShowPrompt("a"),
        ShowState("a", StateChanged("running")),
        ShowState("a", StateChanged("idle", "refusal")),
        EndTurn("a", "refusal"),
        MaySend("b"),
        ShowPrompt("b"),
        ShowState("b", StateChanged("running")),
    ]


def test_a_prompt_that_is_withdrawn_before_it_was_sent_lets_the_next_pass() -> None:
    assert outputs("end", [Submitted("a"), Submitted("b"), Submitted("c"), Abandoned("b"), Abandoned("a")]) == [
        MaySend("a"),
        MaySend("c"),
    ]


def test_where_states_report_the_end_prompts_are_sent_at_once() -> None:
    story: Story = [Submitted("a"), Submitted("b"), SendStarted("a"), SendStarted("b")]
    assert outputs("insertion", story) == [MaySend("a"), MaySend("b")]
    assert after("insertion", story).sent == ["a", "b"]


def test_the_idle_that_ends_earlier_work_does_not_end_the_prompt() -> None:
    ours = StateReported(StateChanged("idle", "refusal"))
    story: Story = [RUNNING, Submitted("a"), SendStarted("a"), IDLE, Accepted("a"), RUNNING, ours]
    assert outputs("insertion", story) == [MaySend("a"), EndTurn("a", "refusal")]


def test_work_that_the_agent_reports_as_failed_ends_with_its_error() -> None:
    sent: Story = [Submitted("a"), SendStarted("a"), Accepted("a"), RUNNING]
    (end,) = after("insertion", sent).feed(FAILED)
    assert isinstance(end, EndTurn)
    assert (end.stop_reason, end.error and end.error.code) == ("error", -32603)
    (end,) = after("insertion", sent).feed(StateReported(StateChanged("idle", "error", BROKEN)))
    assert isinstance(end, EndTurn)
    assert end.error is BROKEN


def test_what_the_user_stopped_does_not_run_and_what_she_sends_afterwards_does() -> None:
    turns = after("insertion", [Submitted("a"), SendStarted("a"), Submitted("b")])
    turns.stop()
    turns.feed(SendStarted("b"))
    assert (turns.sent, turns.running, turns.unsent) == (["a", "b"], ["b"], [])
    assert not turns.is_cancelling, "only the agent knows which work a question belongs to"


CANCELLED = StateReported(StateChanged("idle", "cancelled"))


@rows("story", [[Accepted("a"), CANCELLED], [CANCELLED, Accepted("a")], [Accepted("a"), IDLE]])
def test_a_prompt_that_was_stopped_before_its_work_began_ends_with_the_next_idle(story: Story) -> None:
    turns = after("insertion", [Submitted("a"), SendStarted("a")])
    turns.stop()
    assert [output for event in story for output in turns.feed(event)] == [EndTurn("a", "cancelled")]


def test_a_prompt_that_was_stopped_and_whose_work_begins_all_the_same_ends_with_that_work() -> None:
    turns = after("insertion", [Submitted("a"), SendStarted("a")])
    turns.stop()
    assert [output for event in (CANCELLED, RUNNING, Accepted("a")) for output in turns.feed(event)] == []
    assert turns.feed(IDLE) == [EndTurn("a", "max_tokens")]


def test_an_idle_before_the_work_says_nothing_about_a_prompt_that_was_sent_after_the_stop() -> None:
    turns = after("insertion", [Submitted("a"), SendStarted("a"), Submitted("b")])
    turns.stop()
    turns.feed(SendStarted("b"))
    turns.feed(Accepted("b"))
    assert turns.feed(CANCELLED) == []
    assert turns.state_of("b") == "inserted"


def test_questions_of_a_stopped_turn_are_cancelled_until_its_answer() -> None:
    turns = after("end", [Submitted("a"), SendStarted("a"), Submitted("b")])
    assert not turns.is_cancelling
    turns.stop()
    assert turns.is_cancelling
    turns.feed(Accepted("a", "cancelled"))
    turns.feed(SendStarted("b"))
    assert not turns.is_cancelling


EVENTS = st.one_of(
    st.builds(Submitted, st.sampled_from("abcdef")),
    st.builds(SendStarted, st.sampled_from("abcdef")),
    st.builds(Accepted, st.sampled_from("abcdef"), st.sampled_from(["end_turn", None])),
    st.builds(Refused, st.sampled_from("abcdef"), st.just(BROKEN)),
    st.builds(Abandoned, st.sampled_from("abcdef")),
    st.sampled_from([RUNNING, IDLE, FAILED]),
)


@given(st.sampled_from(["end", "insertion"]), st.lists(EVENTS, max_size=40))
def test_in_any_order_a_prompt_is_let_go_and_ends_at_most_once_and_nothing_waits_for_ever(
    rule: AnswerRule, story: list[PromptInput[str]]
) -> None:
    turns: ClientTurns[str] = ClientTurns(rule)
    submitted: set[str] = set()
    let_go: list[str] = []
    ended: list[str] = []
    for event in story:
        if isinstance(event, Submitted):
            if event.prompt in submitted:
                continue
            submitted.add(event.prompt)
        for output in turns.feed(event):
            if isinstance(output, MaySend):
                let_go.append(output.prompt)
            elif isinstance(output, EndTurn):
                ended.append(output.prompt)
                assert turns.state_of(output.prompt) == "over"
        if rule == "end":
            assert len(turns.sent) <= 1
        live = [*turns.sent, *turns.unsent]
        assert not live or any(turns.state_of(prompt) != "queued" for prompt in live), "somebody can always go on"
    assert len(let_go) == len(set(let_go))
    assert len(ended) == len(set(ended))
    assert set(ended) <= set(let_go)


def test_a_repeated_prompt_is_recognised_however_it_is_cut() -> None:
    prompt: list[Block] = [Text("fix "), Link("file:///a", "a"), Text("it")]
    echo = PromptEcho(prompt)
    assert all(echo.takes(MessageChunk("user", Text(part))) for part in ("f", "ix i", "t"))
    assert not echo


def test_what_is_not_the_prompt_ends_the_repetition() -> None:
    echo = PromptEcho([Text("fix it")])
    assert echo.takes(MessageChunk("user", Text("fix")))
    assert not echo.takes(MessageChunk("user", Text("no")))
    assert not echo.takes(MessageChunk("user", Text(" it")))
