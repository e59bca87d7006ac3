"""Content blocks and config options in v2: icons, bounds that are new, options by `configId`, typed commands."""

from typing import Any

from accord.protocol import v2
from accord.protocol.model import UNSET, Unknown
from accord.session.content import Annotations, Icon, Link
from accord.session.editions.shared.content import BlockCodec, OptionCodec
from accord.session.option import Command, ConfigOption, Group, Select
from accord.session.unset import or_none, or_unset

__all__ = ["BLOCKS", "OPTIONS"]

PLAIN = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/!$&'()*+,;=:@")
"""The characters that need no escape in the path of a URI (RFC 3986)."""


class _Blocks(BlockCodec):
    def encode_uri(self, uri: str) -> str:
        # Agents of v1 put bare paths where a URI belongs.
        if not uri.startswith("/"):
            return uri
        return "file://" + "".join(
            chr(byte) if byte in PLAIN else f"%{byte:02X}" for byte in uri.encode("utf-8", "replace")
        )

    def annotation_fields(self, annotations: Annotations) -> dict[str, Any]:
        fields = super().annotation_fields(annotations)
        if annotations.priority is not None:
            fields["priority"] = min(max(annotations.priority, 0), 1)
        return fields

    def link_fields(self, block: Link) -> dict[str, Any]:
        return {
            "icons": UNSET if block.icons is None else [_encode_icon(icon) for icon in block.icons],
            "size": block.size if block.size is not None and block.size >= 0 else UNSET,
        }

    def _decode_link(self, block: v2.ResourceLink) -> Link:
        link = super()._decode_link(block)
        link.icons = [_decode_icon(icon) for icon in block.icons] if block.icons else None
        return link


def _encode_icon(icon: Icon) -> v2.Icon:
    return v2.Icon(icon.src, or_unset(icon.mime_type), or_unset(icon.sizes), or_unset(icon.theme), icon.meta or UNSET)


def _decode_icon(icon: v2.Icon) -> Icon:
    return Icon(icon.src, or_none(icon.mime_type), or_none(icon.sizes), or_none(icon.theme), icon.meta or None)


class _Options(OptionCodec):
    id_field = "config_id"
    group_field = "group_id"

    def encode(self, options: list[ConfigOption], *, toggles: bool = True) -> list[Any]:
        # A select without values is none.
        shown = [option for option in options if not isinstance(option, Select) or option.values()]
        return super().encode(shown, toggles=toggles)

    def encode_groups(self, groups: list[Group]) -> list[Any]:
        return super().encode_groups([group for group in groups if group.choices])

    def encode_commands(self, commands: list[Command]) -> list[v2.AvailableCommand]:
        return [_encode_command(command) for command in commands]

    def decode_command(self, command: v2.AvailableCommand) -> Command:
        if not isinstance(command, Unknown):
            return super().decode_command(command)
        name, description = command.payload.get("name"), command.payload.get("description")
        if isinstance(name, str) and isinstance(description, str):
            return Command(name, description, payload=command.payload)
        return Command("", "", payload=command.payload)


def _encode_command(command: Command) -> v2.AvailableCommand:
    if command.payload is not None:
        # The further fields of a command of v2 are written again.
        return Unknown(str(command.payload.get("type")), command.payload)
    hint = UNSET if command.hint is None else v2.TextCommandInput(command.hint)
    return v2.Command(command.name, command.description, hint, command.meta or UNSET)


BLOCKS = _Blocks(v2)
OPTIONS = _Options(v2)
