"""What every edition's dialect can do: say events as updates, hear updates as events, and ask and answer.

A `Voice` belongs to one session of an agent, an `Ear` to one session of a client: both remember what an edition does
not repeat. What an edition cannot show is said in the nearest words it has (docs/editions.md has the table); an empty
list means that it has no words at all and nothing is lost by silence. What it cannot ask has no row among its `Words`.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import msgspec

from accord.protocol.edition import Edition
from accord.protocol.method import Method, NotificationMethod, RequestMethod
from accord.session.ask import AskPermission, Cancel, ElicitationDone, SessionOpened
from accord.session.capability import ClientCapabilities
from accord.session.event import Event, ToolChanged
from accord.session.turn import AnswerRule

__all__ = ["Dialect", "Ear", "Voice", "Words"]


class Voice(Protocol):
    """How an agent tells one session's events in one edition.

    After a restart without replay it must first say the session's history to nobody, so that it knows what the client
    knows.
    """

    client_terminals: set[str]
    """The terminals that the client itself runs and shows, by id; only v1 has them. Nothing is said of their output."""

    def say(self, event: Event) -> list[Any]:
        """The updates, in order, that go out as `session/update` notifications."""
        ...

    def forget_messages(self) -> None:
        """Nothing will change the messages that were said so far: their texts need not be remembered."""
        ...

    def flush(self) -> list[Any]:
        """What was held back where an edition can only repeat a growing whole; a change of state says it by itself."""
        ...


class Ear(Protocol):
    """How a client hears one session's updates in one edition."""

    def hear(self, update: Any) -> list[Event]:
        """The events that an update stands for. Unknown updates become `UnknownUpdate`, never nothing."""
        ...


class Words(msgspec.Struct, frozen=True):
    """How one edition asks one thing and answers it.

    `ask` is the kind of ask; an edition may have several rows for one (load and resume). `hear` and `say_answer` are
    the side's that is asked, `say` and `hear_answer` the asker's. `say` gives None where this row has no words for
    that very ask, and another row may. `hear` raises `InvalidParams` for what the edition wants refused. `needs` names
    the capability (of `AgentCapabilities` or `ClientCapabilities`, by the side that serves it) without which it must
    not be asked.
    """

    ask: type[Any]
    method: RequestMethod[Any, Any]
    hear: Callable[[Any], Any]
    say: Callable[[Any], Any]
    say_answer: Callable[[Any], Any]
    hear_answer: Callable[[Any, Any], Any]
    """Gets the result and the ask, because some answers do not repeat what they are about."""
    needs: str = ""


@dataclass(frozen=True)
class Dialect:
    """One edition as the layers above see it: they never ask which one it is."""

    edition: Edition
    rule: AnswerRule
    echoes: bool
    """Whether a prompt that has its place is told back as a message of the user."""
    agent_words: tuple[Words, ...]
    """What an agent can be asked."""
    client_words: tuple[Words, ...]
    """What a client can be asked."""
    voice: Callable[[ClientCapabilities], Voice]
    ear: Callable[[], Ear]
    update: NotificationMethod[Any]
    say_update: Callable[[str, Any], Any]
    """The params of an update, from the session's id and what the voice said."""
    hear_update: Callable[[Any], tuple[str, Any]]
    """The session's id and the update for the ear."""
    cancel: NotificationMethod[Any]
    say_cancel: Callable[[Cancel], Any]
    hear_cancel: Callable[[Any], Cancel]
    left_over: Callable[[SessionOpened], list[Event]]
    """What the answer to an opening has no place for, so that it must be told as events behind it."""
    stand_in: Callable[[AskPermission], ToolChanged | None] = lambda _: None
    """The tool call that a question about none was asked under, so that it can be ended when that is answered."""
    elicitation_done: NotificationMethod[Any] | None = None
    say_elicitation_done: Callable[[ElicitationDone], Any] | None = None
    hear_elicitation_done: Callable[[Any], ElicitationDone] | None = None
    drafts: tuple[Words, ...] = field(default=())
    """What an agent can be asked only where both sides agreed on unstable methods."""
    rows: tuple[Method, ...] = field(default=())
    """Rows that stand in the edition's table instead of those with the same names: see `dialects`."""

    def __repr__(self) -> str:
        return f"<dialect {self.edition.name}>"

    @cached_property
    def _by_ask(self) -> dict[type[Any], list[Words]]:
        found: dict[type[Any], list[Words]] = {}
        for words in (*self.agent_words, *self.client_words, *self.drafts):
            found.setdefault(words.ask, []).append(words)
        return found

    def find(self, ask: type[Any]) -> list[Words]:
        """The rows for a kind of ask; none where the edition has no words for it."""
        return self._by_ask.get(ask, [])

    def say(self, ask: Any) -> tuple[Words, Any] | None:
        """The row and the params for one ask; None where the edition cannot ask it."""
        for words in self.find(type(ask)):
            params = words.say(ask)
            if params is not None:
                return words, params
        return None
