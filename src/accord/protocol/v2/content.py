"""Content blocks, and the messages that are made of them, whole or in chunks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from accord.protocol.model import UNSET, Lenient, Maybe, Metadata, Open, Sieved, UInt64, Unit, Untagged, Wire
from accord.protocol.v2.connection import MediaType, MessageId

# --- blocks

Role: TypeAlias = Literal["assistant", "user"] | str


class Annotations(Wire):
    """Optional hints on a block: its audience, its priority, its last change."""

    audience: Lenient[Maybe[Sieved[list[Role]]]] = UNSET
    last_modified: Lenient[Maybe[str]] = UNSET
    priority: Lenient[Maybe[Unit]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class TextContent(Wire, tag_field="type", tag="text"):
    """Baseline block that every agent takes in prompts without announcing it."""

    text: str
    annotations: Lenient[Maybe[Annotations]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class ImageContent(Wire, tag_field="type", tag="image"):
    """data is base64; allowed in prompts only if the agent announced image."""

    data: str
    mime_type: MediaType
    uri: Lenient[Maybe[str]] = UNSET
    annotations: Lenient[Maybe[Annotations]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class AudioContent(Wire, tag_field="type", tag="audio"):
    """data is base64; allowed in prompts only if the agent announced audio."""

    data: str
    mime_type: MediaType
    annotations: Lenient[Maybe[Annotations]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


IconTheme: TypeAlias = Literal["light", "dark"] | str


class Icon(Wire):
    """src uses the scheme https or data only; sizes look like 48x48, or any if it scales."""

    src: str
    mime_type: Lenient[Maybe[MediaType]] = UNSET
    sizes: Lenient[Maybe[Sieved[list[str]]]] = UNSET
    theme: Lenient[Maybe[IconTheme]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class ResourceLink(Wire, tag_field="type", tag="resource_link"):
    """Only points at the data, so the agent must fetch it; always allowed; size is in bytes."""

    name: str
    uri: str
    title: Lenient[Maybe[str]] = UNSET
    description: Lenient[Maybe[str]] = UNSET
    icons: Lenient[Maybe[Sieved[list[Icon]]]] = UNSET
    mime_type: Lenient[Maybe[MediaType]] = UNSET
    size: Lenient[Maybe[UInt64]] = UNSET
    annotations: Lenient[Maybe[Annotations]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class TextResourceContents(Wire):
    """text is the content itself; uri says where it came from."""

    text: str
    uri: str
    mime_type: Lenient[Maybe[MediaType]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class BlobResourceContents(Wire):
    """blob is the content as base64; uri says where it came from."""

    blob: str
    uri: str
    mime_type: Lenient[Maybe[MediaType]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


if TYPE_CHECKING:
    EmbeddedResourceResource: TypeAlias = TextResourceContents | BlobResourceContents
else:

    class EmbeddedResourceResource(Untagged):
        """Text or binary form, distinguished by the key text or blob."""

        plain = (
            TextResourceContents,
            BlobResourceContents,
        )


class EmbeddedResource(Wire, tag_field="type", tag="resource"):
    """Carries the content along; allowed in prompts only if embeddedContext was announced."""

    resource: EmbeddedResourceResource
    annotations: Lenient[Maybe[Annotations]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


ContentBlock: TypeAlias = Open[TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource]


# --- messages


class ContentChunk(Wire):
    """One block to append to a message; the variant says whose message it is."""

    message_id: MessageId
    content: ContentBlock
    meta: Lenient[Maybe[Metadata]] = UNSET


class UserMessageChunk(ContentChunk, tag_field="sessionUpdate", tag="user_message_chunk"):
    """Adds a block to the user's message; echoed or replayed by the agent."""


class AgentMessageChunk(ContentChunk, tag_field="sessionUpdate", tag="agent_message_chunk"):
    """Adds a block to the agent's reply to the user."""


class AgentThoughtChunk(ContentChunk, tag_field="sessionUpdate", tag="agent_thought_chunk"):
    """Adds a block to the agent's reasoning, which is kept apart from the reply."""


class UserMessage(Wire, tag_field="sessionUpdate", tag="user_message"):
    """Creates or patches a user message; given content replaces all of it, absent keeps it."""

    message_id: MessageId
    content: Lenient[Maybe[Sieved[list[ContentBlock]]]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class AgentMessage(Wire, tag_field="sessionUpdate", tag="agent_message"):
    """Creates or patches an agent message; given content replaces all, absent keeps it."""

    message_id: MessageId
    content: Lenient[Maybe[Sieved[list[ContentBlock]]]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class AgentThought(Wire, tag_field="sessionUpdate", tag="agent_thought"):
    """Creates or patches a thought; given content replaces all of it, absent keeps it."""

    message_id: MessageId
    content: Lenient[Maybe[Sieved[list[ContentBlock]]]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET
