"""What a user can choose: config options, modes, slash commands, and the answers to a permission question."""

from typing import Any, Literal, TypeAlias

from accord.protocol.model import Unknown
from accord.session.content import Part

__all__ = ["Choice", "Command", "ConfigOption", "Group", "PermissionOption", "Select", "Toggle"]


class Choice(Part):
    """One value of a select."""

    value: str
    name: str
    description: str | None = None
    meta: dict[str, Any] | None = None


class Group(Part):
    """Values of a select under a heading."""

    group: str
    name: str
    choices: list[Choice]
    meta: dict[str, Any] | None = None


class Select(Part, tag_field="type", tag="select"):
    """An option with one of several values; `category` is a hint for whoever shows it (mode, model, ...)."""

    id: str
    name: str
    value: str
    choices: list[Choice] = []
    groups: list[Group] = []
    description: str | None = None
    category: str | None = None
    meta: dict[str, Any] | None = None

    def values(self) -> list[str]:
        """Every value it can have."""
        return [choice.value for choice in (*self.choices, *(c for group in self.groups for c in group.choices))]


class Toggle(Part, tag_field="type", tag="boolean"):
    """An option that is on or off."""

    id: str
    name: str
    value: bool
    description: str | None = None
    category: str | None = None
    meta: dict[str, Any] | None = None


ConfigOption: TypeAlias = Select | Toggle | Unknown


class Command(Part):
    """A slash command; `hint` says what may follow its name, None that nothing does.

    `payload` is the whole of a command of which an edition says more than this.
    """

    name: str
    description: str
    hint: str | None = None
    meta: dict[str, Any] | None = None
    payload: dict[str, Any] | None = None


class PermissionOption(Part):
    """One answer to a permission question; `kind` is a hint, what counts is the id."""

    id: str
    name: str
    kind: Literal["allow_once", "allow_always", "reject_once", "reject_always"] | str
    meta: dict[str, Any] | None = None
