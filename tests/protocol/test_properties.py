"""Properties of every struct of every edition: it survives the wire in all its states, and has a readable repr."""

from __future__ import annotations

import functools
import json
import typing
from collections.abc import Callable
from typing import Any, TypeAlias

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from msgspec import UNSET, UnsetType

from accord.protocol.codec import Codec, encode
from accord.protocol.model import Unknown, Wire
from tests.protocol.values import CUT_TEXTS, EDITIONS, Values, json_values, structs_of
from tests.tables import rows

WHOLE = Values()
CUT = Values(CUT_TEXTS)
STRUCTS = [(edition, kind) for edition in EDITIONS for kind in structs_of(edition)]
# An item for each struct would cost as much as its examples.
PARTS = 4
in_parts = pytest.mark.parametrize("structs", [STRUCTS[part::PARTS] for part in range(PARTS)], ids=range(PARTS))
# The fields of which one must be there: which, is tested with the types that have them.
SCOPES = {"session_id", "request_id"}
Structs: TypeAlias = list[tuple[str, type[Wire]]]


def for_all(structs: Structs, values: Values, max_examples: int, holds: Callable[[str, type[Wire], Any], None]) -> None:
    for edition, kind in structs:
        one = functools.partial(holds, edition, kind)

        @given(value=values.of(kind))
        @settings(max_examples=max_examples, suppress_health_check=list(HealthCheck))
        def holds_of_the_struct(value: Wire, one: Callable[[Wire], None]) -> None:
            one(value)

        try:
            holds_of_the_struct(one=one)
        except BaseException as error:
            error.add_note(f"struct: {edition} {kind.__name__}")
            raise


def survives(_: str, kind: type[Wire], value: Wire) -> None:
    text = encode(value)
    codec = Codec()
    again = codec.decode(kind, text)
    assert again == value
    assert encode(again) == text
    assert codec.dropped == 0
    assert codec.convert(kind, json.loads(text)) == value


@in_parts
def test_every_struct_survives_the_wire(structs: Structs) -> None:
    for_all(structs, WHOLE, 3, survives)


@pytest.mark.long
@pytest.mark.timeout(600)
@in_parts
def test_every_struct_survives_the_wire_many_times(structs: Structs) -> None:
    for_all(structs, WHOLE, 100, survives)


@pytest.mark.sampled(PARTS)
@in_parts
def test_every_struct_survives_with_half_an_emoji_in_each_text(structs: Structs) -> None:
    for_all(structs, CUT, 3, survives)


@pytest.mark.sampled(PARTS)
@in_parts
def test_the_repr_of_every_struct_makes_it_again_and_leaves_out_what_is_absent(structs: Structs) -> None:
    def holds(edition: str, _: type[Wire], value: Wire) -> None:
        names: dict[str, Any] = {"Unknown": Unknown}
        for module in EDITIONS[edition]:
            names |= vars(module)
        assert "UNSET" not in repr(value)
        assert eval(repr(value), names) == value  # noqa: S307 - our own repr

    for_all(structs, WHOLE, 3, holds)


def has_all_its_states(_: str, kind: type[Wire], value: Wire) -> None:
    hints = typing.get_type_hints(kind)
    for field in msgspec.structs.fields(kind):
        members = typing.get_args(hints[field.name])
        if not {UnsetType, type(None)} <= set(members) or field.name in SCOPES:
            continue
        for state in (UNSET, None):
            changed = msgspec.structs.replace(value, **{field.name: state})
            text = encode(changed)
            assert (field.encode_name in json.loads(text)) == (state is None)
            assert getattr(Codec().decode(kind, text), field.name) is state


@pytest.mark.sampled(2)
@in_parts
def test_absent_and_null_and_a_value_stay_different(structs: Structs) -> None:
    for_all(structs, WHOLE, 2, has_all_its_states)


# A draft has the requests of its edition.
@rows("edition", [edition for edition in EDITIONS if not edition.endswith(".draft")])
@given(metadata=st.dictionaries(st.text(), json_values(st.text())))
@settings(max_examples=20)
def test_metadata_is_kept_whatever_it_is(edition: str, metadata: dict[str, Any]) -> None:
    kind = EDITIONS[edition][0].InitializeRequest
    text = json.dumps({"protocolVersion": 1, "info": {"name": "a", "version": "1"}, "_meta": metadata})
    value = Codec().decode(kind, text.encode())
    assert value.meta == metadata
    assert json.loads(encode(value))["_meta"] == metadata
