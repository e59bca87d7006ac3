"""The Python types of each table, and the Python type for a type in words."""

from __future__ import annotations

import re
from types import GenericAlias, ModuleType
from typing import Any, Union

from accord.protocol import model, v1, v2, v2_june
from accord.protocol.v1 import draft as v1_draft
from accord.protocol.v2 import draft as v2_draft
from tests.protocol.inventory.facts import Field

# A draft holds only what is new or has grown; the rest is its edition's.
MODULES: dict[str, tuple[ModuleType, ...]] = {
    "v1": (v1,),
    "v1_draft": (v1_draft, v1),
    "v2": (v2,),
    "v2_draft": (v2_draft, v2),
    "v2_june": (v2_june,),
    "v1_2025": (v1,),
}
METHODS = {
    "v1": v1.METHODS,
    "v1_draft": v1_draft.METHODS,
    "v2": v2.METHODS,
    "v2_draft": v2_draft.METHODS,
    "v2_june": v2_june.METHODS,
    "v1_2025": v1.METHODS,
}
SCHEMAS = {
    "v1": "v1/schema.json",
    "v1_draft": "v1/schema.unstable.json",
    "v2": "v2/schema.json",
    "v2_draft": "v2/schema.unstable.json",
    "v2_june": "v2-june/schema.json",
    "v1_2025": "v1-2025/schema.json",
}
# v1 has split these two since; what the text of 2025 meant is one half.
SINCE_2025 = {"AuthMethod": "AuthMethodAgent", "AvailableCommandInput": "UnstructuredCommandInput"}

# What extensions carry is any JSON: Python has no types of these names.
EXTENSIONS = frozenset({"ExtRequest", "ExtResponse", "ExtNotification"})

SIMPLE: dict[str, Any] = {
    "string": str,
    "string+": model.NonEmpty[str],
    "boolean": bool,
    "double": float,
    "double[0..1]": model.Unit,
    "int32": model.Int32,
    "int64": model.Int64,
    "uint16": model.UInt16,
    "uint16[1..]": model.Extent,
    "uint32": model.UInt32,
    "uint32[1..]": model.LineNumber,
    "uint64": model.UInt64,
    "object": model.Metadata,
    "any": Any,
    "null": None,
}


def find(edition: str, name: str) -> Any:
    """The Python type of that name.

    Raises:
        LookupError: There is none.
    """
    name = SINCE_2025.get(name, name) if edition == "v1_2025" else name
    for module in MODULES[edition]:
        if hasattr(module, name):
            return getattr(module, name)
    raise LookupError(name)


def python_type(edition: str, words: str) -> Any:
    """The Python type that the words mean."""
    parts = words.split(" | ")
    if len(parts) > 1:
        # Beside a double no integer is too big: it is a number, too.
        simple = {**SIMPLE, "int64": int} if "double" in parts else SIMPLE
        members = [simple[part] if part in simple else python_type(edition, part) for part in parts]
        return Any if Any in members else Union[tuple(members)]  # noqa: UP007 - built at run time
    if words.startswith("["):
        items = GenericAlias(list, python_type(edition, words.strip("[]+")))
        return marked(model.NonEmpty, items) if words.endswith("+") else items
    if words.startswith("{"):
        return GenericAlias(dict, (str, python_type(edition, words.strip("{}"))))
    # What a string means (an address, a time, base64) is for people: all of it is read as it came.
    words = re.sub(r"^string\(.*\)", "string", words)
    return SIMPLE[words] if words in SIMPLE else find(edition, words)


def marked(vocabulary: Any, kind: Any) -> Any:
    """A word of the model applied to a type that is only known at run time."""
    return vocabulary[kind]


def annotation(edition: str, field: Field) -> Any:
    """How a field of these facts is annotated in Python."""
    if field.words == "any":
        return Any  # nothing is bad enough for leniency
    nullable = field.words.endswith(" | null")
    kind = python_type(edition, field.words.removesuffix(" | null"))
    if "sieved" in field.marks:
        kind = marked(model.Sieved, kind)
    if nullable:
        kind = marked(model.Maybe, kind)
    elif not field.required and not field.default and "null-is-empty" not in field.marks:
        kind = marked(model.Omittable, kind)
    if "lenient" in field.marks:
        kind = marked(model.Lenient, kind)
    if "null-is-empty" in field.marks:
        kind = marked(model.NullIsEmpty, kind)
    return kind
