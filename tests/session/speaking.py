"""A voice and an ear of one edition, with the strict wire between them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from accord.protocol import v1, v2, v2_june
from accord.protocol.codec import Codec, encode
from accord.session import dialect_v1, dialect_v2, dialect_v2_june
from accord.session.capability import ClientCapabilities
from accord.session.dialect import Ear, Voice
from accord.session.event import Event
from accord.session.original import ORIGINAL

ABLE = ClientCapabilities(notices=True, compaction=True, toggles=True)
PLAIN = ClientCapabilities()


@dataclass(frozen=True)
class Talk:
    """One edition, as far as updates go."""

    voices: Callable[[ClientCapabilities], Voice]
    ear: Callable[[], Ear]
    notification: Any

    def voice(self, capabilities: ClientCapabilities = ABLE) -> Voice:
        return self.voices(capabilities)

    def carried(self, update: Any) -> Any:
        """The update as the other side reads it; a strict reader refuses whatever the edition does not allow."""
        text = encode(self.notification("s", update))
        return Codec(strict=True).decode(self.notification, text).update

    def heard(self, events: list[Event], capabilities: ClientCapabilities = ABLE) -> list[Event]:
        """What a client hears when an agent says these events, to the last."""
        voice, ear = self.voice(capabilities), self.ear()
        updates = [update for event in events for update in voice.say(event)] + voice.flush()
        return [event for update in updates for event in ear.hear(self.carried(update))]


V1 = Talk(dialect_v1.Voice, dialect_v1.Ear, v1.SessionNotification)
V2 = Talk(dialect_v2.Voice, dialect_v2.Ear, v2.UpdateSessionNotification)
JUNE = Talk(dialect_v2_june.Voice, dialect_v2_june.Ear, v2_june.SessionNotification)


def plain(value: Any) -> Any:
    """JSON as other clients see it: without the originals."""
    if isinstance(value, list):
        return [plain(item) for item in value]
    if not isinstance(value, dict):
        return value
    cleaned = {key: plain(item) for key, item in value.items() if key != ORIGINAL}
    return {key: item for key, item in cleaned.items() if (key, item) != ("_meta", {})}


def content(text: str) -> dict[str, Any]:
    """A text among what a tool call shows."""
    return {"type": "content", "content": {"type": "text", "text": text}}
