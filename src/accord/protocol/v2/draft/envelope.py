"""What may stand in a message, by sender."""

from typing import TypeAlias

from accord.protocol.v2.auth import LoginAuthRequest, LoginAuthResponse, LogoutAuthRequest, LogoutAuthResponse
from accord.protocol.v2.config import SetSessionConfigOptionRequest, SetSessionConfigOptionResponse
from accord.protocol.v2.draft.auth import AuthStatusRequest, AuthStatusResponse, AuthStatusUpdateNotification
from accord.protocol.v2.draft.initialize import InitializeProxyRequest, InitializeProxyResponse, InitializeResponse
from accord.protocol.v2.draft.mcp import MessageMcpNotification, MessageMcpRequest, MessageMcpResponse
from accord.protocol.v2.draft.provider import (
    DisableProviderRequest,
    DisableProviderResponse,
    ListProvidersRequest,
    ListProvidersResponse,
    SetProviderRequest,
    SetProviderResponse,
)
from accord.protocol.v2.draft.proxy import ProxySuccessorNotification, ProxySuccessorRequest, ProxySuccessorResponse
from accord.protocol.v2.draft.session import (
    ArchiveSessionRequest,
    ArchiveSessionResponse,
    ForkSessionRequest,
    ForkSessionResponse,
    ListSessionsRequest,
    ListSessionsResponse,
    NewSessionRequest,
    ResumeSessionRequest,
    SessionStatusRequest,
    SessionStatusResponse,
    SetSessionTitleRequest,
    SetSessionTitleResponse,
    UnarchiveSessionRequest,
    UnarchiveSessionResponse,
)
from accord.protocol.v2.draft.update import UpdateSessionNotification
from accord.protocol.v2.elicitation import (
    CompleteElicitationNotification,
    CreateElicitationRequest,
    CreateElicitationResponse,
)
from accord.protocol.v2.initialize import InitializeRequest
from accord.protocol.v2.permission import RequestPermissionRequest, RequestPermissionResponse
from accord.protocol.v2.prompt import CancelSessionNotification, PromptRequest, PromptResponse
from accord.protocol.v2.session import (
    CloseSessionRequest,
    CloseSessionResponse,
    DeleteSessionRequest,
    DeleteSessionResponse,
    NewSessionResponse,
    ResumeSessionResponse,
)
from accord.protocol.v2.terminal import CancelTerminalRequest, CancelTerminalResponse
from accord.protocol.v2.tool_call import CancelToolCallRequest, CancelToolCallResponse

AgentRequest: TypeAlias = RequestPermissionRequest | CreateElicitationRequest | MessageMcpRequest
AgentResponse: TypeAlias = (
    InitializeResponse
    | LoginAuthResponse
    | ListProvidersResponse
    | SetProviderResponse
    | DisableProviderResponse
    | LogoutAuthResponse
    | AuthStatusResponse
    | NewSessionResponse
    | ListSessionsResponse
    | DeleteSessionResponse
    | ForkSessionResponse
    | ArchiveSessionResponse
    | UnarchiveSessionResponse
    | SessionStatusResponse
    | SetSessionTitleResponse
    | ResumeSessionResponse
    | CloseSessionResponse
    | CancelToolCallResponse
    | CancelTerminalResponse
    | SetSessionConfigOptionResponse
    | PromptResponse
)
AgentNotification: TypeAlias = (
    UpdateSessionNotification | CompleteElicitationNotification | AuthStatusUpdateNotification
)
ClientRequest: TypeAlias = (
    InitializeRequest
    | LoginAuthRequest
    | ListProvidersRequest
    | SetProviderRequest
    | DisableProviderRequest
    | LogoutAuthRequest
    | AuthStatusRequest
    | NewSessionRequest
    | ListSessionsRequest
    | DeleteSessionRequest
    | ForkSessionRequest
    | ArchiveSessionRequest
    | UnarchiveSessionRequest
    | SessionStatusRequest
    | SetSessionTitleRequest
    | ResumeSessionRequest
    | CloseSessionRequest
    | CancelToolCallRequest
    | CancelTerminalRequest
    | SetSessionConfigOptionRequest
    | PromptRequest
)
ClientResponse: TypeAlias = RequestPermissionResponse | CreateElicitationResponse | MessageMcpResponse
ClientNotification: TypeAlias = CancelSessionNotification | MessageMcpNotification
ProxyRequest: TypeAlias = InitializeProxyRequest | ProxySuccessorRequest
ProxyResponse: TypeAlias = InitializeProxyResponse | ProxySuccessorResponse
ProxyNotification: TypeAlias = ProxySuccessorNotification
