"""An encoder and a decoder of one edition, with the strict wire between them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from accord.protocol import v1, v2, v2_june
from accord.protocol.codec import Codec, encode
from accord.session.capability import ClientCapabilities
from accord.session.dialect import UpdateDecoder, UpdateEncoder
from accord.session.editions import v1 as edition_v1, v2 as edition_v2, v2_june as edition_june
from accord.session.event import Event
from accord.session.meta_original import ORIGINAL

ABLE = ClientCapabilities(notices=True, compaction=True, toggles=True, meta={ORIGINAL: True})
PLAIN = ClientCapabilities(meta={ORIGINAL: True})


@dataclass(frozen=True)
class Talk:
    """One edition, as far as updates go."""

    encoders: Callable[[ClientCapabilities], UpdateEncoder]
    decoders: Callable[[], UpdateDecoder]
    notification: Any

    def encoder(self, capabilities: ClientCapabilities = ABLE) -> UpdateEncoder:
        return self.encoders(capabilities)

    def carried(self, update: Any) -> Any:
        """The update as the other side reads it; a strict reader refuses whatever the edition does not allow."""
        text = encode(self.notification("s", update))
        return Codec(strict=True).decode(self.notification, text).update

    def received(self, events: list[Event], capabilities: ClientCapabilities = ABLE) -> list[Event]:
        """What a client hears when an agent says these events, to the last."""
        encoder, decoder = self.encoder(capabilities), self.decoders()
        updates = [update for event in events for update in encoder.encode(event)] + encoder.flush()
        return [event for update in updates for event in decoder.decode(self.carried(update))]


V1 = Talk(edition_v1.V1Encoder, edition_v1.V1Decoder, v1.SessionNotification)
V2 = Talk(edition_v2.V2Encoder, edition_v2.V2Decoder, v2.UpdateSessionNotification)
JUNE = Talk(edition_june.JuneEncoder, edition_june.JuneDecoder, v2_june.SessionNotification)


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
