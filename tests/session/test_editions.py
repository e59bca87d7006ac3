"""Properties of all dialects: every event has an encoder in every edition, one table of names serves both ways."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from accord.protocol import v1, v2
from accord.protocol.model import UNSET
from accord.session.client_requests import CancelTool, Done
from accord.session.dialect import DIALECTS, Dialect
from accord.session.editions.shared.bindings import bind, decoder, encoder, names
from accord.session.editions.shared.encoder import METHODS, EditionEncoder
from accord.session.event import Event
from tests.tables import rows

every_dialect = rows("dialect", [each.dialect() for each in DIALECTS])


def test_every_event_has_a_method_of_the_encoders() -> None:
    assert set(METHODS) == set(get_args(Event))


def test_an_edition_that_forgets_an_event_cannot_be_defined() -> None:
    with pytest.raises(AttributeError, match="_chunk"):
        type("Forgetful", (EditionEncoder,), {"types": v1})


@every_dialect
def test_a_method_is_bound_by_the_side_that_serves_it(dialect: Dialect) -> None:
    assert {binding.method.side for binding in (*dialect.agent_bindings, *dialect.draft_bindings)} == {"agent"}
    assert {binding.method.side for binding in dialect.client_bindings} == {"client"}


@every_dialect
def test_every_method_that_is_bound_is_in_the_table_of_its_edition(dialect: Dialect) -> None:
    stable = (*dialect.agent_bindings, *dialect.client_bindings)
    assert {binding.method for binding in stable} <= set(dialect.edition.methods)
    assert {binding.method for binding in dialect.draft_bindings} <= set(dialect.edition.with_drafts.methods)


FIELDS = names("session_id", tool_id="tool_call_id")


@rows("meta", [None, {"k": 1}])
def test_fields_are_renamed_both_ways(meta: dict[str, Any] | None) -> None:
    ask = CancelTool("s", "c", meta)
    params = encoder(v2.CancelToolCallRequest, FIELDS)(ask)
    assert params == v2.CancelToolCallRequest("s", "c", meta or UNSET)
    assert decoder(CancelTool, FIELDS)(params) == ask


def test_a_bound_request_is_answered_with_nothing_but_metadata() -> None:
    binding = bind(CancelTool, v2.TOOL_CALL_CANCEL, FIELDS, needs="x")
    assert binding.needs == "x"
    assert binding.encode_result(Done({"k": 1})) == v2.CancelToolCallResponse({"k": 1})
    assert binding.decode_result(v2.CancelToolCallResponse(), CancelTool("s", "c")) == Done()
