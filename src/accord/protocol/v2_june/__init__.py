"""Protocol version 2 as drafted in June 2026: every type and method, by topic."""

from accord.protocol.method import Method, NotificationMethod, RequestMethod, rows
from accord.protocol.v2_june import config, connection, session, tools, updates
from accord.protocol.v2_june.config import *
from accord.protocol.v2_june.connection import *
from accord.protocol.v2_june.content import *
from accord.protocol.v2_june.session import *
from accord.protocol.v2_june.tools import *
from accord.protocol.v2_june.updates import *

INITIALIZE = RequestMethod("initialize", "agent", connection.InitializeRequest, connection.InitializeResponse)
AUTHENTICATE = RequestMethod("authenticate", "agent", connection.AuthenticateRequest, connection.AuthenticateResponse)
LOGOUT = RequestMethod("logout", "agent", connection.LogoutRequest, connection.LogoutResponse)
SESSION_NEW = RequestMethod("session/new", "agent", session.NewSessionRequest, session.NewSessionResponse)
SESSION_LOAD = RequestMethod("session/load", "agent", session.LoadSessionRequest, session.LoadSessionResponse)
SESSION_LIST = RequestMethod("session/list", "agent", session.ListSessionsRequest, session.ListSessionsResponse)
SESSION_DELETE = RequestMethod("session/delete", "agent", session.DeleteSessionRequest, session.DeleteSessionResponse)
SESSION_RESUME = RequestMethod("session/resume", "agent", session.ResumeSessionRequest, session.ResumeSessionResponse)
SESSION_CLOSE = RequestMethod("session/close", "agent", session.CloseSessionRequest, session.CloseSessionResponse)
SESSION_SET_CONFIG_OPTION = RequestMethod(
    "session/set_config_option", "agent", config.SetSessionConfigOptionRequest, config.SetSessionConfigOptionResponse
)
SESSION_PROMPT = RequestMethod("session/prompt", "agent", session.PromptRequest, session.PromptResponse)
SESSION_CANCEL = NotificationMethod("session/cancel", "agent", session.CancelNotification)
SESSION_REQUEST_PERMISSION = RequestMethod(
    "session/request_permission", "client", tools.RequestPermissionRequest, tools.RequestPermissionResponse
)
SESSION_UPDATE = NotificationMethod("session/update", "client", updates.SessionNotification)

METHODS: tuple[Method, ...] = rows(globals())
