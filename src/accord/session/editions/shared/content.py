"""Content blocks, config options and slash commands: the kinds that every edition has."""

from collections.abc import Callable
from typing import Any

from accord.protocol.model import UNSET, Unknown
from accord.session.content import Annotations, Audio, Block, Image, Link, Resource, Text
from accord.session.option import Choice, Command, ConfigOption, Group, Select, Toggle
from accord.session.unset import or_none, or_unset, payload_of

__all__ = ["BlockCodec", "OptionCodec", "decode_annotations"]

# --- content blocks


class BlockCodec:
    """An edition's content blocks; without overrides, those of June."""

    def __init__(self, types: Any) -> None:
        self.types = types
        self._text = types.TextContent
        self._encoders: dict[type, Callable[[Any], Any]] = {
            Text: self._encode_text,
            Image: self._encode_image,
            Audio: self._encode_audio,
            Link: self._encode_link,
            Resource: self._encode_resource,
            Unknown: self.encode_unknown,
        }
        self._decoders: dict[type, Callable[[Any], Block]] = {
            types.TextContent: self.decode_text,
            types.ImageContent: self._decode_image,
            types.AudioContent: self._decode_audio,
            types.ResourceLink: self._decode_link,
            types.EmbeddedResource: self._decode_resource,
            Unknown: _same,
        }

    # --- encoding

    def encode(self, block: Block) -> Any:
        if type(block) is Text and block.annotations is None and not block.meta:
            return self._text(block.text)
        return self._encoders[type(block)](block)

    def encode_all(self, blocks: list[Block]) -> list[Any]:
        return [self.encode(block) for block in blocks]

    def encode_unknown(self, block: Unknown) -> Any:
        """A block of an unknown kind: unchanged."""
        return block

    def encode_uri(self, uri: str) -> str:
        """A URI: unchanged."""
        return uri

    def annotation_fields(self, annotations: Annotations) -> dict[str, Any]:
        """The hints on a block, within the edition's bounds."""
        return {"audience": or_unset(annotations.audience), "priority": or_unset(annotations.priority)}

    def link_fields(self, block: Link) -> dict[str, Any]:
        """The optional fields of a link, within the edition's bounds. Icons have no place."""
        return {"size": or_unset(block.size)}

    def _common(self, block: Any) -> dict[str, Any]:
        return {"annotations": self._encode_annotations(block.annotations), "meta": block.meta or UNSET}

    def _encode_text(self, block: Text) -> Any:
        annotations = self._encode_annotations(block.annotations)
        return self._text(block.text, annotations=annotations, meta=block.meta or UNSET)

    def _encode_image(self, block: Image) -> Any:
        uri = UNSET if block.uri is None else self.encode_uri(block.uri)
        return self.types.ImageContent(block.data, block.mime_type, uri=uri, **self._common(block))

    def _encode_audio(self, block: Audio) -> Any:
        return self.types.AudioContent(block.data, block.mime_type, **self._common(block))

    def _encode_link(self, block: Link) -> Any:
        return self.types.ResourceLink(
            block.name,
            self.encode_uri(block.uri),
            title=or_unset(block.title),
            description=or_unset(block.description),
            mime_type=or_unset(block.mime_type),
            **self.link_fields(block),
            **self._common(block),
        )

    def _encode_resource(self, block: Resource) -> Any:
        uri, mime_type, meta = self.encode_uri(block.uri), or_unset(block.mime_type), block.contents_meta or UNSET
        if block.text is None and block.blob is not None:
            contents = self.types.BlobResourceContents(block.blob, uri, mime_type, meta)
        else:
            contents = self.types.TextResourceContents(block.text or "", uri, mime_type, meta)
        return self.types.EmbeddedResource(contents, **self._common(block))

    def _encode_annotations(self, annotations: Annotations | None) -> Any:
        if annotations is None:
            return UNSET
        return self.types.Annotations(
            last_modified=or_unset(annotations.last_modified),
            meta=annotations.meta or UNSET,
            **self.annotation_fields(annotations),
        )

    # --- decoding

    def decode(self, block: Any) -> Block:
        return self._decoders[type(block)](block)

    def decode_all(self, blocks: list[Any]) -> list[Block]:
        return [self._decoders[type(block)](block) for block in blocks]

    def decode_text(self, block: Any) -> Block:
        return Text(block.text, decode_annotations(block.annotations), block.meta or None)

    def _decode_image(self, block: Any) -> Block:
        annotations = decode_annotations(block.annotations)
        return Image(block.data, block.mime_type, or_none(block.uri), annotations, block.meta or None)

    def _decode_audio(self, block: Any) -> Block:
        return Audio(block.data, block.mime_type, decode_annotations(block.annotations), block.meta or None)

    def _decode_link(self, block: Any) -> Link:
        return Link(
            block.uri,
            block.name,
            or_none(block.title),
            or_none(block.description),
            or_none(block.mime_type),
            or_none(block.size),
            annotations=decode_annotations(block.annotations),
            meta=block.meta or None,
        )

    def _decode_resource(self, block: Any) -> Block:
        contents = block.resource
        return Resource(
            contents.uri,
            contents.text if isinstance(contents, self.types.TextResourceContents) else None,
            contents.blob if isinstance(contents, self.types.BlobResourceContents) else None,
            or_none(contents.mime_type),
            decode_annotations(block.annotations),
            block.meta or None,
            contents.meta or None,
        )


