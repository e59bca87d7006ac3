"""The facts of an inventory about an edition: its definitions, their fields and values, and its methods.

Three readers give the same facts: `table` from our own text files, `schema` from an official schema file, and
`test_types` compares them with the Python types. A type is written in words: `string`, `uint32[1..]`, `[ContentBlock]`
(a list), `[ContentBlock]+` (not empty), `{string}` (a map), `Diff | null`, `any`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["struct", "enum", "union", "alias", "message"]


@dataclass(frozen=True)
class Field:
    """One key of an object; `default` is JSON in canonical form, or empty."""

    words: str
    required: bool = True
    default: str = ""
    marks: tuple[str, ...] = ()


Fields: TypeAlias = dict[str, Field]


@dataclass
class Definition:
    """One named definition.

    A struct has `fields`, and in `scopes` the structs of which one (`exactly_one`) or more are mixed in. A union has
    the fields that all its variants share, a tag, what stands for each tag (the name of a definition, nothing, or
    fields written in place), the `plain` members without a tag, and in `further` what unknown variants carry.
    """

    kind: Kind
    fields: Fields = field(default_factory=dict)
    scopes: tuple[str, ...] = ()
    exactly_one: bool = False
    open: bool = False
    values: tuple[str, ...] = ()
    tag: str = ""
    tag_required: bool = True
    variants: dict[str, str | Fields] = field(default_factory=dict)
    plain: list[str | Fields] = field(default_factory=list)
    further: Fields = field(default_factory=dict)
    words: str = ""


@dataclass(frozen=True)
class MethodRow:
    """One method; a notification has no result."""

    name: str
    side: str
    params: str
    result: str = ""


@dataclass
class Inventory:
    """All definitions and methods of one schema file."""

    definitions: dict[str, Definition] = field(default_factory=dict)
    methods: list[MethodRow] = field(default_factory=list)
