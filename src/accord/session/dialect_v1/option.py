"""What a user can choose, in v1: options by `id`, groups by `group`, commands without a type."""

from typing import assert_never

from accord.protocol import v1
from accord.protocol.model import UNSET, Unknown
from accord.session.option import Choice, Command, ConfigOption, Group, Select, Toggle
from accord.session.presence import given, told

__all__ = ["commands_in", "commands_out", "options_in", "options_out"]


def options_out(options: list[ConfigOption], *, toggles: bool) -> list[v1.SessionConfigOption]:
    """The options; toggles only for a client that can show them."""
    return [_option_out(option) for option in options if toggles or not isinstance(option, Toggle)]


def _option_out(option: ConfigOption) -> v1.SessionConfigOption:
    match option:
        case Select():
            return v1.SessionConfigSelect(
                option.id,
                option.name,
                option.value,
                _values_out(option),
                given(option.description),
                given(option.category),
                option.meta or UNSET,
            )
        case Toggle():
            return v1.SessionConfigBoolean(
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


def _values_out(option: Select) -> list[v1.SessionConfigSelectOption] | list[v1.SessionConfigSelectGroup]:
    if option.groups and not option.choices:
        return [
            v1.SessionConfigSelectGroup(group.group, group.name, _choices_out(group.choices), group.meta or UNSET)
            for group in option.groups
        ]
    # Values with and without a heading cannot stand in one list: then all stand without.
    return _choices_out([*option.choices, *(choice for group in option.groups for choice in group.choices)])


def _choices_out(choices: list[Choice]) -> list[v1.SessionConfigSelectOption]:
    return [
        v1.SessionConfigSelectOption(choice.value, choice.name, given(choice.description), choice.meta or UNSET)
        for choice in choices
    ]


def options_in(options: list[v1.SessionConfigOption]) -> list[ConfigOption]:
    """The options."""
    return [_option_in(option) for option in options]


def _option_in(option: v1.SessionConfigOption) -> ConfigOption:
    match option:
        case v1.SessionConfigSelect():
            choices: list[Choice] = []
            groups: list[Group] = []
            for value in option.options:
                if isinstance(value, v1.SessionConfigSelectGroup):
                    held = [_choice_in(choice) for choice in value.options]
                    groups.append(Group(value.group, value.name, held, value.meta or None))
                else:
                    choices.append(_choice_in(value))
            return Select(
                option.id,
                option.name,
                option.current_value,
                choices,
                groups,
                told(option.description),
                told(option.category),
                option.meta or None,
            )
        case v1.SessionConfigBoolean():
            return Toggle(
                option.id,
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


def _choice_in(choice: v1.SessionConfigSelectOption) -> Choice:
    return Choice(choice.value, choice.name, told(choice.description), choice.meta or None)


def commands_out(commands: list[Command]) -> list[v1.AvailableCommand]:
    """The commands; one of which only an unknown payload is known has no name and cannot be offered."""
    return [
        v1.AvailableCommand(
            command.name,
            command.description,
            UNSET if command.hint is None else v1.UnstructuredCommandInput(command.hint),
            command.meta or UNSET,
        )
        for command in commands
        if command.name
    ]


def commands_in(commands: list[v1.AvailableCommand]) -> list[Command]:
    """The commands."""
    return [
        Command(command.name, command.description, command.input.hint if command.input else None, command.meta or None)
        for command in commands
    ]
