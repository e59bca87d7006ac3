"""Content blocks: what prompts, messages and tool calls are made of."""

from typing import TYPE_CHECKING, Literal, TypeAlias

from accord.protocol.model import UNSET, Lenient, Maybe, Metadata, Open, Sieved, UInt64, Unit, Untagged, Wire
from accord.protocol.v2.ids import MediaType

Role: TypeAlias = Literal["assistant", "user"] | str


class Annotations(Wire):
    """Optional hints on a block: for whom it is, how much it matters, when it last changed."""

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
        """Text or binary form, told apart by which of text and blob is there."""

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
