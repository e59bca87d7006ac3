"""Makes values that an official schema allows, from a seed.

Only what these schemas use is known. Names that the schema leaves open (tags, enum values) begin with an underscore, as
the protocol asks of everyone who invents one.
"""

from __future__ import annotations

import random
import string
from typing import Any

DEPTH = 7
TEXTS = (
    "",
    "a",
    "two words",
    'q"uo\\te',
    "line\nbreak",
    "ünïcödé",
    "日本語",
    "👋🏽",
    "\u2028",
    "\x00",
    "null",
    "\ud83d",
)
FORMATTED = {
    "uri": ("file:///home/a%20b", "https://example.com/?q=1#f"),
    "date-time": ("2026-11-15T10:00:00Z", "2026-11-15T10:00:00.5+02:00"),
    "regex": ("^[a-z]+$", "."),
    "base64": ("", "AAEC/w=="),
}
INTEGERS = {
    "int32": (-(2**31), 2**31 - 1),
    "int64": (-(2**63), 2**63 - 1),
    "uint16": (0, 2**16 - 1),
    "uint32": (0, 2**32 - 1),
    "uint64": (0, 2**64 - 1),
}


def is_unknown(schema: dict[str, Any]) -> bool:
    """Whether a member of a union stands for the variants that the edition does not name."""
    return bool(schema.get("title") == "other")


class Instances:
    """An endless supply of values for the definitions of one schema.

    Unknown variants carry a `further` key, but not those of the definitions in `flat`: where a tag nobody knows says
    little of the object it stands in, the object is read all the same, without keys that nobody knows.
    """

    def __init__(self, definitions: dict[str, Any], seed: str, flat: frozenset[str] = frozenset()) -> None:
        self.definitions = definitions
        self.flat_variants = [
            member for name in flat for member in definitions.get(name, {}).get("anyOf", []) if is_unknown(member)
        ]
        self.random = random.Random(seed)  # test data, to be made again from the seed

    def of(self, name: str) -> Any:
        """A value of that definition."""
        return self.make(self.definitions[name], DEPTH)

    def make(self, schema: Any, depth: int) -> Any:
        if schema is True:
            return self.anything(depth)
        if "$ref" in schema:
            return self.make(self.definitions[schema["$ref"].removeprefix("#/$defs/")], depth)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return self.random.choice(schema["enum"])
        if "properties" in schema or schema.get("type") == "object":
            return self.object_of(schema, depth)
        members = schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf")
        if members:
            return self.member_of(self.affordable(members, depth), depth)
        return self.typed(schema, depth)

    def member_of(self, members: list[Any], depth: int) -> Any:
        member = self.random.choice(members)
        if (
            member.get("type") == "string"
            and not {"const", "enum"} & member.keys()
            and any("const" in other or "enum" in other for other in members)
        ):
            return self.invented()
        return self.make(member, depth)

    def affordable(self, members: list[Any], depth: int) -> list[Any]:
        """At the bottom: what needs no further depth, where there is such a thing."""
        if depth > 0:
            return members
        return [member for member in members if member.get("type") == "null"] or members[:1]

    def typed(self, schema: dict[str, Any], depth: int) -> Any:
        kinds = schema.get("type", "any")
        kind = self.random.choice(kinds) if isinstance(kinds, list) else kinds
        if kind == "null":
            return None
        if kind == "string":
            return self.text(schema)
        if kind == "boolean":
            return self.random.random() < 0.5
        if kind in ("integer", "number"):
            return self.number(kind, schema)
        if kind == "array":
            return self.array(schema, depth)
        return self.map_of(schema, depth) if kind == "object" else self.anything(depth)

    def text(self, schema: dict[str, Any]) -> str:
        formatted = FORMATTED.get(schema.get("format", schema.get("contentEncoding", "")))
        texts = formatted or [text for text in TEXTS if len(text) >= schema.get("minLength", 0)]
        return self.random.choice(texts)

    def invented(self) -> str:
        return "_" + "".join(self.random.choices(string.ascii_lowercase, k=6))

    def number(self, kind: str, schema: dict[str, Any]) -> float:
        low, high = INTEGERS.get(schema.get("format", ""), (-1000, 1000))
        low, high = int(schema.get("minimum", low)), int(schema.get("maximum", high))
        if kind == "integer" or self.random.random() < 0.3:
            return self.random.choice([low, high, self.random.randint(low, high)])
        return self.random.uniform(low, high)

    def array(self, schema: dict[str, Any], depth: int) -> list[Any]:
        least = int(schema.get("minItems", 0))
        count = self.random.randint(least, 2) if depth > 0 else least
        return [self.make(schema["items"], depth - 1) for _ in range(count)]

    def map_of(self, schema: dict[str, Any], depth: int) -> dict[str, Any]:
        values = schema.get("additionalProperties", True)
        count = self.random.randint(0, 2) if depth > 0 else 0
        return {f"key {number}": self.make(values, depth - 1) for number in range(count)}

    def anything(self, depth: int) -> Any:
        kinds = ["null", "string", "boolean", "number"]
        kind = self.random.choice([*kinds, "array", "object"] if depth > 0 else kinds)
        return self.typed({"type": kind, "items": True}, min(depth, 2))

    def object_of(self, schema: dict[str, Any], depth: int) -> Any:
        if isinstance(schema.get("type"), list) and self.random.random() < 0.2:
            return None
        if "properties" not in schema and "additionalProperties" in schema:
            return self.map_of(schema, depth)
        made: dict[str, Any] = {}
        for part in schema.get("allOf", []):
            made |= self.make(part, depth - 1)
        members = schema.get("anyOf") or schema.get("oneOf") or []
        if members:
            made |= self.make(self.random.choice(members), depth - 1)
        self.fill(made, schema, members, depth)
        if is_unknown(schema) and schema not in self.flat_variants:
            made["further"] = self.anything(2)
        return made

    def fill(self, made: dict[str, Any], schema: dict[str, Any], members: list[Any], depth: int) -> None:
        decided = {key for member in members for key in member.get("properties", {})}
        invents = is_unknown(schema)
        for key, value in schema.get("properties", {}).items():
            required = key in schema.get("required", [])
            chance = 0.5 if depth > 0 else 0.0
            if key in made or key in decided or not (required or self.random.random() < chance):
                continue
            if invents and value.get("type") == "string":
                made[key] = self.invented()
                invents = False  # the tag stands first
            elif key in ("_meta", "meta"):
                # The text of 2025 allows any value. Nobody sent one, and only objects are read.
                made |= {"_meta": self.map_of({}, 2)} if key == "_meta" else {}
            else:
                made[key] = self.make(value, depth - 1)
