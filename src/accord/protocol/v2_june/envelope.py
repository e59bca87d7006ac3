"""What may stand in a message, by sender."""

from typing import Any, TypeAlias

from accord.protocol.v2_june.auth import AuthenticateRequest, AuthenticateResponse, LogoutRequest, LogoutResponse
from accord.protocol.v2_june.config import SetSessionConfigOptionRequest, SetSessionConfigOptionResponse
from accord.protocol.v2_june.initialize import InitializeRequest, InitializeResponse
from accord.protocol.v2_june.permission import RequestPermissionRequest, RequestPermissionResponse
from accord.protocol.v2_june.prompt import CancelNotification, PromptRequest, PromptResponse
from accord.protocol.v2_june.session import (
    CloseSessionRequest,
    CloseSessionResponse,
    DeleteSessionRequest,
    DeleteSessionResponse,
    ListSessionsRequest,
    ListSessionsResponse,
    LoadSessionRequest,
    LoadSessionResponse,
    NewSessionRequest,
    NewSessionResponse,
    ResumeSessionRequest,
    ResumeSessionResponse,
)
from accord.protocol.v2_june.update import SessionNotification

AgentRequest: TypeAlias = RequestPermissionRequest
ExtRequest: TypeAlias = Any
AgentResponse: TypeAlias = (
    InitializeResponse
    | AuthenticateResponse
    | LogoutResponse
    | NewSessionResponse
    | LoadSessionResponse
    | ListSessionsResponse
    | DeleteSessionResponse
    | ResumeSessionResponse
    | CloseSessionResponse
    | SetSessionConfigOptionResponse
    | PromptResponse
)
ExtResponse: TypeAlias = Any
AgentNotification: TypeAlias = SessionNotification
ExtNotification: TypeAlias = Any
ClientRequest: TypeAlias = (
    InitializeRequest
    | AuthenticateRequest
    | LogoutRequest
    | NewSessionRequest
    | LoadSessionRequest
    | ListSessionsRequest
    | DeleteSessionRequest
    | ResumeSessionRequest
    | CloseSessionRequest
    | SetSessionConfigOptionRequest
    | PromptRequest
)
ClientResponse: TypeAlias = RequestPermissionResponse
ClientNotification: TypeAlias = CancelNotification
