"""The building blocks of every edition's types: presence, leniency, open unions, bounds.

A field has three states: absent (`UNSET`), `null` (`None`) and a value. `Maybe[T]` has all three, `Omittable[T]` may
only be absent. Both absent and null are falsy, so `if update.title:` works as expected.

Leniency marks come from the schemas and are obeyed by `salvage` when the fast decode refused a message:
`Lenient` (a bad value counts as absent), `Sieved` (bad items of a list are dropped), `NullIsEmpty` (null is the empty
list). A bad value without a mark is an error.

Enums and unions are read open: `Open[A | B]` may also hold an `Unknown` with the raw payload, which is sent on
unchanged. `Closed` marks the enums to which an edition allows no further values; only strict connections refuse those.

Methods and editions are not known here.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeAlias, TypeVar, Union

import msgspec
from msgspec import UNSET, Meta, UnsetType

__all__ = [
    "DROPPED",
    "UNSET",
    "Closed",
    "Extent",
    "Int32",
    "Int64",
    "Lenient",
    "LineNumber",
    "Mark",
    "Maybe",
    "Metadata",
    "NonEmpty",
    "NullIsEmpty",
    "Omittable",
    "Open",
    "Sieved",
    "UInt16",
    "UInt32",
    "UInt64",
    "Unit",
    "Unknown",
    "UnsetType",
    "Untagged",
    "Wire",
    "wire_name",
]

T = TypeVar("T")


class Mark(enum.Enum):
    """Leniency that the schema adds to a type; attached with `Annotated`, ignored by the fast decode."""

    LENIENT = "a bad value counts as absent"
    SIEVED = "bad items are dropped"
    NULL_IS_EMPTY = "null is the empty list"
    CLOSED = "no further values in this edition"
    OPEN = "unknown variants are kept"


class Unknown:
    """A variant that this edition does not define, kept unchanged.

    `tag` is the value of the tag field. `payload` is the whole object, the tag field included; it is sent on
    unchanged.
    """

    __slots__ = ("payload", "tag")
    __match_args__ = ("tag", "payload")

    def __init__(self, tag: str, payload: dict[str, Any]) -> None:
        self.tag = tag
        """The value of the tag field."""
        self.payload = payload
        """The whole object."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unknown) and (self.tag, self.payload) == (other.tag, other.payload)

    __hash__ = None  # type: ignore[assignment]  # holds a dict

    def __repr__(self) -> str:
        return f"Unknown({self.tag!r}, {self.payload!r})"


Maybe: TypeAlias = T | UnsetType | None
"""A value; UNSET where it is absent, None where it is null."""
Omittable: TypeAlias = T | UnsetType
Lenient: TypeAlias = Annotated[T, Mark.LENIENT]
Sieved: TypeAlias = Annotated[T, Mark.SIEVED]
NullIsEmpty: TypeAlias = Annotated[T, Mark.NULL_IS_EMPTY]
Closed: TypeAlias = Annotated[T, Mark.CLOSED]
NonEmpty: TypeAlias = Annotated[T, Meta(min_length=1)]
if TYPE_CHECKING:
    Open: TypeAlias = Union[T, Unknown]  # noqa: UP007 - a generic alias needs the subscript form
else:
    # msgspec takes no custom class beside structs in a union; only the slow path puts an `Unknown` there.
    Open = Annotated[T, Mark.OPEN]

Metadata: TypeAlias = dict[str, Any]
"""The `_meta` object: keys belong to their author."""
DROPPED = "accord/dropped"
"""A key in the metadata of a value that was received with more than could be read."""

Int32: TypeAlias = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]
Int64: TypeAlias = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
UInt16: TypeAlias = Annotated[int, Meta(ge=0, le=2**16 - 1)]
UInt32: TypeAlias = Annotated[int, Meta(ge=0, le=2**32 - 1)]
UInt64: TypeAlias = Annotated[int, Meta(ge=0)]
"""A count. Not bounded above: one beyond 64 bits comes from a broken peer, and Python reads it anyway."""
LineNumber: TypeAlias = Annotated[int, Meta(ge=1, le=2**32 - 1)]
Extent: TypeAlias = Annotated[int, Meta(ge=1, le=2**16 - 1)]
Unit: TypeAlias = Annotated[float, Meta(ge=0, le=1)]


def wire_name(name: str) -> str:
    """The key of a field on the wire: camelCase, and `_meta` for `meta`."""
    if name == "meta":
        return "_meta"
    head, *tail = name.split("_")
    return head + "".join(word.capitalize() for word in tail)


class Wire(msgspec.Struct, rename=wire_name, omit_defaults=True, repr_omit_defaults=True, gc=False):
    """The base of every type on the wire.

    Not tracked by the garbage collector: a value that is made to contain itself is never freed.

    Where leniency drops a value within one of the fields in `noted`, the metadata gets the key `DROPPED`.
    """

    noted: ClassVar[frozenset[str]] = frozenset()


class _AnyInstance(type):
    """A metaclass: the decoder accepts the type that an `Untagged` chose, which is never an instance of `Untagged`."""

    def __instancecheck__(cls, instance: object) -> bool:
        return True


class Untagged(metaclass=_AnyInstance):
    """A union whose members the wire does not (or not always) tag; `choose` selects one by the keys of the object.

    Used as a type in annotations only. The decoder passes it the plain object.
    """

    tag_field: ClassVar[str] = ""
    tagged: ClassVar[dict[str, type[Wire]]] = {}
    """By tag, and also the tags that other editions give to an untagged member."""
    plain: ClassVar[tuple[type[Wire], ...]] = ()

    @classmethod
    def choose(cls, value: Any) -> Any:
        """The type that `value` should be read as; `Unknown` for an unknown tag, None where nothing fits."""
        if not isinstance(value, dict):
            return None
        if cls.tag_field:
            tag = value.get(cls.tag_field)
            if tag is not None:
                return cls.tagged.get(tag, Unknown) if isinstance(tag, str) else None
        for kind in cls.plain:
            if all(key in value for key in required_keys(kind)):
                return kind
        return None


class UntaggedLists(metaclass=_AnyInstance):
    """A list with items of one kind or of another, selected by a key of its first item."""

    by_key: ClassVar[dict[str, type[Wire]]] = {}

    @classmethod
    def choose(cls, value: Any) -> Any:
        """The list type to read `value` as; None where it is no list."""
        if not isinstance(value, list):
            return None
        first = value[0] if value else {}
        for key, kind in cls.by_key.items():
            if isinstance(first, dict) and key in first:
                return list[kind]  # type: ignore[valid-type]
        return list[next(iter(cls.by_key.values()))]  # type: ignore[misc]


def required_keys(kind: type[Wire]) -> list[str]:
    """The keys without which `kind` cannot be read."""
    fields = msgspec.structs.fields(kind)
    return [field.encode_name for field in fields if field.required]


UntaggedUnion: TypeAlias = type[Untagged] | type[UntaggedLists]
