"""The methods of v2 as of November 2026: who serves each, what it takes and gives, and its gate."""

from typing import Any, cast

from accord.protocol.method import Method, NotificationMethod, RequestMethod
from accord.protocol.v2.auth import LoginAuthRequest, LoginAuthResponse, LogoutAuthRequest, LogoutAuthResponse
from accord.protocol.v2.cancel import CancelRequestNotification
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

INITIALIZE = RequestMethod("initialize", "agent", InitializeRequest, InitializeResponse)
AUTH_LOGIN = RequestMethod("auth/login", "agent", LoginAuthRequest, LoginAuthResponse)
AUTH_LOGOUT = RequestMethod("auth/logout", "agent", LogoutAuthRequest, LogoutAuthResponse)
SESSION_NEW = RequestMethod("session/new", "agent", NewSessionRequest, NewSessionResponse, gate="session")
SESSION_LIST = RequestMethod("session/list", "agent", ListSessionsRequest, ListSessionsResponse, gate="session")
SESSION_DELETE = RequestMethod(
    "session/delete", "agent", DeleteSessionRequest, DeleteSessionResponse, gate="session.delete"
)
SESSION_RESUME = RequestMethod("session/resume", "agent", ResumeSessionRequest, ResumeSessionResponse, gate="session")
SESSION_CLOSE = RequestMethod("session/close", "agent", CloseSessionRequest, CloseSessionResponse, gate="session")
TOOL_CALL_CANCEL = RequestMethod(
    "tool_call/cancel", "agent", CancelToolCallRequest, CancelToolCallResponse, gate="session"
)
TERMINAL_CANCEL = RequestMethod(
    "terminal/cancel", "agent", CancelTerminalRequest, CancelTerminalResponse, gate="session"
)
SESSION_SET_CONFIG_OPTION = RequestMethod(
    "session/set_config_option", "agent", SetSessionConfigOptionRequest, SetSessionConfigOptionResponse, gate="session"
)
SESSION_PROMPT = RequestMethod("session/prompt", "agent", PromptRequest, PromptResponse, gate="session")
SESSION_CANCEL = NotificationMethod("session/cancel", "agent", CancelSessionNotification, gate="session")
SESSION_REQUEST_PERMISSION = RequestMethod(
    "session/request_permission", "client", RequestPermissionRequest, RequestPermissionResponse
)
ELICITATION_CREATE: RequestMethod[CreateElicitationRequest, CreateElicitationResponse] = RequestMethod(
    "elicitation/create",
    "client",
    cast("Any", CreateElicitationRequest),
    cast("Any", CreateElicitationResponse),
    gate="elicitation",
)
SESSION_UPDATE = NotificationMethod("session/update", "client", UpdateSessionNotification)
ELICITATION_COMPLETE = NotificationMethod(
    "elicitation/complete", "client", CompleteElicitationNotification, gate="elicitation.url"
)
CANCEL_REQUEST = NotificationMethod("$/cancel_request", "both", CancelRequestNotification)

METHODS: tuple[Method, ...] = (
    INITIALIZE,
    AUTH_LOGIN,
    AUTH_LOGOUT,
    SESSION_NEW,
    SESSION_LIST,
    SESSION_DELETE,
    SESSION_RESUME,
    SESSION_CLOSE,
    TOOL_CALL_CANCEL,
    TERMINAL_CANCEL,
    SESSION_SET_CONFIG_OPTION,
    SESSION_PROMPT,
    SESSION_CANCEL,
    SESSION_REQUEST_PERMISSION,
    ELICITATION_CREATE,
    SESSION_UPDATE,
    ELICITATION_COMPLETE,
    CANCEL_REQUEST,
)
