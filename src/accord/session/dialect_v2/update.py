"""`session/update` as a client reads it: v2's updates, with the state as the unstable text has it.

Agents send what only the unstable text names without having been asked; what they send is read.
"""

from typing import TYPE_CHECKING, Annotated, TypeAlias, Union, get_args

from accord.protocol import v2
from accord.protocol.method import NotificationMethod
from accord.protocol.model import UNSET, Lenient, Maybe, Metadata, Wire
from accord.protocol.v2 import draft

__all__ = ["SESSION_UPDATE"]

if TYPE_CHECKING:
    Update: TypeAlias = v2.SessionUpdate | draft.StateUpdated
else:
    _KINDS, *_MARKS = get_args(v2.SessionUpdate)
    _KINDS = tuple(draft.StateUpdated if kind is v2.StateUpdated else kind for kind in get_args(_KINDS))
    Update = Annotated[(Union[_KINDS], *_MARKS)]  # noqa: UP007 - the members are counted at run time


class UpdateSessionNotification(Wire):
    """What happens in a session."""

    session_id: v2.SessionId
    update: Update
    meta: Lenient[Maybe[Metadata]] = UNSET


SESSION_UPDATE = NotificationMethod("session/update", "client", UpdateSessionNotification)
