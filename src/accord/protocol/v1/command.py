"""Slash commands that an agent offers."""

from typing import TypeAlias

from accord.protocol.model import UNSET, Lenient, Maybe, Metadata, Sieved, Wire


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
