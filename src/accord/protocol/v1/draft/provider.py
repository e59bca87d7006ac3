"""Which LLM providers an agent talks to, and changing that."""

from typing import Literal, TypeAlias

from accord.protocol.model import UNSET, Lenient, Maybe, Metadata, Omittable, Sieved, Wire
from accord.protocol.v1.draft.ids import ProviderId

LlmProtocol: TypeAlias = Literal["anthropic", "openai", "azure", "vertex", "bedrock"] | str


class ProviderCurrentConfig(Wire):
    """Where model calls go at present; headers are left out since they may be secret."""

    api_type: LlmProtocol
    base_url: str
    meta: Lenient[Maybe[Metadata]] = UNSET


class ProviderInfo(Wire):
    """current absent or null means switched off; required ones cannot be switched off."""

    provider_id: ProviderId
    supported: Lenient[Sieved[list[LlmProtocol]]]
    required: bool
    current: Maybe[ProviderCurrentConfig] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class ListProvidersResponse(Wire):
    """Every provider that can be set up, also those switched off at present."""

    providers: list[ProviderInfo]
    meta: Lenient[Maybe[Metadata]] = UNSET


class SetProviderResponse(Wire):
    """Empty; the old setup of that provider is gone."""

    meta: Lenient[Maybe[Metadata]] = UNSET


class DisableProviderResponse(Wire):
    """Empty; the provider is then listed without a current setup."""

    meta: Lenient[Maybe[Metadata]] = UNSET


class ListProvidersRequest(Wire):
    """Asks what can be set up and where each provider points now."""

    meta: Lenient[Maybe[Metadata]] = UNSET


class SetProviderRequest(Wire):
    """Replaces the provider's setup as a whole; headers may hold secrets."""

    provider_id: ProviderId
    api_type: LlmProtocol
    base_url: str
    headers: Omittable[dict[str, str]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class DisableProviderRequest(Wire):
    """Switches one provider off; not allowed where required is true."""

    provider_id: ProviderId
    meta: Lenient[Maybe[Metadata]] = UNSET
