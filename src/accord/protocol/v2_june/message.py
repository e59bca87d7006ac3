"""What users and agents say, whole or in chunks."""

from accord.protocol.model import UNSET, Lenient, Maybe, Metadata, Sieved, Wire
from accord.protocol.v2_june.content import ContentBlock
from accord.protocol.v2_june.ids import MessageId


class ContentChunk(Wire):
    """One block to append to a message; the variant tells whose message it is."""

    content: ContentBlock
    message_id: MessageId
    meta: Maybe[Metadata] = UNSET


class UserMessageChunk(ContentChunk, tag_field="sessionUpdate", tag="user_message_chunk"):
    """Adds a block to what the user said; echoed or replayed by the agent."""


class AgentMessageChunk(ContentChunk, tag_field="sessionUpdate", tag="agent_message_chunk"):
    """Adds a block to the agent's reply to the user."""


class AgentThoughtChunk(ContentChunk, tag_field="sessionUpdate", tag="agent_thought_chunk"):
    """Adds a block to the agent's reasoning, which is kept apart from the reply."""


class UserMessage(Wire, tag_field="sessionUpdate", tag="user_message"):
    """Creates or patches a user message; given content replaces all of it, absent keeps it."""

    message_id: MessageId
    content: Lenient[Maybe[Sieved[list[ContentBlock]]]] = UNSET
    meta: Maybe[Metadata] = UNSET


class AgentMessage(Wire, tag_field="sessionUpdate", tag="agent_message"):
    """Creates or patches an agent message; given content replaces all, absent keeps it."""

    message_id: MessageId
    content: Lenient[Maybe[Sieved[list[ContentBlock]]]] = UNSET
    meta: Maybe[Metadata] = UNSET


class AgentThought(Wire, tag_field="sessionUpdate", tag="agent_thought"):
    """Creates or patches a thought; given content replaces all of it, absent keeps it."""

    message_id: MessageId
    content: Lenient[Maybe[Sieved[list[ContentBlock]]]] = UNSET
    meta: Maybe[Metadata] = UNSET
