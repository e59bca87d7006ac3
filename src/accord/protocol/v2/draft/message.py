"""What users and agents say, whole or in chunks."""

from accord.protocol.model import UNSET, Lenient, Maybe, Metadata, Sieved, Wire
from accord.protocol.v2.content import ContentBlock
from accord.protocol.v2.ids import MessageId, SessionId
from accord.protocol.v2.message import ContentChunk


class UserMessageChunk(ContentChunk, tag_field="sessionUpdate", tag="user_message_chunk"):
    """Adds a block to what the user said; echoed or replayed by the agent."""


class AgentMessageChunk(ContentChunk, tag_field="sessionUpdate", tag="agent_message_chunk"):
    """Adds a block to the agent's reply to the user."""


class AgentThoughtChunk(ContentChunk, tag_field="sessionUpdate", tag="agent_thought_chunk"):
    """Adds a block to the agent's reasoning, which is kept apart from the reply."""


class SessionMessage(Wire, tag_field="sessionUpdate", tag="session_message"):
    """Creates or patches a message between two sessions; given content replaces all of it."""

    message_id: MessageId
    sender_session_id: Lenient[Maybe[SessionId]] = UNSET
    recipient_session_id: Lenient[Maybe[SessionId]] = UNSET
    sender_message_id: Lenient[Maybe[MessageId]] = UNSET
    recipient_message_id: Lenient[Maybe[MessageId]] = UNSET
    content: Lenient[Maybe[Sieved[list[ContentBlock]]]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class SessionMessageChunk(Wire, tag_field="sessionUpdate", tag="session_message_chunk"):
    """One block to append; who wrote to whom is told by session_message alone."""

    message_id: MessageId
    content: ContentBlock
    meta: Lenient[Maybe[Metadata]] = UNSET
