"""The methods of the v2 draft of June 2026: who serves each, what it takes and gives, and its gate."""

from accord.protocol.method import Method, NotificationMethod, RequestMethod
from accord.protocol.v2_june.auth import AuthenticateRequest, AuthenticateResponse, LogoutRequest, LogoutResponse
from accord.protocol.v2_june.config import SetSessionConfigOptionRequest, SetSessionConfigOptionResponse
from accord.protocol.v2_june.initialize import InitializeRequest, InitializeResponse
from accord.protocol.v2_june.permission import RequestPermissionRequest, RequestPermissionResponse
from accord.protocol.v2_june.prompt import CancelNotification, PromptRequest, PromptResponse
from accord.protocol.v2_june.session import (
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
from accord.protocol.v2_june.update import SessionNotification

INITIALIZE = RequestMethod("initialize", "agent", InitializeRequest, InitializeResponse)
AUTHENTICATE = RequestMethod("authenticate", "agent", AuthenticateRequest, AuthenticateResponse)
LOGOUT = RequestMethod("logout", "agent", LogoutRequest, LogoutResponse, gate="auth.logout")
SESSION_NEW = RequestMethod("session/new", "agent", NewSessionRequest, NewSessionResponse, gate="session")
SESSION_LOAD = RequestMethod("session/load", "agent", LoadSessionRequest, LoadSessionResponse, gate="session.load")
SESSION_LIST = RequestMethod("session/list", "agent", ListSessionsRequest, ListSessionsResponse, gate="session.list")
SESSION_DELETE = RequestMethod(
    "session/delete", "agent", DeleteSessionRequest, DeleteSessionResponse, gate="session.delete"
)
SESSION_RESUME = RequestMethod(
    "session/resume", "agent", ResumeSessionRequest, ResumeSessionResponse, gate="session.resume"
)
SESSION_CLOSE = RequestMethod("session/close", "agent", CloseSessionRequest, CloseSessionResponse, gate="session.close")
SESSION_SET_CONFIG_OPTION = RequestMethod(
    "session/set_config_option", "agent", SetSessionConfigOptionRequest, SetSessionConfigOptionResponse, gate="session"
)
SESSION_PROMPT = RequestMethod("session/prompt", "agent", PromptRequest, PromptResponse, gate="session")
SESSION_CANCEL = NotificationMethod("session/cancel", "agent", CancelNotification, gate="session")
SESSION_REQUEST_PERMISSION = RequestMethod(
    "session/request_permission", "client", RequestPermissionRequest, RequestPermissionResponse
)
SESSION_UPDATE = NotificationMethod("session/update", "client", SessionNotification)

METHODS: tuple[Method, ...] = (
    INITIALIZE,
    AUTHENTICATE,
    LOGOUT,
    SESSION_NEW,
    SESSION_LOAD,
    SESSION_LIST,
    SESSION_DELETE,
    SESSION_RESUME,
    SESSION_CLOSE,
    SESSION_SET_CONFIG_OPTION,
    SESSION_PROMPT,
    SESSION_CANCEL,
    SESSION_REQUEST_PERMISSION,
    SESSION_UPDATE,
)
