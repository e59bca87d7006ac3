"""Unstable extras of version 1: new types, and stable ones that have grown new fields."""

from typing import Any, cast

from accord.protocol import draft_types, v1 as stable
from accord.protocol.draft_types import *
from accord.protocol.method import Method, NotificationMethod, RequestMethod, drafted, rows
from accord.protocol.v1.draft import connection, session
from accord.protocol.v1.draft.connection import *
from accord.protocol.v1.draft.session import *

INITIALIZE = RequestMethod("initialize", "agent", connection.InitializeRequest, connection.InitializeResponse)
PROVIDERS_LIST = RequestMethod(
    "providers/list", "agent", draft_types.ListProvidersRequest, draft_types.ListProvidersResponse
)
PROVIDERS_SET = RequestMethod("providers/set", "agent", draft_types.SetProviderRequest, draft_types.SetProviderResponse)
PROVIDERS_DISABLE = RequestMethod(
    "providers/disable", "agent", draft_types.DisableProviderRequest, draft_types.DisableProviderResponse
)
AUTH_STATUS = RequestMethod("auth/status", "agent", draft_types.AuthStatusRequest, draft_types.AuthStatusResponse)
SESSION_NEW = RequestMethod("session/new", "agent", session.NewSessionRequest, stable.NewSessionResponse)
SESSION_LOAD = RequestMethod("session/load", "agent", session.LoadSessionRequest, stable.LoadSessionResponse)
SESSION_LIST = RequestMethod("session/list", "agent", session.ListSessionsRequest, session.ListSessionsResponse)
SESSION_FORK = RequestMethod("session/fork", "agent", session.ForkSessionRequest, session.ForkSessionResponse)
SESSION_ARCHIVE = RequestMethod(
    "session/archive", "agent", session.ArchiveSessionRequest, draft_types.ArchiveSessionResponse
)
SESSION_UNARCHIVE = RequestMethod(
    "session/unarchive", "agent", session.UnarchiveSessionRequest, draft_types.UnarchiveSessionResponse
)
SESSION_STATUS = RequestMethod("session/status", "agent", session.SessionStatusRequest, session.SessionStatusResponse)
SESSION_SET_TITLE = RequestMethod(
    "session/set_title", "agent", session.SetSessionTitleRequest, draft_types.SetSessionTitleResponse
)
SESSION_RESUME = RequestMethod("session/resume", "agent", session.ResumeSessionRequest, stable.ResumeSessionResponse)
SESSION_PROMPT = RequestMethod("session/prompt", "agent", stable.PromptRequest, session.PromptResponse)
MCP_MESSAGE_NOTIFICATION = NotificationMethod("mcp/message", "agent", draft_types.MessageMcpNotification)
MCP_MESSAGE = RequestMethod("mcp/message", "client", draft_types.MessageMcpRequest, draft_types.MessageMcpResponse)
SESSION_UPDATE = NotificationMethod("session/update", "client", session.SessionNotification)
AUTH_STATUS_UPDATE = NotificationMethod("auth/status_update", "client", draft_types.AuthStatusUpdateNotification)
PROXY_INITIALIZE: RequestMethod[connection.InitializeProxyRequest, connection.InitializeProxyResponse] = RequestMethod(
    "proxy/initialize",
    "proxy",
    cast("Any", connection.InitializeProxyRequest),
    cast("Any", connection.InitializeProxyResponse),
)
PROXY_SUCCESSOR: RequestMethod[draft_types.ProxySuccessorRequest, draft_types.ProxySuccessorResponse] = RequestMethod(
    "proxy/successor",
    "proxy",
    cast("Any", draft_types.ProxySuccessorRequest),
    cast("Any", draft_types.ProxySuccessorResponse),
)
PROXY_SUCCESSOR_NOTIFICATION = NotificationMethod("proxy/successor", "proxy", draft_types.ProxySuccessorNotification)

METHODS: tuple[Method, ...] = drafted(stable.METHODS, rows(globals()))
