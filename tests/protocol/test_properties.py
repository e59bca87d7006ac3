"""Properties of every struct of every edition: it survives the wire in all its states, and has a readable repr."""

from __future__ import annotations

import json
import typing
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from msgspec import UNSET, UnsetType

from accord.protocol.codec import Codec, encode
from accord.protocol.model import Unknown, Wire
from tests.protocol.values import CUT_TEXTS, EDITIONS, Values, json_values, structs_of

WHOLE = Values()
CUT = Values(CUT_TEXTS)
STRUCTS = [
    pytest.param(edition, kind, id=f"{edition}-{kind.__name__}") for edition in EDITIONS for kind in structs_of(edition)
]
# The fields of which one must be there: which, is tested with the types that have them.
SCOPES = {"session_id", "request_id"}
few = settings(max_examples=4, suppress_health_check=list(HealthCheck))
many = settings(max_examples=100, suppress_health_check=list(HealthCheck))


def survives(kind: type[Wire], value: Wire) -> None:
    text = encode(value)
    codec = Codec()
    again = codec.decode(kind, text)
    assert again == value
    assert encode(again) == text
    assert codec.dropped == 0
    assert codec.convert(kind, json.loads(text)) == value


@pytest.mark.parametrize(("edition", "kind"), STRUCTS)
@given(data=st.data())
@few
def test_every_struct_survives_the_wire(edition: str, kind: type[Wire], data: st.DataObject) -> None:
    survives(kind, data.draw(WHOLE.of(kind), label=edition))


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize(("edition", "kind"), STRUCTS)
@given(data=st.data())
@many
def test_every_struct_survives_the_wire_many_times(edition: str, kind: type[Wire], data: st.DataObject) -> None:
    survives(kind, data.draw(WHOLE.of(kind), label=edition))


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("edition", "kind"), STRUCTS)
@given(data=st.data())
@settings(few, max_examples=3)
def test_every_struct_survives_with_half_an_emoji_in_each_text(
    edition: str, kind: type[Wire], data: st.DataObject
) -> None:
    survives(kind, data.draw(CUT.of(kind), label=edition))


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("edition", "kind"), STRUCTS)
@given(data=st.data())
@settings(few, max_examples=3)
def test_the_repr_of_every_struct_makes_it_again_and_leaves_out_what_is_absent(
    edition: str, kind: type[Wire], data: st.DataObject
) -> None:
    value = data.draw(WHOLE.of(kind), label=edition)
    names: dict[str, Any] = {"Unknown": Unknown}
    for module in EDITIONS[edition]:
        names |= vars(module)
    assert "UNSET" not in repr(value)
    assert eval(repr(value), names) == value  # noqa: S307 - our own repr


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("edition", "kind"), STRUCTS)
@given(data=st.data())
@settings(few, max_examples=2)
def test_absent_and_null_and_a_value_stay_different(edition: str, kind: type[Wire], data: st.DataObject) -> None:
    value = data.draw(WHOLE.of(kind), label=edition)
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


@pytest.mark.parametrize("edition", EDITIONS)
@given(metadata=st.dictionaries(st.text(), json_values(st.text())))
@settings(max_examples=50)
def test_metadata_is_kept_whatever_it_is(edition: str, metadata: dict[str, Any]) -> None:
    kind = EDITIONS[edition][0].InitializeRequest
    text = json.dumps({"protocolVersion": 1, "info": {"name": "a", "version": "1"}, "_meta": metadata})
    value = Codec().decode(kind, text.encode())
    assert value.meta == metadata
    assert json.loads(encode(value))["_meta"] == metadata
