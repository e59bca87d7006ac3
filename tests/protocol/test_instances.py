"""Instances that the official schemas allow are read, and our encoding of them is allowed and means the same."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from accord.protocol.codec import Codec, encode
from accord.protocol.model import Wire
from tests.protocol.instances import Instances
from tests.protocol.inventory.facts import Field
from tests.protocol.inventory.lookup import EXTENSIONS, SCHEMAS, find
from tests.protocol.inventory.table import NAMES, load


def whole_definitions(edition: str) -> list[str]:
    """All but envelopes, what extensions carry, and parts that are no objects without their union's fields."""
    definitions = load(edition).definitions
    parts = {
        behind
        for union in definitions.values()
        if any(field.required for field in union.fields.values())
        for behind in union.variants.values()
        if isinstance(behind, str)
    }
    return [
        name
        for name, definition in definitions.items()
        if definition.kind != "message" and name not in parts | EXTENSIONS
    ]


DEFINITIONS = [(edition, name) for edition in NAMES for name in whole_definitions(edition)]
FLAT = frozenset({"IdleStateUpdate", "SetSessionConfigOptionRequest"})
COUNTS = [pytest.param(3, id="few"), pytest.param(300, id="many", marks=pytest.mark.long)]


@functools.cache
def definitions_in(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))["$defs"]


@functools.cache
def defaults() -> dict[str, list[Any]]:
    """By key: the values that may as well be left out."""
    found: dict[str, list[Any]] = {}
    for edition in NAMES:
        for definition in load(edition).definitions.values():
            for key, field in definition.fields.items():
                found.setdefault(key, []).extend(default_of(field))
    return found


def default_of(field: Field) -> list[Any]:
    if field.default:
        return [json.loads(field.default)]
    if "null-is-empty" in field.marks:
        return [{} if field.words.startswith("{") else []]
    return []


def may_be_left_out(key: str, value: Any) -> bool:
    known = defaults().get(key, [])
    if value in known:
        return True
    # A default that is an object may be written with any of its own defaults in it.
    is_object = isinstance(value, dict) and any(isinstance(default, dict) for default in known)
    return is_object and all(may_be_left_out(inner, item) for inner, item in value.items())


def without_tag(kind: Any, written: Any) -> Any:
    """A variant alone carries its tag in Python and in messages, but not in its own definition."""
    tag_field = kind.__struct_config__.tag_field if isinstance(kind, type) and issubclass(kind, Wire) else None
    return {key: value for key, value in written.items() if key != tag_field} if tag_field else written


def differences(theirs: Any, ours: Any, path: str = "") -> list[str]:
    """Where the two values do not mean the same."""
    if isinstance(theirs, dict) and isinstance(ours, dict):
        made_up = [key for key, value in ours.items() if key not in theirs and not may_be_left_out(key, value)]
        found = [f"{path}.{key} was made up" for key in made_up]
        for key, value in theirs.items():
            if key in ours:
                found += differences(value, ours[key], f"{path}.{key}")
            elif not may_be_left_out(key, value):
                found.append(f"{path}.{key} was lost")
        return found
    if isinstance(theirs, list) and isinstance(ours, list) and len(theirs) == len(ours):
        pairs = enumerate(zip(theirs, ours, strict=True))
        return [line for index, (one, other) in pairs for line in differences(one, other, f"{path}[{index}]")]
    same = theirs == ours and isinstance(theirs, bool) == isinstance(ours, bool)
    return [] if same else [f"{path}: {theirs!r} became {ours!r}"]


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize(("edition", "name"), DEFINITIONS)
def test_what_a_schema_allows_is_read_and_written_again(schemas: Path, edition: str, name: str, count: int) -> None:
    definitions = definitions_in(schemas / SCHEMAS[edition])
    validator = Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": definitions})
    instances = Instances(definitions, f"{edition} {name}", FLAT)
    kind = find(edition, name)
    codec = Codec()
    for _ in range(count):
        instance = instances.of(name)
        value = codec.decode(kind, json.dumps(instance).encode())
        written = without_tag(kind, json.loads(encode(value)))
        assert differences(instance, written) == []
        validator.validate(written)
        assert codec.convert(kind, instance) == value
        assert Codec(strict=True).convert(kind, instance) == value
    assert codec.dropped == 0
