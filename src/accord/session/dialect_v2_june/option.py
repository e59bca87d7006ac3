"""What a user can choose, in the June draft: options by `id`, groups by `group`, no toggles, untyped commands."""

from typing import assert_never

from accord.protocol import v2_june
from accord.protocol.model import UNSET, Maybe, Unknown
from accord.session.option import Choice, Command, ConfigOption, Group, Select, Toggle
from accord.session.presence import given, told
from accord.session.unheard import payload_of

__all__ = ["commands_in", "commands_out", "options_in", "options_out"]


def options_out(options: list[ConfigOption]) -> list[v2_june.SessionConfigOption]:
    """The options; toggles have no shape here."""
    return [_option_out(option) for option in options if not isinstance(option, Toggle)]


def _option_out(option: Select | Unknown) -> v2_june.SessionConfigOption:
    match option:
        case Select():
            return v2_june.SessionConfigSelect(
                option.id,
                option.name,
                option.value,
                _values_out(option),
                given(option.description),
                given(option.category),
                option.meta or UNSET,
            )
        case Unknown():
            return option
        case _:
            assert_never(option)


def _values_out(option: Select) -> list[v2_june.SessionConfigSelectOption] | list[v2_june.SessionConfigSelectGroup]:
    if option.groups and not option.choices:
        return [
            v2_june.SessionConfigSelectGroup(group.group, group.name, _choices_out(group.choices), group.meta or UNSET)
            for group in option.groups
        ]
    # Values with and without a heading cannot stand in one list: then all stand without.
    return _choices_out([*option.choices, *(choice for group in option.groups for choice in group.choices)])


def _choices_out(choices: list[Choice]) -> list[v2_june.SessionConfigSelectOption]:
    return [
        v2_june.SessionConfigSelectOption(choice.value, choice.name, given(choice.description), choice.meta or UNSET)
        for choice in choices
    ]


def options_in(options: list[v2_june.SessionConfigOption]) -> list[ConfigOption]:
    """The options."""
    return [_option_in(option) for option in options]


def _option_in(option: v2_june.SessionConfigOption) -> ConfigOption:
    match option:
        case v2_june.SessionConfigSelect():
            choices: list[Choice] = []
            groups: list[Group] = []
            for value in option.options:
                if isinstance(value, v2_june.SessionConfigSelectGroup):
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
        case Unknown():
            return option
        case _:
            assert_never(option)


def _choice_in(choice: v2_june.SessionConfigSelectOption) -> Choice:
    return Choice(choice.value, choice.name, told(choice.description), choice.meta or None)


def commands_out(commands: list[Command]) -> list[v2_june.AvailableCommand]:
    """The commands; one of which only an unknown payload is known has no name and cannot be offered."""
    return [
        v2_june.AvailableCommand(
            command.name,
            command.description,
            _input_out(command),
            command.meta or UNSET,
        )
        for command in commands
        if command.name
    ]


def _input_out(command: Command) -> Maybe[v2_june.AvailableCommandInput]:
    further = command.payload.get("input") if command.payload is not None else None
    if isinstance(further, dict) and isinstance(further.get("type"), str):
        return Unknown(further["type"], further)
    return UNSET if command.hint is None else v2_june.UnstructuredCommandInput(command.hint)


def commands_in(commands: list[v2_june.AvailableCommand]) -> list[Command]:
    """The commands; of one that takes another input than text the whole is kept."""
    return [_command_in(command) for command in commands]


def _command_in(command: v2_june.AvailableCommand) -> Command:
    meta = command.meta or None
    if isinstance(command.input, Unknown):
        return Command(command.name, command.description, meta=meta, payload=payload_of(command))
    return Command(command.name, command.description, command.input.hint if command.input else None, meta)
