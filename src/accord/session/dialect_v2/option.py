"""What a user can choose, in v2: options by `configId`, groups by `groupId`, typed commands."""

from typing import assert_never

from accord.protocol import v2
from accord.protocol.model import UNSET, Unknown
from accord.session.option import Choice, Command, ConfigOption, Group, Select, Toggle
from accord.session.presence import given, told
from accord.session.unheard import payload_of

__all__ = ["commands_in", "commands_out", "options_in", "options_out"]


def options_out(options: list[ConfigOption]) -> list[v2.SessionConfigOption]:
    """The options; a select without values is none."""
    return [_option_out(option) for option in options if not isinstance(option, Select) or option.values()]


def _option_out(option: ConfigOption) -> v2.SessionConfigOption:
    match option:
        case Select():
            return v2.SessionConfigSelect(
                option.id,
                option.name,
                option.value,
                _values_out(option),
                given(option.description),
                given(option.category),
                option.meta or UNSET,
            )
        case Toggle():
            return v2.SessionConfigBoolean(
                option.id,
                option.name,
                option.value,
                given(option.description),
                given(option.category),
                option.meta or UNSET,
            )
        case Unknown():
            return option
        case _:
            assert_never(option)


def _values_out(option: Select) -> list[v2.SessionConfigSelectOption] | list[v2.SessionConfigSelectGroup]:
    if option.groups and not option.choices:
        return [
            v2.SessionConfigSelectGroup(group.group, group.name, _choices_out(group.choices), group.meta or UNSET)
            for group in option.groups
            if group.choices
        ]
    # Values with and without a heading cannot stand in one list: then all stand without.
    return _choices_out([*option.choices, *(choice for group in option.groups for choice in group.choices)])


def _choices_out(choices: list[Choice]) -> list[v2.SessionConfigSelectOption]:
    return [
        v2.SessionConfigSelectOption(choice.value, choice.name, given(choice.description), choice.meta or UNSET)
        for choice in choices
    ]


def options_in(options: list[v2.SessionConfigOption]) -> list[ConfigOption]:
    """The options."""
    return [_option_in(option) for option in options]


def _option_in(option: v2.SessionConfigOption) -> ConfigOption:
    match option:
        case v2.SessionConfigSelect():
            choices: list[Choice] = []
            groups: list[Group] = []
            for value in option.options:
                if isinstance(value, v2.SessionConfigSelectGroup):
                    held = [_choice_in(choice) for choice in value.options]
                    groups.append(Group(value.group_id, value.name, held, value.meta or None))
                else:
                    choices.append(_choice_in(value))
            return Select(
                option.config_id,
                option.name,
                option.current_value,
                choices,
                groups,
                told(option.description),
                told(option.category),
                option.meta or None,
            )
        case v2.SessionConfigBoolean():
            return Toggle(
                option.config_id,
                option.name,
                option.current_value,
                told(option.description),
                told(option.category),
                option.meta or None,
            )
        case Unknown():
            return option
        case _:
            assert_never(option)


def _choice_in(choice: v2.SessionConfigSelectOption) -> Choice:
    return Choice(choice.value, choice.name, told(choice.description), choice.meta or None)


def commands_out(commands: list[Command]) -> list[v2.AvailableCommand]:
    """The commands; what this edition said more of one is said again."""
    return [_command_out(command) for command in commands]


def _command_out(command: Command) -> v2.AvailableCommand:
    if command.payload is not None:
        return Unknown(str(command.payload.get("type")), command.payload)
    hint = UNSET if command.hint is None else v2.TextCommandInput(command.hint)
    return v2.Command(command.name, command.description, hint, command.meta or UNSET)


def commands_in(commands: list[v2.AvailableCommand]) -> list[Command]:
    """The commands; of one that has another type, or takes another input than text, the whole is kept."""
    return [_command_in(command) for command in commands]


def _command_in(command: v2.AvailableCommand) -> Command:
    if isinstance(command, Unknown):
        name, description = command.payload.get("name"), command.payload.get("description")
        if isinstance(name, str) and isinstance(description, str):
            return Command(name, description, payload=command.payload)
        return Command("", "", payload=command.payload)
    meta = command.meta or None
    if isinstance(command.input, Unknown):
        return Command(command.name, command.description, meta=meta, payload=payload_of(command))
    return Command(command.name, command.description, command.input.hint if command.input else None, meta)
