"""Modes and models in v1: two selects among the config options, told a second time in the words of before.

Rule 55: an agent tells both, a client that knows options uses those. An agent that has only the older words gets its
option made here, marked with `MADE_FROM`, because it must be set in the older words too: `modes` by `SetMode`, `models`
by `SetModel`.
"""

from accord.protocol import v1
from accord.protocol.model import UNSET, Maybe, Unknown, UnsetType
from accord.session.mode import MADE_FROM, mode_option
from accord.session.option import Choice, ConfigOption, Select
from accord.session.presence import given, told

__all__ = ["mirrored_in", "models_out", "modes_out"]


def modes_out(options: list[ConfigOption]) -> v1.SessionModeState | UnsetType:
    """The modes, where an option stands for them."""
    option = mode_option(options)
    if option is None:
        return UNSET
    modes = [
        v1.SessionMode(choice.value, choice.name, given(choice.description), choice.meta or UNSET)
        for choice in _choices(option)
    ]
    return v1.SessionModeState(option.value, modes)


def models_out(options: list[ConfigOption]) -> v1.SessionModelState | UnsetType:
    """The models, where an option stands for them."""
    option = _model_option(options)
    if option is None:
        return UNSET
    models = [
        v1.ModelInfo(choice.value, choice.name, given(choice.description), choice.meta or UNSET)
        for choice in _choices(option)
    ]
    return v1.SessionModelState(models, option.value)


def _model_option(options: list[ConfigOption]) -> Select | None:
    return next((option for option in options if isinstance(option, Select) and option.category == "model"), None)


def _choices(option: Select) -> list[Choice]:
    return [*option.choices, *(choice for group in option.groups for choice in group.choices)]


def mirrored_in(
    options: list[ConfigOption], modes: Maybe[v1.SessionModeState], models: Maybe[v1.SessionModelState]
) -> list[ConfigOption]:
    """The options, and those that the older words alone tell of."""
    found = list(options)
    if modes and mode_option(found) is None:
        choices = [
            Choice(mode.id, mode.name, told(mode.description), mode.meta or None) for mode in modes.available_modes
        ]
        meta = {**(modes.meta or {}), MADE_FROM: "modes"}
        name = _free("mode", found)
        found.append(Select(name, "Mode", modes.current_mode_id, choices, category="mode", meta=meta))
    if models and _model_option(found) is None:
        choices = [
            Choice(model.model_id, model.name, told(model.description), model.meta or None)
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
