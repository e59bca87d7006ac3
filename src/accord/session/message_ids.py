"""Ids of messages on the wire, where an edition cannot use the core's id or a message has none.

The core's ids are unique per speaker. June and v1 want them unique across the session, June and v2 want one on every
chunk.
"""

from accord.session.event import Speaker

__all__ = ["MessageIds"]


class MessageIds:
    """The names used in one session; the same calls give the same names."""

    def __init__(self) -> None:
        self._names: dict[tuple[Speaker, str], str] = {}
        """The names of messages that could not have their ids."""
        self._taken: dict[str, Speaker | None] = {}
        """Every name, and whose id it is."""
        self._open: tuple[Speaker, str] | None = None

    def of(self, speaker: Speaker, message_id: str) -> str:
        """The name of a message: its id, unless another speaker has used that."""
        self._open = None
        # First the id that is new, as all of a replay are: no other lookup is needed for it.
        if message_id not in self._taken:
            self._taken[message_id] = speaker
            return message_id
        name = self._names.get((speaker, message_id))
        if name is None and self._taken[message_id] == speaker:
            return message_id
        return name or self.renew(speaker, message_id)

    def use(self, message_id: str) -> None:
        """Note an id that stays what it is, because ids per speaker are what the edition has."""
        self._open = None
        self._taken.setdefault(message_id, None)

    def renew(self, speaker: Speaker, message_id: str) -> str:
        """A new name for a message; chunks under it are not taken for more of the old one."""
        if message_id not in self._taken:
            self._taken[message_id] = speaker
            return message_id
        name = self._names[speaker, message_id] = self.fresh(f"{speaker}-{message_id}")
        return name

    def unnamed(self, speaker: Speaker) -> str:
        """The name for a chunk without an id: that of the chunk before, if nothing came between."""
        if self._open is None or self._open[0] != speaker:
            self._open = (speaker, self.fresh(speaker))
        return self._open[1]

    def pause(self) -> None:
        """Something else was said: a later chunk without an id starts another message."""
        self._open = None

    def fresh(self, stem: str) -> str:
        """An id that is not used yet."""
        name, number = stem, 1
        while name in self._taken:
            number += 1
            name = f"{stem}-{number}"
        self._taken[name] = None
        return name
