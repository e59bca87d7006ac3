"""The choices of a user in a session: config options, the older modes and models, slash commands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from accord.protocol.model import UNSET, Lenient, Maybe, Metadata, Omittable, Open, Sieved, UntaggedLists, Wire
from accord.protocol.v1.connection import (
    ModelId,
    SessionConfigGroupId,
    SessionConfigId,
    SessionConfigValueId,
    SessionId,
    SessionModeId,
)

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

    group: SessionConfigGroupId
    name: str
    options: Lenient[Sieved[list[SessionConfigSelectOption]]]
    meta: Lenient[Maybe[Metadata]] = UNSET


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
    description: Lenient[Maybe[str]] = UNSET
    category: Lenient[Maybe[SessionConfigOptionCategory]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class SessionConfigBoolean(Wire, tag_field="type", tag="boolean"):
    """On or off setting; v1 agents offer it only if the client announced support."""

    id: SessionConfigId
    name: str
    current_value: bool
    description: Lenient[Maybe[str]] = UNSET
    category: Lenient[Maybe[SessionConfigOptionCategory]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


SessionConfigOption: TypeAlias = Open[SessionConfigSelect | SessionConfigBoolean]


class SetSessionConfigOptionResponse(Wire):
    """The full list, as one change may alter other options too."""

    config_options: Lenient[Sieved[list[SessionConfigOption]]]
    meta: Lenient[Maybe[Metadata]] = UNSET


class ConfigOptionUpdate(Wire, tag_field="sessionUpdate", tag="config_option_update"):
    """The complete list from now on; options missing in it are gone."""

    config_options: Lenient[Sieved[list[SessionConfigOption]]]
    meta: Lenient[Maybe[Metadata]] = UNSET


class SetSessionConfigOptionRequest(Wire):
    """Changes one setting; others may change with it, as the answer shows."""

    session_id: SessionId
    config_id: SessionConfigId
    value: SessionConfigValueId | bool
    type: Omittable[Literal["boolean"] | str] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET

    def __post_init__(self) -> None:
        _check_value(self.type, self.value)


def _check_value(kind: object, value: object) -> None:
    """A boolean says so in `type`; anything else is the id of a value.

    Raises:
        ValueError: The value does not fit the type.
    """
    if isinstance(value, bool) != (kind == "boolean"):
        message = "a boolean with type boolean, or the id of a value"
        raise ValueError(message)


# --- modes


class SessionMode(Wire):
    """One way of working the user can pick, with texts for a menu."""

    id: SessionModeId
    name: str
    description: Lenient[Maybe[str]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class SessionModeState(Wire):
    """Modes on offer and the active one; clients that know config options ignore it."""

    current_mode_id: SessionModeId
    available_modes: Lenient[Sieved[list[SessionMode]]]
    meta: Lenient[Maybe[Metadata]] = UNSET


class SetSessionModeResponse(Wire):
    """Empty; the 2025 text names its metadata key meta, without the underscore."""

    meta: Lenient[Maybe[Metadata]] = UNSET


class CurrentModeUpdate(Wire, tag_field="sessionUpdate", tag="current_mode_update"):
    """The mode in force from now on, also when the agent switched without being asked."""

    current_mode_id: SessionModeId
    meta: Lenient[Maybe[Metadata]] = UNSET


class SetSessionModeRequest(Wire):
    """Allowed at any time, also while a turn is running."""

    session_id: SessionId
    mode_id: SessionModeId
    meta: Lenient[Maybe[Metadata]] = UNSET


# --- models


class ModelInfo(Wire):
    """One model on offer, with texts for a menu (2025 text only, unstable there)."""

    model_id: ModelId
    name: str
    description: Maybe[str] = UNSET
    meta: Maybe[Metadata] = UNSET


class SessionModelState(Wire):
    """Models on offer and the active one; absent if the agent gives no choice (2025 only)."""

    available_models: list[ModelInfo]
    current_model_id: ModelId
    meta: Maybe[Metadata] = UNSET


class SetSessionModelRequest(Wire):
    """Picks one of the offered models; later editions use a config option instead."""

    model_id: ModelId
    session_id: SessionId
    meta: Maybe[Metadata] = UNSET


class SetSessionModelResponse(Wire):
    """Empty; the model asked for is now the active one (2025 text only)."""

    meta: Maybe[Metadata] = UNSET


# --- commands


class UnstructuredCommandInput(Wire):
    """Free text after the name; hint is a placeholder for the still empty field."""

    hint: str
    meta: Lenient[Maybe[Metadata]] = UNSET


AvailableCommandInput: TypeAlias = UnstructuredCommandInput


class AvailableCommand(Wire):
    """Run by a prompt text made of a slash, the name and any arguments."""

    name: str
    description: str
    input: Lenient[Maybe[AvailableCommandInput]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class AvailableCommandsUpdate(Wire, tag_field="sessionUpdate", tag="available_commands_update"):
    """The complete list from now on; commands missing in it are gone."""

    available_commands: Lenient[Sieved[list[AvailableCommand]]]
    meta: Lenient[Maybe[Metadata]] = UNSET
