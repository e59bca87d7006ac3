"""Sessions that an agent runs for another session."""

from accord.protocol.model import UNSET, Lenient, Maybe, Metadata, Wire
from accord.protocol.v1.draft.capabilities import SubagentSessionCapabilities
from accord.protocol.v1.draft.state import StateUpdate
from accord.protocol.v1.ids import SessionId


class SubagentUpdate(Wire, tag_field="sessionUpdate", tag="subagent_update"):
    """Sent in the parent's session; the first one for an id announces that child."""

    session_id: SessionId
    title: Lenient[Maybe[str]] = UNSET
    description: Lenient[Maybe[str]] = UNSET
    capabilities: Lenient[Maybe[SubagentSessionCapabilities]] = UNSET
    state: Lenient[Maybe[StateUpdate]] = UNSET
    cwd: Maybe[str] = UNSET
    additional_directories: Maybe[list[str]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET
