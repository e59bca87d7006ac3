"""Slash commands that an agent offers."""

from typing import TYPE_CHECKING, TypeAlias

from accord.protocol.model import UNSET, Lenient, Maybe, Metadata, Sieved, Unknown, Untagged, Wire


class UnstructuredCommandInput(Wire):
    """Free text after the name; hint is a placeholder for the still empty field."""

    hint: str
    meta: Maybe[Metadata] = UNSET


if TYPE_CHECKING:
    AvailableCommandInput: TypeAlias = UnstructuredCommandInput | Unknown
else:

    class AvailableCommandInput(Untagged):
        """What may follow the name; absent on a command that takes nothing."""

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
