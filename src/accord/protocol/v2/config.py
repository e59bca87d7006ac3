"""The choices of a user in a session: config options and slash commands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from accord.protocol.model import UNSET, Lenient, Maybe, Metadata, NonEmpty, Open, Sieved, UntaggedLists, Wire
from accord.protocol.v2.connection import SessionConfigGroupId, SessionConfigId, SessionConfigValueId, SessionId

# --- config options

SessionConfigOptionCategory: TypeAlias = Literal["mode", "model", "model_config", "thought_level"] | str


class SessionConfigSelectOption(Wire):
    """One value to choose; name is shown, value is sent."""

    value: SessionConfigValueId
    name: str
    description: Lenient[Maybe[str]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class SessionConfigSelectGroup(Wire):
    """Heading over some values; for display, since values are chosen without naming it."""

    group_id: SessionConfigGroupId
    name: str
    options: Lenient[Sieved[NonEmpty[list[SessionConfigSelectOption]]]]
    meta: Lenient[Maybe[Metadata]] = UNSET


if TYPE_CHECKING:
    SessionConfigSelectOptions: TypeAlias = list[SessionConfigSelectOption] | list[SessionConfigSelectGroup]
else:

    class SessionConfigSelectOptions(UntaggedLists):
        """Either a flat list or groups, never a mix."""

        by_key = {"value": SessionConfigSelectOption, "options": SessionConfigSelectGroup}


class SessionConfigSelect(Wire, tag_field="type", tag="select"):
    """Choice of exactly one value; currentValue holds the id of the one in force."""

    config_id: SessionConfigId
    name: str
    current_value: SessionConfigValueId
    options: SessionConfigSelectOptions
    description: Lenient[Maybe[str]] = UNSET
    category: Lenient[Maybe[SessionConfigOptionCategory]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class SessionConfigBoolean(Wire, tag_field="type", tag="boolean"):
    """On or off setting; v1 agents offer it only if the client announced support."""

    config_id: SessionConfigId
    name: str
    current_value: bool
    description: Lenient[Maybe[str]] = UNSET
    category: Lenient[Maybe[SessionConfigOptionCategory]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


SessionConfigOption: TypeAlias = Open[SessionConfigSelect | SessionConfigBoolean]


class SetSessionConfigOptionResponse(Wire):
    """The full list, as one change may alter other options too."""

    config_options: Sieved[list[SessionConfigOption]]
    meta: Lenient[Maybe[Metadata]] = UNSET


class ConfigOptionUpdate(Wire, tag_field="sessionUpdate", tag="config_option_update"):
    """The complete list from now on; options missing in it are gone."""

    config_options: Sieved[list[SessionConfigOption]]
    meta: Lenient[Maybe[Metadata]] = UNSET


class SetSessionConfigOptionRequest(Wire):
    """Changes one setting; others may change with it, as the answer shows."""

    session_id: SessionId
    config_id: SessionConfigId
    type: Literal["id", "boolean"] | str
    value: Any
    meta: Lenient[Maybe[Metadata]] = UNSET

    def __post_init__(self) -> None:
        _check_value(self.type, self.value)


def _check_value(kind: str, value: object) -> None:
    """The two types this edition names fix what the value is; a further one may hold anything.

    Raises:
        ValueError: The value does not fit the type.
    """
    expected = {"id": str, "boolean": bool}.get(kind, object)
    if not isinstance(value, expected):
        message = f"a value of type {kind}"
        raise ValueError(message)  # noqa: TRY004 - to the decoder this is a value that does not fit


# --- commands


class TextCommandInput(Wire, tag_field="type", tag="text"):
    """Free text after the name; hint is a placeholder for the still empty field."""

    hint: str
    meta: Lenient[Maybe[Metadata]] = UNSET


AvailableCommandInput: TypeAlias = Open[TextCommandInput]


class Command(Wire, tag_field="type", tag="command"):
    """name has no slash and no blanks and is unique in the list."""

    name: str
    description: str
    input: Lenient[Maybe[AvailableCommandInput]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


AvailableCommand: TypeAlias = Open[Command]


class AvailableCommandsUpdate(Wire, tag_field="sessionUpdate", tag="available_commands_update"):
    """The complete list from now on; commands missing in it are gone."""

    available_commands: Sieved[list[AvailableCommand]]
    meta: Lenient[Maybe[Metadata]] = UNSET
