"""What users and agents say, whole or in chunks."""

from accord.protocol.model import UNSET, Lenient, Maybe, Metadata, Wire
from accord.protocol.v1.content import ContentBlock
from accord.protocol.v1.ids import MessageId


class ContentChunk(Wire):
    """One block to append to a message; the variant tells whose message it is."""

    content: ContentBlock
    message_id: Lenient[Maybe[MessageId]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class UserMessageChunk(ContentChunk, tag_field="sessionUpdate", tag="user_message_chunk"):
    """Adds a block to what the user said; echoed or replayed by the agent."""


class AgentMessageChunk(ContentChunk, tag_field="sessionUpdate", tag="agent_message_chunk"):
    """Adds a block to the agent's reply to the user."""


class AgentThoughtChunk(ContentChunk, tag_field="sessionUpdate", tag="agent_thought_chunk"):
    """Adds a block to the agent's reasoning, which is kept apart from the reply."""
