"""What may stand in a message, by sender."""

from typing import Any, TypeAlias

from accord.protocol.v2.auth import LoginAuthRequest, LoginAuthResponse, LogoutAuthRequest, LogoutAuthResponse
from accord.protocol.v2.config import SetSessionConfigOptionRequest, SetSessionConfigOptionResponse
from accord.protocol.v2.elicitation import (
    CompleteElicitationNotification,
    CreateElicitationRequest,
    CreateElicitationResponse,
)
from accord.protocol.v2.initialize import InitializeRequest, InitializeResponse
from accord.protocol.v2.permission import RequestPermissionRequest, RequestPermissionResponse
from accord.protocol.v2.prompt import CancelSessionNotification, PromptRequest, PromptResponse
from accord.protocol.v2.session import (
    CloseSessionRequest,
    CloseSessionResponse,
    DeleteSessionRequest,
    DeleteSessionResponse,
    ListSessionsRequest,
    ListSessionsResponse,
    NewSessionRequest,
    NewSessionResponse,
    ResumeSessionRequest,
    ResumeSessionResponse,
)
from accord.protocol.v2.terminal import CancelTerminalRequest, CancelTerminalResponse
from accord.protocol.v2.tool_call import CancelToolCallRequest, CancelToolCallResponse
from accord.protocol.v2.update import UpdateSessionNotification

AgentRequest: TypeAlias = RequestPermissionRequest | CreateElicitationRequest
ExtRequest: TypeAlias = Any
AgentResponse: TypeAlias = (
    InitializeResponse
    | LoginAuthResponse
    | LogoutAuthResponse
    | NewSessionResponse
    | ListSessionsResponse
    | DeleteSessionResponse
    | ResumeSessionResponse
    | CloseSessionResponse
    | CancelToolCallResponse
    | CancelTerminalResponse
    | SetSessionConfigOptionResponse
    | PromptResponse
)
ExtResponse: TypeAlias = Any
AgentNotification: TypeAlias = UpdateSessionNotification | CompleteElicitationNotification
ExtNotification: TypeAlias = Any
ClientRequest: TypeAlias = (
    InitializeRequest
    | LoginAuthRequest
    | LogoutAuthRequest
    | NewSessionRequest
    | ListSessionsRequest
    | DeleteSessionRequest
    | ResumeSessionRequest
    | CloseSessionRequest
    | CancelToolCallRequest
    | CancelTerminalRequest
    | SetSessionConfigOptionRequest
    | PromptRequest
)
ClientResponse: TypeAlias = RequestPermissionResponse | CreateElicitationResponse
ClientNotification: TypeAlias = CancelSessionNotification
