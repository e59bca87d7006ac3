"""The methods with the unstable extras: what is new, and what has grown new fields."""

from typing import Any, cast

from accord.protocol.method import Method, NotificationMethod, RequestMethod
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
from accord.protocol.v2.initialize import InitializeRequest
from accord.protocol.v2.methods import (
    AUTH_LOGIN,
    AUTH_LOGOUT,
    CANCEL_REQUEST,
    ELICITATION_COMPLETE,
    ELICITATION_CREATE,
    SESSION_CANCEL,
    SESSION_CLOSE,
    SESSION_DELETE,
    SESSION_PROMPT,
    SESSION_REQUEST_PERMISSION,
    SESSION_SET_CONFIG_OPTION,
    TERMINAL_CANCEL,
    TOOL_CALL_CANCEL,
)
from accord.protocol.v2.session import NewSessionResponse, ResumeSessionResponse

INITIALIZE = RequestMethod("initialize", "agent", InitializeRequest, InitializeResponse)
PROVIDERS_LIST = RequestMethod("providers/list", "agent", ListProvidersRequest, ListProvidersResponse, gate="providers")
PROVIDERS_SET = RequestMethod("providers/set", "agent", SetProviderRequest, SetProviderResponse, gate="providers")
PROVIDERS_DISABLE = RequestMethod(
    "providers/disable", "agent", DisableProviderRequest, DisableProviderResponse, gate="providers"
)
AUTH_STATUS = RequestMethod("auth/status", "agent", AuthStatusRequest, AuthStatusResponse, gate="auth.status")
SESSION_NEW = RequestMethod("session/new", "agent", NewSessionRequest, NewSessionResponse, gate="session")
SESSION_LIST = RequestMethod("session/list", "agent", ListSessionsRequest, ListSessionsResponse, gate="session")
SESSION_FORK = RequestMethod("session/fork", "agent", ForkSessionRequest, ForkSessionResponse, gate="session.fork")
SESSION_ARCHIVE = RequestMethod(
    "session/archive", "agent", ArchiveSessionRequest, ArchiveSessionResponse, gate="session.archive"
)
SESSION_UNARCHIVE = RequestMethod(
    "session/unarchive", "agent", UnarchiveSessionRequest, UnarchiveSessionResponse, gate="session.archive"
)
SESSION_STATUS = RequestMethod(
    "session/status", "agent", SessionStatusRequest, SessionStatusResponse, gate="session.status"
)
SESSION_SET_TITLE = RequestMethod(
    "session/set_title", "agent", SetSessionTitleRequest, SetSessionTitleResponse, gate="session.title"
)
SESSION_RESUME = RequestMethod("session/resume", "agent", ResumeSessionRequest, ResumeSessionResponse, gate="session")
MCP_MESSAGE_NOTIFICATION = NotificationMethod("mcp/message", "agent", MessageMcpNotification, gate="session.mcp.acp")
# The gate is among the capabilities of the agent, which calls it; a client serves it by giving such a server.
MCP_MESSAGE = RequestMethod("mcp/message", "client", MessageMcpRequest, MessageMcpResponse)
SESSION_UPDATE = NotificationMethod("session/update", "client", UpdateSessionNotification)
AUTH_STATUS_UPDATE = NotificationMethod("auth/status_update", "client", AuthStatusUpdateNotification)
PROXY_INITIALIZE: RequestMethod[InitializeProxyRequest, InitializeProxyResponse] = RequestMethod(
    "proxy/initialize", "proxy", cast("Any", InitializeProxyRequest), cast("Any", InitializeProxyResponse)
)
PROXY_SUCCESSOR: RequestMethod[ProxySuccessorRequest, ProxySuccessorResponse] = RequestMethod(
    "proxy/successor", "proxy", cast("Any", ProxySuccessorRequest), cast("Any", ProxySuccessorResponse)
)
PROXY_SUCCESSOR_NOTIFICATION = NotificationMethod("proxy/successor", "proxy", ProxySuccessorNotification)

METHODS: tuple[Method, ...] = (
    INITIALIZE,
    AUTH_LOGIN,
    PROVIDERS_LIST,
    PROVIDERS_SET,
    PROVIDERS_DISABLE,
    AUTH_LOGOUT,
    AUTH_STATUS,
    SESSION_NEW,
    SESSION_LIST,
    SESSION_DELETE,
    SESSION_FORK,
    SESSION_ARCHIVE,
    SESSION_UNARCHIVE,
    SESSION_STATUS,
    SESSION_SET_TITLE,
    SESSION_RESUME,
    SESSION_CLOSE,
    TOOL_CALL_CANCEL,
    TERMINAL_CANCEL,
    SESSION_SET_CONFIG_OPTION,
    SESSION_PROMPT,
    SESSION_CANCEL,
    MCP_MESSAGE_NOTIFICATION,
    SESSION_REQUEST_PERMISSION,
    ELICITATION_CREATE,
    MCP_MESSAGE,
    SESSION_UPDATE,
    ELICITATION_COMPLETE,
    AUTH_STATUS_UPDATE,
    CANCEL_REQUEST,
    PROXY_INITIALIZE,
    PROXY_SUCCESSOR,
    PROXY_SUCCESSOR_NOTIFICATION,
)
