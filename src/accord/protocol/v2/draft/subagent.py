"""Sessions that an agent runs for another session."""

from accord.protocol.model import UNSET, Lenient, Maybe, Metadata, Wire
from accord.protocol.v2.draft.capabilities import SubagentSessionCapabilities
from accord.protocol.v2.draft.state import StateUpdate
from accord.protocol.v2.ids import AbsolutePath, SessionId


class SubagentUpdate(Wire, tag_field="sessionUpdate", tag="subagent_update"):
    """Sent in the parent's session; the first one for an id announces that child."""

    session_id: SessionId
    title: Lenient[Maybe[str]] = UNSET
    description: Lenient[Maybe[str]] = UNSET
    capabilities: Lenient[Maybe[SubagentSessionCapabilities]] = UNSET
    state: Lenient[Maybe[StateUpdate]] = UNSET
    cwd: Maybe[AbsolutePath] = UNSET
    additional_directories: Maybe[list[AbsolutePath]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET
