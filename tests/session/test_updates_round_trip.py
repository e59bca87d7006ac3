"""Events of an agent reach a client unchanged in every edition, up to the table in docs/editions.md."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import HealthCheck, given, settings, strategies as st

from accord.session.content import Text
from accord.session.downgrade import with_explicit_nulls
from accord.session.event import (
    CompactionChanged,
    CompactionChunk,
    Event,
    MessageChunk,
    StateChanged,
    ToolChanged,
    ToolContentAdded,
)
from accord.session.git_patch import operation_of
from accord.session.tool import Diff, Shown, ToolContent
from tests.session.editions import JUNE, PLAIN, V1, V2
from tests.session.events import (
    blocks,
    happenings,
    icons,
    modes,
    named_messages,
    states,
    unnamed_messages,
)
from tests.session.folding import picture, without_toggles
from tests.tables import rows

profile = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))

old_blocks = blocks(st.none())
old_happenings = happenings(old_blocks) | modes
named = st.lists(named_messages(old_blocks) | old_happenings | states, max_size=10)
unnamed = st.lists(unnamed_messages(old_blocks) | old_happenings, max_size=10)


def without_compaction(events: list[Event]) -> list[Event]:
    return [event for event in events if not isinstance(event, CompactionChanged | CompactionChunk)]


@profile
@given(named | unnamed)
def test_v1_says_all_to_a_client_that_can_show_all(events: list[Event]) -> None:
    assert picture(V1.received(events), clears=False) == picture(events, clears=False)


@profile
@given(named | unnamed)
def test_v1_says_all_but_compaction_and_toggles_to_a_plain_client(events: list[Event]) -> None:
    expected = without_compaction(without_toggles(events))
    assert picture(V1.received(events, PLAIN), clears=False) == picture(expected, clears=False)


@profile
@given(named | unnamed)
def test_june_says_all_but_compaction_and_toggles(events: list[Event]) -> None:
    expected = without_compaction(without_toggles(events))
    heard = picture(JUNE.received(events))
    # A mode that no option stands for has no words.
    assert {**heard, "mode": None} == {**picture(expected), "mode": None}


@rows("edition", [V2, JUNE])
def test_news_of_an_older_call_does_not_part_a_message_without_an_id_and_a_new_call_does(edition: Any) -> None:
    said = MessageChunk("agent", Text("0"))
    old: list[Event] = [ToolChanged("1"), said, ToolContentAdded("1", Shown(Text("x"))), ToolChanged("1"), said]
    assert picture(edition.received(old))["messages"] == [("agent", [Text("00")])]
    for new in (ToolChanged("2", status="in_progress"), ToolChanged("2", status="completed")):
        heard = edition.received([*old, new, said])
        assert picture(heard)["messages"] == [("agent", [Text("00")]), ("agent", [Text("0")])]


@rows("edition", [V1, V2, JUNE])
def test_a_call_that_is_only_announced_does_not_part_a_message_without_an_id(edition: Any) -> None:
    said = MessageChunk("agent", Text("0"))
    for new in (ToolChanged("1"), ToolChanged("1", status="pending", created=True)):
        announced: list[Event] = [said, new, said]
        assert picture(edition.received(announced))["messages"] == [("agent", [Text("00")])]
        heard = edition.received([*announced, ToolChanged("1", status="completed"), said])
        assert picture(heard)["messages"] == [("agent", [Text("00")]), ("agent", [Text("0")])]


class Meant:
    """The events as v2 must bring them: the same, up to what the table names."""

    def __init__(self) -> None:
        self.calls: set[str] = set()
        self.options: list[Any] = []

    def __call__(self, event: Event) -> list[Event]:
        if isinstance(event, ToolChanged):
            return [self.tool(event)]
        if isinstance(event, ToolContentAdded):
            self.calls.add(event.id)
            return [msgspec.structs.replace(event, content=self.item(event.content))]
        if isinstance(event, StateChanged) and event.state != "idle":
            return [msgspec.structs.replace(event, stop_reason=None, error=None)]
        return [event]

    def tool(self, event: ToolChanged) -> ToolChanged:
        known = event.id in self.calls
        self.calls.add(event.id)
        if event.created and known:
            event = with_explicit_nulls(event)
        if event.content:
            event = msgspec.structs.replace(event, content=[self.item(item) for item in event.content])
        return msgspec.structs.replace(event, created=False)

    def item(self, item: ToolContent) -> ToolContent:
        if not isinstance(item, Diff):
            return item
        changes = [msgspec.structs.replace(change, operation=operation_of(change)) for change in item.changes]
        return msgspec.structs.replace(item, changes=changes)


@profile
@given(st.lists(named_messages(blocks(icons)) | happenings(blocks(icons)) | states, max_size=8))
def test_v2_brings_every_event_as_it_is(events: list[Event]) -> None:
    meant = Meant()
    assert V2.received(events) == [told for event in events for told in meant(event)]


@profile
@given(st.lists(unnamed_messages(old_blocks) | old_happenings | states, max_size=8))
def test_v2_and_june_name_messages_that_have_no_id(events: list[Event]) -> None:
    for talk in (V2, JUNE):
        heard = talk.received(events)
        assert picture(heard)["messages"] == picture(events)["messages"]
        assert all(event.id for event in heard if isinstance(event, MessageChunk))


@profile
@given(st.lists(named_messages(old_blocks) | modes | old_happenings, max_size=8))
def test_v2_shows_what_the_events_show(events: list[Event]) -> None:
    assert {**picture(V2.received(events)), "mode": None} == {**picture(events), "mode": None}
