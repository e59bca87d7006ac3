"""What may stand in a message, by sender."""

from typing import TypeAlias

from accord.protocol.v1.auth import AuthenticateRequest, AuthenticateResponse, LogoutRequest, LogoutResponse
from accord.protocol.v1.config import SetSessionConfigOptionRequest, SetSessionConfigOptionResponse
from accord.protocol.v1.draft.auth import AuthStatusRequest, AuthStatusResponse, AuthStatusUpdateNotification
from accord.protocol.v1.draft.initialize import (
    InitializeProxyRequest,
    InitializeProxyResponse,
    InitializeRequest,
    InitializeResponse,
)
from accord.protocol.v1.draft.mcp import MessageMcpNotification, MessageMcpRequest, MessageMcpResponse
from accord.protocol.v1.draft.prompt import PromptResponse
from accord.protocol.v1.draft.provider import (
    DisableProviderRequest,
    DisableProviderResponse,
    ListProvidersRequest,
    ListProvidersResponse,
    SetProviderRequest,
    SetProviderResponse,
)
from accord.protocol.v1.draft.proxy import ProxySuccessorNotification, ProxySuccessorRequest, ProxySuccessorResponse
from accord.protocol.v1.draft.session import (
    ArchiveSessionRequest,
    ArchiveSessionResponse,
    ForkSessionRequest,
    ForkSessionResponse,
    ListSessionsRequest,
    ListSessionsResponse,
    LoadSessionRequest,
    NewSessionRequest,
    ResumeSessionRequest,
    SessionStatusRequest,
    SessionStatusResponse,
    SetSessionTitleRequest,
    SetSessionTitleResponse,
    UnarchiveSessionRequest,
    UnarchiveSessionResponse,
)
from accord.protocol.v1.draft.update import SessionNotification
from accord.protocol.v1.elicitation import (
    CompleteElicitationNotification,
    CreateElicitationRequest,
    CreateElicitationResponse,
)
from accord.protocol.v1.file import (
    ReadTextFileRequest,
    ReadTextFileResponse,
    WriteTextFileRequest,
    WriteTextFileResponse,
)
from accord.protocol.v1.mode import SetSessionModeRequest, SetSessionModeResponse
from accord.protocol.v1.permission import RequestPermissionRequest, RequestPermissionResponse
from accord.protocol.v1.prompt import CancelNotification, PromptRequest
from accord.protocol.v1.session import (
    CloseSessionRequest,
    CloseSessionResponse,
    DeleteSessionRequest,
    DeleteSessionResponse,
    LoadSessionResponse,
    NewSessionResponse,
    ResumeSessionResponse,
)
from accord.protocol.v1.terminal import (
    CreateTerminalRequest,
    CreateTerminalResponse,
    KillTerminalRequest,
    KillTerminalResponse,
    ReleaseTerminalRequest,
    ReleaseTerminalResponse,
    TerminalOutputRequest,
    TerminalOutputResponse,
    WaitForTerminalExitRequest,
    WaitForTerminalExitResponse,
)

AgentRequest: TypeAlias = (
    WriteTextFileRequest
    | ReadTextFileRequest
    | RequestPermissionRequest
    | CreateTerminalRequest
    | TerminalOutputRequest
    | ReleaseTerminalRequest
    | WaitForTerminalExitRequest
    | KillTerminalRequest
    | CreateElicitationRequest
    | MessageMcpRequest
)
AgentResponse: TypeAlias = (
    InitializeResponse
    | AuthenticateResponse
    | ListProvidersResponse
    | SetProviderResponse
    | DisableProviderResponse
    | LogoutResponse
    | AuthStatusResponse
    | NewSessionResponse
    | LoadSessionResponse
    | ListSessionsResponse
    | DeleteSessionResponse
    | ForkSessionResponse
    | ArchiveSessionResponse
    | UnarchiveSessionResponse
    | SessionStatusResponse
    | SetSessionTitleResponse
    | ResumeSessionResponse
    | CloseSessionResponse
    | SetSessionModeResponse
    | SetSessionConfigOptionResponse
    | PromptResponse
)
AgentNotification: TypeAlias = SessionNotification | CompleteElicitationNotification | AuthStatusUpdateNotification
ClientRequest: TypeAlias = (
    InitializeRequest
    | AuthenticateRequest
    | ListProvidersRequest
    | SetProviderRequest
    | DisableProviderRequest
    | LogoutRequest
    | AuthStatusRequest
    | NewSessionRequest
    | LoadSessionRequest
    | ListSessionsRequest
    | DeleteSessionRequest
    | ForkSessionRequest
    | ArchiveSessionRequest
    | UnarchiveSessionRequest
    | SessionStatusRequest
    | SetSessionTitleRequest
    | ResumeSessionRequest
    | CloseSessionRequest
    | SetSessionModeRequest
    | SetSessionConfigOptionRequest
    | PromptRequest
)
ClientResponse: TypeAlias = (
    WriteTextFileResponse
    | ReadTextFileResponse
    | RequestPermissionResponse
    | CreateTerminalResponse
    | TerminalOutputResponse
    | ReleaseTerminalResponse
    | WaitForTerminalExitResponse
    | KillTerminalResponse
    | CreateElicitationResponse
    | MessageMcpResponse
)
ClientNotification: TypeAlias = CancelNotification | MessageMcpNotification
ProxyRequest: TypeAlias = InitializeProxyRequest | ProxySuccessorRequest
ProxyResponse: TypeAlias = InitializeProxyResponse | ProxySuccessorResponse
ProxyNotification: TypeAlias = ProxySuccessorNotification
