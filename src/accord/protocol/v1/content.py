"""Content blocks, and the messages that are made of them, whole or in chunks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from accord.protocol.model import UNSET, Closed, Int64, Lenient, Maybe, Metadata, Open, Sieved, Untagged, Wire
from accord.protocol.v1.connection import MessageId

# --- blocks

Role: TypeAlias = Closed[Literal["assistant", "user"] | str]


class Annotations(Wire):
    """Optional hints on a block: its audience, its priority, its last change."""

    audience: Lenient[Maybe[Sieved[list[Role]]]] = UNSET
    last_modified: Lenient[Maybe[str]] = UNSET
    priority: Lenient[Maybe[float]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class TextContent(Wire, tag_field="type", tag="text"):
    """Baseline block that every agent takes in prompts without announcing it."""

    text: str
    annotations: Lenient[Maybe[Annotations]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class ImageContent(Wire, tag_field="type", tag="image"):
    """data is base64; allowed in prompts only if the agent announced image."""

    data: str
    mime_type: str
    annotations: Lenient[Maybe[Annotations]] = UNSET
    uri: Lenient[Maybe[str]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class AudioContent(Wire, tag_field="type", tag="audio"):
    """data is base64; allowed in prompts only if the agent announced audio."""

    data: str
    mime_type: str
    annotations: Lenient[Maybe[Annotations]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class ResourceLink(Wire, tag_field="type", tag="resource_link"):
    """Only points at the data, so the agent must fetch it; always allowed; size is in bytes."""

    name: str
    uri: str
    annotations: Lenient[Maybe[Annotations]] = UNSET
    description: Lenient[Maybe[str]] = UNSET
    mime_type: Lenient[Maybe[str]] = UNSET
    size: Lenient[Maybe[Int64]] = UNSET
    title: Lenient[Maybe[str]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class TextResourceContents(Wire):
    """text is the content itself; uri says where it came from."""

    text: str
    uri: str
    mime_type: Lenient[Maybe[str]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class BlobResourceContents(Wire):
    """blob is the content as base64; uri says where it came from."""

    blob: str
    uri: str
    mime_type: Lenient[Maybe[str]] = UNSET
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

    content: ContentBlock
    message_id: Lenient[Maybe[MessageId]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class UserMessageChunk(ContentChunk, tag_field="sessionUpdate", tag="user_message_chunk"):
    """Adds a block to the user's message; echoed or replayed by the agent."""


class AgentMessageChunk(ContentChunk, tag_field="sessionUpdate", tag="agent_message_chunk"):
    """Adds a block to the agent's reply to the user."""


class AgentThoughtChunk(ContentChunk, tag_field="sessionUpdate", tag="agent_thought_chunk"):
    """Adds a block to the agent's reasoning, which is kept apart from the reply."""
