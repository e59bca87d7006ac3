"""What may stand in a message, by sender."""

from typing import Any, TypeAlias

from accord.protocol.v1.auth import AuthenticateRequest, AuthenticateResponse, LogoutRequest, LogoutResponse
from accord.protocol.v1.config import SetSessionConfigOptionRequest, SetSessionConfigOptionResponse
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
from accord.protocol.v1.initialize import InitializeRequest, InitializeResponse
from accord.protocol.v1.mode import SetSessionModeRequest, SetSessionModeResponse
from accord.protocol.v1.permission import RequestPermissionRequest, RequestPermissionResponse
from accord.protocol.v1.prompt import CancelNotification, PromptRequest, PromptResponse
from accord.protocol.v1.session import (
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
from accord.protocol.v1.update import SessionNotification

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
)
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
    | SetSessionModeResponse
    | SetSessionConfigOptionResponse
    | PromptResponse
)
ExtResponse: TypeAlias = Any
AgentNotification: TypeAlias = SessionNotification | CompleteElicitationNotification
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
)
ClientNotification: TypeAlias = CancelNotification
