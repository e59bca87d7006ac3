"""Asking the user for information: a form, or an address to visit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from accord.protocol.model import (
    UNSET,
    Int64,
    Lenient,
    Maybe,
    Metadata,
    NonEmpty,
    Omittable,
    Open,
    Sieved,
    UInt32,
    UInt64,
    Unknown,
    Untagged,
    Wire,
)
from accord.protocol.v2.connection import ElicitationId, RequestId, SessionId, ToolCallId

ElicitationSchemaType: TypeAlias = Literal["object"]
StringFormat: TypeAlias = Literal["email", "uri", "date", "date-time"] | str


class EnumOption(Wire):
    """const is what is sent back; title is what the user sees."""

    const: str
    title: str
    description: Lenient[Maybe[str]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class StringPropertySchema(Wire, tag_field="type", tag="string"):
    """Text field, or a single choice if enum or oneOf is there."""

    title: Lenient[Maybe[str]] = UNSET
    description: Lenient[Maybe[str]] = UNSET
    min_length: Maybe[UInt32] = UNSET
    max_length: Maybe[UInt32] = UNSET
    pattern: Maybe[str] = UNSET
    format: Maybe[StringFormat] = UNSET
    default: Lenient[Maybe[str]] = UNSET
    enum: Maybe[NonEmpty[list[str]]] = UNSET
    one_of: Maybe[NonEmpty[list[EnumOption]]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class NumberPropertySchema(Wire, tag_field="type", tag="number"):
    """Field for any number; both bounds are themselves allowed."""

    title: Lenient[Maybe[str]] = UNSET
    description: Lenient[Maybe[str]] = UNSET
    minimum: Maybe[float] = UNSET
    maximum: Maybe[float] = UNSET
    default: Lenient[Maybe[float]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class IntegerPropertySchema(Wire, tag_field="type", tag="integer"):
    """Field for whole numbers; both bounds are themselves allowed."""

    title: Lenient[Maybe[str]] = UNSET
    description: Lenient[Maybe[str]] = UNSET
    minimum: Maybe[Int64] = UNSET
    maximum: Maybe[Int64] = UNSET
    default: Lenient[Maybe[Int64]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class BooleanPropertySchema(Wire, tag_field="type", tag="boolean"):
    """Yes or no field, fit for a check box; default is only the starting value."""

    title: Lenient[Maybe[str]] = UNSET
    description: Lenient[Maybe[str]] = UNSET
    default: Lenient[Maybe[bool]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class StringMultiSelectItems(Wire, tag_field="type", tag="string"):
    """Choices shown just as they are sent back."""

    enum: NonEmpty[list[str]]
    meta: Lenient[Maybe[Metadata]] = UNSET


class TitledMultiSelectItems(Wire):
    """Choices with a shown title apart from the value sent back."""

    any_of: NonEmpty[list[EnumOption]]
    meta: Lenient[Maybe[Metadata]] = UNSET


if TYPE_CHECKING:
    MultiSelectItems: TypeAlias = StringMultiSelectItems | TitledMultiSelectItems | Unknown
else:

    class MultiSelectItems(Untagged):
        """Choices of a list field, as plain strings or with titles."""

        tag_field = "type"
        tagged = {"string": StringMultiSelectItems}
        plain = (TitledMultiSelectItems,)


class MultiSelectPropertySchema(Wire, tag_field="type", tag="array"):
    """Field for several choices; minItems and maxItems bound how many are picked."""

    items: MultiSelectItems
    title: Lenient[Maybe[str]] = UNSET
    description: Lenient[Maybe[str]] = UNSET
    min_items: Maybe[UInt64] = UNSET
    max_items: Maybe[UInt64] = UNSET
    default: Lenient[Maybe[Sieved[list[str]]]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


ElicitationPropertySchema: TypeAlias = Open[
    StringPropertySchema
    | NumberPropertySchema
    | IntegerPropertySchema
    | BooleanPropertySchema
    | MultiSelectPropertySchema
]


class ElicitationSchema(Wire):
    """Form of one flat level; answers are checked by the client and again by the agent."""

    type: ElicitationSchemaType
    properties: dict[str, ElicitationPropertySchema]
    title: Lenient[Maybe[str]] = UNSET
    required: Maybe[list[str]] = UNSET
    description: Lenient[Maybe[str]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class ElicitationFormMode(Wire, tag_field="mode", tag="form"):
    """Fields to fill in inside the client; never to be used for passwords or other secrets."""

    message: str
    requested_schema: ElicitationSchema
    session_id: Omittable[SessionId] = UNSET
    tool_call_id: Lenient[Maybe[ToolCallId]] = UNSET
    request_id: Omittable[RequestId] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET

    def __post_init__(self) -> None:
        _check_scope(self.session_id, self.request_id)


class ElicitationUrlMode(Wire, tag_field="mode", tag="url"):
    """Sends the user to a web page; accept means consent to open it, not that it is done."""

    message: str
    elicitation_id: ElicitationId
    url: str
    session_id: Omittable[SessionId] = UNSET
    tool_call_id: Lenient[Maybe[ToolCallId]] = UNSET
    request_id: Omittable[RequestId] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET

    def __post_init__(self) -> None:
        _check_scope(self.session_id, self.request_id)


CreateElicitationRequest: TypeAlias = Open[ElicitationFormMode | ElicitationUrlMode]


class ElicitationSessionScope(Wire):
    """Ties the question to a session and, if given, to one of its tool calls."""

    session_id: SessionId
    tool_call_id: Lenient[Maybe[ToolCallId]] = UNSET


class ElicitationRequestScope(Wire):
    """Ties the question to a client request still pending, where no session fits."""

    request_id: RequestId


class CompleteElicitationNotification(Wire):
    """The agent says a URL flow is finished; optional, and unknown ids are ignored."""

    elicitation_id: ElicitationId
    meta: Lenient[Maybe[Metadata]] = UNSET


class ElicitationDeclineAction(Wire, tag_field="action", tag="decline"):
    """The user said no on purpose; any content sent along is ignored."""

    meta: Lenient[Maybe[Metadata]] = UNSET


class ElicitationCancelAction(Wire, tag_field="action", tag="cancel"):
    """The question was closed without an answer, which is neither yes nor no."""

    meta: Lenient[Maybe[Metadata]] = UNSET


ElicitationContentValue: TypeAlias = Any


class ElicitationAcceptAction(Wire, tag_field="action", tag="accept"):
    """The user agreed; content holds a form's values, while a URL flow needs none."""

    content: Maybe[dict[str, ElicitationContentValue]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


CreateElicitationResponse: TypeAlias = Open[
    ElicitationAcceptAction | ElicitationDeclineAction | ElicitationCancelAction
]


def _check_scope(session_id: object, request_id: object) -> None:
    """Exactly one scope: a session, or a request that is open.

    Raises:
        ValueError: Both, or neither.
    """
    if (session_id is UNSET) == (request_id is UNSET):
        message = "exactly one of sessionId and requestId"
        raise ValueError(message)
