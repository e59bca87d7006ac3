"""The peer: whatever happens in whatever order, each call settles once and each request is answered once."""

from __future__ import annotations

import pytest
from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from accord.errors import LocalProtocolError
from accord.jsonrpc.message import RequestId
from accord.jsonrpc.pending import PendingRequests

# Few, so that they meet: numbers beside the strings that look like them.
THEIR_IDS: list[RequestId] = [0, 1, 2, -1, "0", "1", "2", "", "\ud83d"]
NEVER_OURS: list[RequestId] = [None, -1, 2**40, "0", "1", "", "x"]


class Endpoint(RuleBasedStateMachine):
    """A peer beside the plainest model of it: what was made, what waits, what is open."""

    def __init__(self) -> None:
        super().__init__()
        self.peer: PendingRequests[str, str] = PendingRequests()
        self.made: list[int] = []
        self.waiting: dict[int, str] = {}
        self.settled: list[str] = []
        self.open: dict[RequestId, str] = {}
        self.arrived = 0

    # --- our calls

    @rule()
    def call(self) -> None:
        id_ = self.peer.next_id()
        assert id_ not in self.made
        self.made.append(id_)
        self.waiting[id_] = f"call {id_}"
        self.peer.wait(id_, self.waiting[id_])

    @rule()
    def take_an_id_and_fail_to_send(self) -> None:
        self.made.append(self.peer.next_id())

    @precondition(lambda self: self.made)
    @rule(data=st.data())
    def settle(self, data: st.DataObject) -> None:
        id_ = data.draw(st.sampled_from(self.made))
        expected = self.waiting.pop(id_, "late")
        outcome = self.peer.settle(id_)
        assert outcome == expected
        if outcome != "late":
            self.settled.append(outcome)

    @rule(id_=st.sampled_from(NEVER_OURS))
    def answer_to_what_was_never_called(self, id_: RequestId) -> None:
        assert self.peer.settle(id_) == "unknown"
        assert self.peer.waiting(id_) is None

    @rule()
    def answer_to_a_call_of_the_future(self) -> None:
        assert self.peer.settle(len(self.made)) == "unknown"

    @rule()
    def lose_the_link(self) -> None:
        lost = self.peer.settle_all()
        assert lost == list(self.waiting.values())
        self.settled += lost
        self.waiting.clear()

    # --- requests of the other side

    @rule(id_=st.sampled_from(THEIR_IDS))
    def request(self, id_: RequestId) -> None:
        self.arrived += 1
        token = f"request {self.arrived}"
        assert self.peer.open(id_, token) == (id_ not in self.open)
        self.open.setdefault(id_, token)

    @rule(id_=st.sampled_from(THEIR_IDS))
    def answer(self, id_: RequestId) -> None:
        if self.open.pop(id_, None) is not None:
            self.peer.answer(id_)
        else:
            with pytest.raises(LocalProtocolError):
                self.peer.answer(id_)

    @rule()
    def request_under_null(self) -> None:
        assert self.peer.open(None, "nameless")
        assert self.peer.open(None, "another")
        assert self.peer.opened(None) is None
        self.peer.answer(None)
        self.peer.answer(None)

    # --- what always holds

    @invariant()
    def no_call_is_settled_twice(self) -> None:
        assert len(set(self.settled)) == len(self.settled)

    @invariant()
    def every_call_that_is_not_settled_waits(self) -> None:
        assert self.peer.calls == len(self.waiting)
        assert {id_: self.peer.waiting(id_) for id_ in self.waiting} == self.waiting

    @invariant()
    def a_duplicate_never_takes_the_place_of_the_open_request(self) -> None:
        assert [self.peer.opened(id_) for id_ in THEIR_IDS] == [self.open.get(id_) for id_ in THEIR_IDS]


Endpoint.TestCase.settings = settings(deadline=None, max_examples=40, stateful_step_count=40)
TestAnyOrderOfEvents = Endpoint.TestCase


def test_an_answer_settles_its_call_and_the_next_one_is_late() -> None:
    peer: PendingRequests[str, str] = PendingRequests()
    id_ = peer.next_id()
    peer.wait(id_, "the call")

    assert peer.settle(id_) == "the call"
    assert peer.settle(id_) == "late"


def test_an_answer_under_an_id_that_was_never_used_is_unknown() -> None:
    peer: PendingRequests[str, str] = PendingRequests()
    peer.wait(peer.next_id(), "the call")

    assert [peer.settle(id_) for id_ in (1, -1, "0", None)] == ["unknown"] * 4
    assert peer.settle(0) == "the call"


def test_looking_at_a_call_leaves_it_waiting() -> None:
    peer: PendingRequests[str, str] = PendingRequests()
    peer.wait(peer.next_id(), "the call")

    assert peer.waiting(0) == "the call"
    assert peer.calls == 1


def test_ids_of_the_two_directions_do_not_meet() -> None:
    peer: PendingRequests[str, str] = PendingRequests()
    peer.wait(peer.next_id(), "ours")

    assert peer.open(0, "theirs")
    peer.answer(0)
    assert peer.settle(0) == "ours"


def test_a_second_request_under_an_open_id_is_refused_and_the_first_stays() -> None:
    peer: PendingRequests[str, str] = PendingRequests()

    assert peer.open(1, "first")
    assert not peer.open(1, "second")
    assert peer.opened(1) == "first"


def test_a_number_and_the_string_that_looks_like_it_are_two_ids() -> None:
    peer: PendingRequests[str, str] = PendingRequests()

    assert peer.open(1, "number")
    assert peer.open("1", "string")
    peer.answer("1")
    assert peer.opened(1) == "number"


def test_an_id_may_be_used_again_after_its_answer() -> None:
    peer: PendingRequests[str, str] = PendingRequests()
    peer.open("a", "first")
    peer.answer("a")

    assert peer.open("a", "second")
    assert peer.opened("a") == "second"


def test_a_second_answer_is_our_own_fault() -> None:
    peer: PendingRequests[str, str] = PendingRequests()
    peer.open("a", "a request")
    peer.answer("a")

    with pytest.raises(LocalProtocolError):
        peer.answer("a")


def test_requests_under_null_may_repeat_and_cannot_be_found() -> None:
    peer: PendingRequests[str, str] = PendingRequests()

    assert peer.open(None, "one")
    assert peer.open(None, "two")
    assert peer.opened(None) is None
    peer.answer(None)


def test_when_the_link_is_gone_every_waiting_call_settles_once() -> None:
    peer: PendingRequests[str, str] = PendingRequests()
    for name in ("a", "b", "c"):
        peer.wait(peer.next_id(), name)
    peer.settle(1)

    assert peer.settle_all() == ["a", "c"]
    assert peer.settle_all() == []
    assert [peer.settle(id_) for id_ in range(3)] == ["late"] * 3
