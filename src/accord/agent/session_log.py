"""A session as its log has it: restored when it is opened, healed by a new owner, learned by the encoder of a copy."""

from __future__ import annotations

from accord.agent.history import healing, outlined, replayed
from accord.agent.session import Session
from accord.protocol.codec import decode_json
from accord.session.replay import Outline
from accord.stores.interface import Store

__all__ = ["learned", "restored"]


async def restored(session: Session, store: Store, *, heal: bool) -> Outline:
    """Restore the session: its settings, its author's state, and the outline of its log.

    Only a new owner may heal the log: an open turn of another process is not an interrupted one.
    """
    outline = await outlined(store, session.id)
    session.broke_off = heal and not outline.is_idle
    missing = healing(outline) if heal else []
    if missing:
        await store.append(session.id, missing)
        outline.add(missing)
    state = await store.state(session.id)
    session.state = None if state is None else decode_json(state)
    session._settings.restore(outline.config)
    return outline


async def learned(session: Session, store: Store, outline: Outline) -> None:
    """Encode the history of a copy without sending it: its client knows it from the source."""
    async for events in replayed(store, session.id, outline):
        for event in events:
            session._publisher.encoder.encode(event)
