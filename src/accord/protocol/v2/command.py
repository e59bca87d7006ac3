"""Slash commands that an agent offers."""

from typing import TypeAlias

from accord.protocol.model import UNSET, Lenient, Maybe, Metadata, Open, Sieved, Wire


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
