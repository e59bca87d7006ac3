"""Models of a session, as only the 2025 text had them."""

from accord.protocol.model import UNSET, Maybe, Metadata, Wire
from accord.protocol.v1.ids import ModelId, SessionId


class ModelInfo(Wire):
    """One model on offer, with texts for a menu (2025 text only, unstable there)."""

    model_id: ModelId
    name: str
    description: Maybe[str] = UNSET
    meta: Maybe[Metadata] = UNSET


class SessionModelState(Wire):
    """Models on offer and the active one; absent if the agent gives no choice (2025 only)."""

    available_models: list[ModelInfo]
    current_model_id: ModelId
    meta: Maybe[Metadata] = UNSET


class SetSessionModelRequest(Wire):
    """Picks one of the offered models; later editions use a config option instead."""

    model_id: ModelId
    session_id: SessionId
    meta: Maybe[Metadata] = UNSET


class SetSessionModelResponse(Wire):
    """Empty; the model asked for is now the active one (2025 text only)."""

    meta: Maybe[Metadata] = UNSET
