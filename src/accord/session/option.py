"""Config options, modes, slash commands and permission options."""

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import msgspec

from accord.protocol.model import Unknown
from accord.session.content import Part
from accord.session.custom import Custom, known_values
from accord.session.refusal import means_no

__all__ = [
    "MADE_FROM",
    "PERMISSION_KINDS",
    "Choice",
    "Command",
    "ConfigOption",
    "Consent",
    "Group",
    "OptionCategory",
    "PermissionKind",
    "PermissionOption",
    "Select",
    "Toggle",
    "mode_option",
    "with_made",
    "with_mode",
]

PermissionKind: TypeAlias = Literal["allow_once", "allow_always", "reject_once", "reject_always"] | Custom
"""The kind of an option of a permission request."""
PERMISSION_KINDS = known_values(PermissionKind)
OptionCategory: TypeAlias = Literal["mode", "model", "model_config", "thought_level"] | Custom
"""The topic of a config option, a hint for its presentation."""


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
    """An option with one of several values; `category` is a hint for the presentation (mode, model, ...)."""

    id: str
    name: str
    value: str
    choices: list[Choice] = []
    groups: list[Group] = []
    description: str | None = None
    category: OptionCategory | None = None
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
    category: OptionCategory | None = None
    meta: dict[str, Any] | None = None


ConfigOption: TypeAlias = Select | Toggle | Unknown
"""An option of a session; `Unknown` is a kind that no edition names yet."""


class Command(Part):
    """A slash command; `hint` says what may follow its name, None that nothing does.

    `payload` is the whole of a command of which an edition says more than this.
    """

    name: str
    description: str
    hint: str | None = None
    meta: dict[str, Any] | None = None
    payload: dict[str, Any] | None = None


Consent: TypeAlias = Literal["allow", "reject", "unknown"]
"""The meaning of an option of a permission request."""


class PermissionOption(Part):
    """One answer to a permission request; `kind` is a hint, the id decides."""

    id: str
    name: str
    kind: PermissionKind
    meta: dict[str, Any] | None = None

    @property
    def refuses(self) -> bool:
        """Whether its name or its id is a word for no: then choosing it never allows anything."""
        return means_no(self.name) or means_no(self.id)

    @property
    def consent(self) -> Consent:
        """Its meaning for the agent. A kind that allows under a name or an id that refuses is neither."""
        if self.kind in {"reject_once", "reject_always"}:
            return "reject"
        if self.kind in {"allow_once", "allow_always"} and not self.refuses:
            return "allow"
        return "unknown"

    @property
    def is_lasting(self) -> bool:
        """Whether the choice is meant for later requests too."""
        return self.kind in {"allow_always", "reject_always"}

    def can_be_given(self, options: Sequence["PermissionOption"]) -> bool:
        """Whether its id can be sent: no other option shares it, and no refusal is sent as anything else."""
        is_alone = sum(option.id == self.id for option in options) == 1
        return is_alone and (self.kind in {"reject_once", "reject_always"} or not self.refuses)


MADE_FROM = "accord/made-from"
"""A key in the metadata of an option that its agent sent only in v1's older shapes: `modes`, `models`."""


def mode_option(options: list[ConfigOption]) -> Select | None:
    return next((option for option in options if isinstance(option, Select) and option.category == "mode"), None)


def with_mode(options: list[ConfigOption], mode: str) -> list[ConfigOption] | None:
    """The options with another mode; None where nothing changes, because it is that mode already or there is none."""
    stands = mode_option(options)
    if stands is None or stands.value == mode:
        return None
    return [msgspec.structs.replace(option, value=mode) if option is stands else option for option in options]


def with_made(options: list[ConfigOption], before: list[ConfigOption]) -> list[ConfigOption]:
    """New options, with those that were made before: an agent that does not know them cannot repeat them."""
    named = [option for option in options if not isinstance(option, Unknown)]
    ids, categories = {option.id for option in named}, {option.category for option in named}
    return options + [
        option
        for option in before
        if isinstance(option, Select)
        and MADE_FROM in (option.meta or {})
        and option.id not in ids
        and option.category not in categories
    ]
