"""The choices of a user in a session: config options and slash commands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from accord.protocol.model import UNSET, Lenient, Maybe, Metadata, Open, Sieved, Unknown, Untagged, UntaggedLists, Wire
from accord.protocol.v2_june.connection import SessionConfigGroupId, SessionConfigId, SessionConfigValueId, SessionId

# --- config options

SessionConfigOptionCategory: TypeAlias = Literal["mode", "model", "thought_level"] | str


class SessionConfigSelectOption(Wire):
    """One value to choose; name is shown, value is sent."""

    value: SessionConfigValueId
    name: str
    description: Maybe[str] = UNSET
    meta: Maybe[Metadata] = UNSET


class SessionConfigSelectGroup(Wire):
    """Heading over some values; for display, since values are chosen without naming it."""

    group: SessionConfigGroupId
    name: str
    options: list[SessionConfigSelectOption]
    meta: Maybe[Metadata] = UNSET


if TYPE_CHECKING:
    SessionConfigSelectOptions: TypeAlias = list[SessionConfigSelectOption] | list[SessionConfigSelectGroup]
else:

    class SessionConfigSelectOptions(UntaggedLists):
        """Either a flat list or groups, never a mix."""

        by_key = {"value": SessionConfigSelectOption, "options": SessionConfigSelectGroup}


class SessionConfigSelect(Wire, tag_field="type", tag="select"):
    """Choice of exactly one value; currentValue holds the id of the one in force."""

    id: SessionConfigId
    name: str
    current_value: SessionConfigValueId
    options: SessionConfigSelectOptions
    description: Maybe[str] = UNSET
    category: Lenient[Maybe[SessionConfigOptionCategory]] = UNSET
    meta: Maybe[Metadata] = UNSET


SessionConfigOption: TypeAlias = Open[SessionConfigSelect]


class SetSessionConfigOptionResponse(Wire):
    """The full list, as one change may alter other options too."""

    config_options: Lenient[Sieved[list[SessionConfigOption]]]
    meta: Maybe[Metadata] = UNSET


class ConfigOptionUpdate(Wire, tag_field="sessionUpdate", tag="config_option_update"):
    """The complete list from now on; options missing in it are gone."""

    config_options: Lenient[Sieved[list[SessionConfigOption]]]
    meta: Maybe[Metadata] = UNSET


class SetSessionConfigOptionRequest(Wire):
    """Changes one setting; others may change with it, as the answer shows."""

    session_id: SessionId
    config_id: SessionConfigId
    value: SessionConfigValueId
    meta: Maybe[Metadata] = UNSET


# --- commands


class UnstructuredCommandInput(Wire):
    """Free text after the name; hint is a placeholder for the still empty field."""

    hint: str
    meta: Maybe[Metadata] = UNSET


if TYPE_CHECKING:
    AvailableCommandInput: TypeAlias = UnstructuredCommandInput | Unknown
else:

    class AvailableCommandInput(Untagged):
        """The input that may follow the name; absent on a command that takes none."""

        tag_field = "type"
        plain = (UnstructuredCommandInput,)


class AvailableCommand(Wire):
    """Run by a prompt text made of a slash, the name and any arguments."""

    name: str
    description: str
    input: Lenient[Maybe[AvailableCommandInput]] = UNSET
    meta: Maybe[Metadata] = UNSET


class AvailableCommandsUpdate(Wire, tag_field="sessionUpdate", tag="available_commands_update"):
    """The complete list from now on; commands missing in it are gone."""

    available_commands: Lenient[Sieved[list[AvailableCommand]]]
    meta: Maybe[Metadata] = UNSET
