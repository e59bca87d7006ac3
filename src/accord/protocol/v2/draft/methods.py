"""The methods of the unstable text: those that are new, and those that have grown new fields."""

from typing import Any, cast

from accord.protocol.method import Method, NotificationMethod, RequestMethod, drafted, rows
from accord.protocol.v2 import connection as stable_connection
from accord.protocol.v2 import methods as stable
from accord.protocol.v2 import session as stable_session
from accord.protocol.v2.draft import connection, session

INITIALIZE = RequestMethod("initialize", "agent", stable_connection.InitializeRequest, connection.InitializeResponse)
PROVIDERS_LIST = RequestMethod(
    "providers/list", "agent", connection.ListProvidersRequest, connection.ListProvidersResponse
)
PROVIDERS_SET = RequestMethod("providers/set", "agent", connection.SetProviderRequest, connection.SetProviderResponse)
PROVIDERS_DISABLE = RequestMethod(
    "providers/disable", "agent", connection.DisableProviderRequest, connection.DisableProviderResponse
)
AUTH_STATUS = RequestMethod("auth/status", "agent", connection.AuthStatusRequest, connection.AuthStatusResponse)
SESSION_NEW = RequestMethod("session/new", "agent", session.NewSessionRequest, stable_session.NewSessionResponse)
SESSION_LIST = RequestMethod("session/list", "agent", session.ListSessionsRequest, session.ListSessionsResponse)
SESSION_FORK = RequestMethod("session/fork", "agent", session.ForkSessionRequest, session.ForkSessionResponse)
SESSION_ARCHIVE = RequestMethod(
    "session/archive", "agent", session.ArchiveSessionRequest, session.ArchiveSessionResponse
)
SESSION_UNARCHIVE = RequestMethod(
    "session/unarchive", "agent", session.UnarchiveSessionRequest, session.UnarchiveSessionResponse
)
SESSION_STATUS = RequestMethod("session/status", "agent", session.SessionStatusRequest, session.SessionStatusResponse)
SESSION_SET_TITLE = RequestMethod(
    "session/set_title", "agent", session.SetSessionTitleRequest, session.SetSessionTitleResponse
)
SESSION_RESUME = RequestMethod(
    "session/resume", "agent", session.ResumeSessionRequest, stable_session.ResumeSessionResponse
)
MCP_MESSAGE_NOTIFICATION = NotificationMethod("mcp/message", "agent", connection.MessageMcpNotification)
MCP_MESSAGE = RequestMethod("mcp/message", "client", connection.MessageMcpRequest, connection.MessageMcpResponse)
SESSION_UPDATE = NotificationMethod("session/update", "client", session.UpdateSessionNotification)
AUTH_STATUS_UPDATE = NotificationMethod("auth/status_update", "client", connection.AuthStatusUpdateNotification)
PROXY_INITIALIZE: RequestMethod[connection.InitializeProxyRequest, connection.InitializeProxyResponse] = RequestMethod(
    "proxy/initialize",
    "proxy",
    cast("Any", connection.InitializeProxyRequest),
    cast("Any", connection.InitializeProxyResponse),
)
PROXY_SUCCESSOR: RequestMethod[connection.ProxySuccessorRequest, connection.ProxySuccessorResponse] = RequestMethod(
    "proxy/successor",
    "proxy",
    cast("Any", connection.ProxySuccessorRequest),
    cast("Any", connection.ProxySuccessorResponse),
)
PROXY_SUCCESSOR_NOTIFICATION = NotificationMethod("proxy/successor", "proxy", connection.ProxySuccessorNotification)

METHODS: tuple[Method, ...] = drafted(stable.METHODS, rows(globals()))
