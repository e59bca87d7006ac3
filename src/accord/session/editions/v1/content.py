"""Content blocks and settings in v1: closed lists, and modes and models beside the config options.

A block of a kind that v1 does not have becomes a line of text. Modes and models are two selects among the config
options, written a second time in their older shapes. Rule 55: an agent writes both, a client that knows options uses
those. Where an agent has only the older shapes, the option is made here and marked with `MADE_FROM`, because it must be
set by the older methods too: `modes` by `SetMode`, `models` by `SetModel`.
"""

from typing import Any

from accord.protocol import v1
from accord.protocol.model import UNSET, Maybe, Unknown, UnsetType
from accord.session.content import Annotations, Block, Text
from accord.session.downgrade import downgrade_block, restore_block
from accord.session.editions.shared.content import BlockCodec, OptionCodec, decode_annotations
from accord.session.option import MADE_FROM, Choice, ConfigOption, Select, mode_option
from accord.session.unset import or_none, or_unset

__all__ = ["BLOCKS", "OPTIONS", "encode_models", "encode_modes", "with_older_settings"]

# --- content blocks and config options


ROLES = frozenset({"assistant", "user"})


class _Blocks(BlockCodec):
    def encode_unknown(self, block: Unknown) -> v1.ContentBlock:
        return self._encode_text(downgrade_block(block))  # type: ignore[no-any-return]

    def annotation_fields(self, annotations: Annotations) -> dict[str, Any]:
        fields = super().annotation_fields(annotations)
        if annotations.audience is not None:
            fields["audience"] = [role for role in annotations.audience if role in ROLES]
        return fields

    def decode_text(self, block: v1.TextContent) -> Block:
        return restore_block(Text(block.text, decode_annotations(block.annotations), block.meta or None))


BLOCKS = _Blocks(v1)
OPTIONS = OptionCodec(v1)


# --- modes and models


def encode_modes(options: list[ConfigOption]) -> v1.SessionModeState | UnsetType:
    """The modes, where an option represents them."""
    option = mode_option(options)
    if option is None:
        return UNSET
    modes = [
        v1.SessionMode(choice.value, choice.name, or_unset(choice.description), choice.meta or UNSET)
        for choice in _choices(option)
    ]
    return v1.SessionModeState(option.value, modes)


def encode_models(options: list[ConfigOption]) -> v1.SessionModelState | UnsetType:
    """The models, where an option represents them."""
    option = _model_option(options)
    if option is None:
        return UNSET
    models = [
        v1.ModelInfo(choice.value, choice.name, or_unset(choice.description), choice.meta or UNSET)
        for choice in _choices(option)
    ]
    return v1.SessionModelState(models, option.value)


def _model_option(options: list[ConfigOption]) -> Select | None:
    return next((option for option in options if isinstance(option, Select) and option.category == "model"), None)


def _choices(option: Select) -> list[Choice]:
    return [*option.choices, *(choice for group in option.groups for choice in group.choices)]


def with_older_settings(
    options: list[ConfigOption], modes: Maybe[v1.SessionModeState], models: Maybe[v1.SessionModelState]
) -> list[ConfigOption]:
    """The options, and those that only the older shapes have."""
    found = list(options)
    if modes and mode_option(found) is None:
        choices = [
            Choice(mode.id, mode.name, or_none(mode.description), mode.meta or None) for mode in modes.available_modes
        ]
        meta = {**(modes.meta or {}), MADE_FROM: "modes"}
        name = _free("mode", found)
        found.append(Select(name, "Mode", modes.current_mode_id, choices, category="mode", meta=meta))
    if models and _model_option(found) is None:
        choices = [
            Choice(model.model_id, model.name, or_none(model.description), model.meta or None)
            for model in models.available_models
        ]
        meta = {**(models.meta or {}), MADE_FROM: "models"}
        name = _free("model", found)
        found.append(Select(name, "Model", models.current_model_id, choices, category="model", meta=meta))
    return found


def _free(stem: str, options: list[ConfigOption]) -> str:
    taken = {option.id for option in options if not isinstance(option, Unknown)}
    name, number = stem, 1
    while name in taken:
        number += 1
        name = f"{stem}-{number}"
    return name
