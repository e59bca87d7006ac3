"""Protocol version 2 as drafted in November 2026: every type and method, by topic."""

from typing import Any, cast

from accord.protocol.method import Method, NotificationMethod, RequestMethod, rows
from accord.protocol.v2 import config, connection, elicitation, session, tools, updates
from accord.protocol.v2.config import *
from accord.protocol.v2.connection import *
from accord.protocol.v2.content import *
from accord.protocol.v2.elicitation import *
from accord.protocol.v2.session import *
from accord.protocol.v2.tools import *
from accord.protocol.v2.updates import *

INITIALIZE = RequestMethod("initialize", "agent", connection.InitializeRequest, connection.InitializeResponse)
AUTH_LOGIN = RequestMethod("auth/login", "agent", connection.LoginAuthRequest, connection.LoginAuthResponse)
AUTH_LOGOUT = RequestMethod("auth/logout", "agent", connection.LogoutAuthRequest, connection.LogoutAuthResponse)
SESSION_NEW = RequestMethod("session/new", "agent", session.NewSessionRequest, session.NewSessionResponse)
SESSION_LIST = RequestMethod("session/list", "agent", session.ListSessionsRequest, session.ListSessionsResponse)
SESSION_DELETE = RequestMethod("session/delete", "agent", session.DeleteSessionRequest, session.DeleteSessionResponse)
SESSION_RESUME = RequestMethod("session/resume", "agent", session.ResumeSessionRequest, session.ResumeSessionResponse)
SESSION_CLOSE = RequestMethod("session/close", "agent", session.CloseSessionRequest, session.CloseSessionResponse)
TOOL_CALL_CANCEL = RequestMethod("tool_call/cancel", "agent", tools.CancelToolCallRequest, tools.CancelToolCallResponse)
TERMINAL_CANCEL = RequestMethod("terminal/cancel", "agent", tools.CancelTerminalRequest, tools.CancelTerminalResponse)
SESSION_SET_CONFIG_OPTION = RequestMethod(
    "session/set_config_option", "agent", config.SetSessionConfigOptionRequest, config.SetSessionConfigOptionResponse
)
SESSION_PROMPT = RequestMethod("session/prompt", "agent", session.PromptRequest, session.PromptResponse)
SESSION_CANCEL = NotificationMethod("session/cancel", "agent", session.CancelSessionNotification)
SESSION_REQUEST_PERMISSION = RequestMethod(
    "session/request_permission", "client", tools.RequestPermissionRequest, tools.RequestPermissionResponse
)
ELICITATION_CREATE: RequestMethod[elicitation.CreateElicitationRequest, elicitation.CreateElicitationResponse] = (
    RequestMethod(
        "elicitation/create",
        "client",
        cast("Any", elicitation.CreateElicitationRequest),
        cast("Any", elicitation.CreateElicitationResponse),
    )
)
SESSION_UPDATE = NotificationMethod("session/update", "client", updates.UpdateSessionNotification)
ELICITATION_COMPLETE = NotificationMethod("elicitation/complete", "client", elicitation.CompleteElicitationNotification)
CANCEL_REQUEST = NotificationMethod("$/cancel_request", "both", connection.CancelRequestNotification)

METHODS: tuple[Method, ...] = rows(globals())