def decode_annotations(annotations: Any) -> Annotations | None:
    """The hints on a block, if it has any."""
    if not annotations:
        return None
    return Annotations(
        or_none(annotations.audience),
        or_none(annotations.last_modified),
        or_none(annotations.priority),
        annotations.meta or None,
    )


def _same(block: Block) -> Block:
    return block


# --- config options and commands


class OptionCodec:
    """An edition's config options and commands.

    `id_field` and `group_field` are the edition's names for the id of an option and of a group. An edition without a
    type for toggles does not write them.
    """

    id_field = "id"
    group_field = "group"

    def __init__(self, types: Any) -> None:
        self.types = types
        self._toggle: Any = getattr(types, "SessionConfigBoolean", None)

    # --- options

    def encode(self, options: list[ConfigOption], *, toggles: bool = True) -> list[Any]:
        """The options; toggles only for a client that can show them."""
        shown = toggles and self._toggle is not None
        return [self._encode(option) for option in options if shown or not isinstance(option, Toggle)]

    def encode_groups(self, groups: list[Group]) -> list[Any]:
        kind = self.types.SessionConfigSelectGroup
        return [kind(group.group, group.name, self._choices(group.choices), meta=_meta(group)) for group in groups]

    def _encode(self, option: ConfigOption) -> Any:
        if isinstance(option, Unknown):
            return option
        described = {
            "description": or_unset(option.description),
            "category": or_unset(option.category),
            "meta": _meta(option),
        }
        if isinstance(option, Toggle):
            return self._toggle(option.id, option.name, option.value, **described)
        values = self._values(option)
        return self.types.SessionConfigSelect(option.id, option.name, option.value, values, **described)

    def _values(self, option: Select) -> list[Any]:
        if option.groups and not option.choices:
            return self.encode_groups(option.groups)
        # Values with and without a heading cannot be in one list: then none has a heading.
        return self._choices([*option.choices, *(choice for group in option.groups for choice in group.choices)])

    def _choices(self, choices: list[Choice]) -> list[Any]:
        kind = self.types.SessionConfigSelectOption
        return [kind(choice.value, choice.name, or_unset(choice.description), _meta(choice)) for choice in choices]

    def decode(self, options: list[Any]) -> list[ConfigOption]:
        return [self._decode(option) for option in options]

    def _decode(self, option: Any) -> ConfigOption:
        if isinstance(option, Unknown):
            return option
        option_id = getattr(option, self.id_field)
        described: dict[str, Any] = {
            "description": or_none(option.description),
            "category": or_none(option.category),
            "meta": option.meta or None,
        }
        if not isinstance(option, self.types.SessionConfigSelect):
            return Toggle(option_id, option.name, option.current_value, **described)
        choices: list[Choice] = []
        groups: list[Group] = []
        for value in option.options:
            if isinstance(value, self.types.SessionConfigSelectGroup):
                held = [_choice(choice) for choice in value.options]
                groups.append(Group(getattr(value, self.group_field), value.name, held, value.meta or None))
            else:
                choices.append(_choice(value))
        return Select(option_id, option.name, option.current_value, choices, groups, **described)

    # --- commands

    def encode_commands(self, commands: list[Command]) -> list[Any]:
        """The commands; one that is nothing but an unknown payload has no name and cannot be offered."""
        kind = self.types.AvailableCommand
        return [
            kind(command.name, command.description, self.encode_input(command), _meta(command))
            for command in commands
            if command.name
        ]

    def encode_input(self, command: Command) -> Any:
        """The input of a command, behind its name."""
        return UNSET if command.hint is None else self.types.UnstructuredCommandInput(command.hint)

    def decode_commands(self, commands: list[Any]) -> list[Command]:
        """The commands; of one that takes another input than text the whole is kept."""
        return [self.decode_command(command) for command in commands]

    def decode_command(self, command: Any) -> Command:
        meta = command.meta or None
        if isinstance(command.input, Unknown):
            return Command(command.name, command.description, meta=meta, payload=payload_of(command))
        return Command(command.name, command.description, command.input.hint if command.input else None, meta)


def _choice(choice: Any) -> Choice:
    return Choice(choice.value, choice.name, or_none(choice.description), choice.meta or None)


def _meta(value: Any) -> Any:
    return value.meta or UNSET
