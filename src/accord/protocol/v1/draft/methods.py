"""The methods with the unstable extras: what is new, and what has grown new fields."""

from typing import Any, cast

from accord.protocol.method import Method, NotificationMethod, RequestMethod
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
from accord.protocol.v1.methods import (
    AUTHENTICATE,
    CANCEL_REQUEST,
    ELICITATION_COMPLETE,
    ELICITATION_CREATE,
    FS_READ_TEXT_FILE,
    FS_WRITE_TEXT_FILE,
    LOGOUT,
    SESSION_CANCEL,
    SESSION_CLOSE,
    SESSION_DELETE,
    SESSION_REQUEST_PERMISSION,
    SESSION_SET_CONFIG_OPTION,
    SESSION_SET_MODE,
    SESSION_SET_MODEL,
    TERMINAL_CREATE,
    TERMINAL_KILL,
    TERMINAL_OUTPUT,
    TERMINAL_RELEASE,
    TERMINAL_WAIT_FOR_EXIT,
)
from accord.protocol.v1.prompt import PromptRequest
from accord.protocol.v1.session import LoadSessionResponse, NewSessionResponse, ResumeSessionResponse

INITIALIZE = RequestMethod("initialize", "agent", InitializeRequest, InitializeResponse)
PROVIDERS_LIST = RequestMethod("providers/list", "agent", ListProvidersRequest, ListProvidersResponse, gate="providers")
PROVIDERS_SET = RequestMethod("providers/set", "agent", SetProviderRequest, SetProviderResponse, gate="providers")
PROVIDERS_DISABLE = RequestMethod(
    "providers/disable", "agent", DisableProviderRequest, DisableProviderResponse, gate="providers"
)
AUTH_STATUS = RequestMethod("auth/status", "agent", AuthStatusRequest, AuthStatusResponse, gate="auth.status")
SESSION_NEW = RequestMethod("session/new", "agent", NewSessionRequest, NewSessionResponse)
SESSION_LOAD = RequestMethod("session/load", "agent", LoadSessionRequest, LoadSessionResponse, gate="loadSession")
SESSION_LIST = RequestMethod(
    "session/list", "agent", ListSessionsRequest, ListSessionsResponse, gate="sessionCapabilities.list"
)
SESSION_FORK = RequestMethod(
    "session/fork", "agent", ForkSessionRequest, ForkSessionResponse, gate="sessionCapabilities.fork"
)
SESSION_ARCHIVE = RequestMethod(
    "session/archive", "agent", ArchiveSessionRequest, ArchiveSessionResponse, gate="sessionCapabilities.archive"
)
SESSION_UNARCHIVE = RequestMethod(
    "session/unarchive", "agent", UnarchiveSessionRequest, UnarchiveSessionResponse, gate="sessionCapabilities.archive"
)
SESSION_STATUS = RequestMethod(
    "session/status", "agent", SessionStatusRequest, SessionStatusResponse, gate="sessionCapabilities.status"
)
SESSION_SET_TITLE = RequestMethod(
    "session/set_title", "agent", SetSessionTitleRequest, SetSessionTitleResponse, gate="sessionCapabilities.title"
)
SESSION_RESUME = RequestMethod(
    "session/resume", "agent", ResumeSessionRequest, ResumeSessionResponse, gate="sessionCapabilities.resume"
)
SESSION_PROMPT = RequestMethod("session/prompt", "agent", PromptRequest, PromptResponse)
MCP_MESSAGE_NOTIFICATION = NotificationMethod(
    "mcp/message", "agent", MessageMcpNotification, gate="mcpCapabilities.acp"
)
# The gate is among the capabilities of the agent, which calls it; a client serves it by giving such a server.
MCP_MESSAGE = RequestMethod("mcp/message", "client", MessageMcpRequest, MessageMcpResponse)
SESSION_UPDATE = NotificationMethod("session/update", "client", SessionNotification)
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
    AUTHENTICATE,
    PROVIDERS_LIST,
    PROVIDERS_SET,
    PROVIDERS_DISABLE,
    LOGOUT,
    AUTH_STATUS,
    SESSION_NEW,
    SESSION_LOAD,
    SESSION_LIST,
    SESSION_DELETE,
    SESSION_FORK,
    SESSION_ARCHIVE,
    SESSION_UNARCHIVE,
    SESSION_STATUS,
    SESSION_SET_TITLE,
    SESSION_RESUME,
    SESSION_CLOSE,
    SESSION_SET_MODE,
    SESSION_SET_CONFIG_OPTION,
    SESSION_PROMPT,
    SESSION_CANCEL,
    MCP_MESSAGE_NOTIFICATION,
    FS_WRITE_TEXT_FILE,
    FS_READ_TEXT_FILE,
    SESSION_REQUEST_PERMISSION,
    TERMINAL_CREATE,
    TERMINAL_OUTPUT,
    TERMINAL_RELEASE,
    TERMINAL_WAIT_FOR_EXIT,
    TERMINAL_KILL,
    ELICITATION_CREATE,
    MCP_MESSAGE,
    SESSION_UPDATE,
    ELICITATION_COMPLETE,
    AUTH_STATUS_UPDATE,
    CANCEL_REQUEST,
    PROXY_INITIALIZE,
    PROXY_SUCCESSOR,
    PROXY_SUCCESSOR_NOTIFICATION,
    SESSION_SET_MODEL,
)
