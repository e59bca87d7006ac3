"""Protocol version 1, the stable one: every type and method, by topic in the modules of this package."""

from typing import Any, cast

from accord.protocol.method import Method, NotificationMethod, RequestMethod, rows
from accord.protocol.v1 import config, connection, elicitation, session, tools, updates
from accord.protocol.v1.config import *
from accord.protocol.v1.connection import *
from accord.protocol.v1.content import *
from accord.protocol.v1.elicitation import *
from accord.protocol.v1.session import *
from accord.protocol.v1.tools import *
from accord.protocol.v1.updates import *

INITIALIZE = RequestMethod("initialize", "agent", connection.InitializeRequest, connection.InitializeResponse)
AUTHENTICATE = RequestMethod("authenticate", "agent", connection.AuthenticateRequest, connection.AuthenticateResponse)
LOGOUT = RequestMethod("logout", "agent", connection.LogoutRequest, connection.LogoutResponse)
SESSION_NEW = RequestMethod("session/new", "agent", session.NewSessionRequest, session.NewSessionResponse)
SESSION_LOAD = RequestMethod("session/load", "agent", session.LoadSessionRequest, session.LoadSessionResponse)
SESSION_LIST = RequestMethod("session/list", "agent", session.ListSessionsRequest, session.ListSessionsResponse)
SESSION_DELETE = RequestMethod("session/delete", "agent", session.DeleteSessionRequest, session.DeleteSessionResponse)
SESSION_RESUME = RequestMethod("session/resume", "agent", session.ResumeSessionRequest, session.ResumeSessionResponse)
SESSION_CLOSE = RequestMethod("session/close", "agent", session.CloseSessionRequest, session.CloseSessionResponse)
SESSION_SET_MODE = RequestMethod(
    "session/set_mode", "agent", config.SetSessionModeRequest, config.SetSessionModeResponse
)
SESSION_SET_CONFIG_OPTION = RequestMethod(
    "session/set_config_option", "agent", config.SetSessionConfigOptionRequest, config.SetSessionConfigOptionResponse
)
SESSION_PROMPT = RequestMethod("session/prompt", "agent", session.PromptRequest, session.PromptResponse)
SESSION_CANCEL = NotificationMethod("session/cancel", "agent", session.CancelNotification)
FS_WRITE_TEXT_FILE = RequestMethod(
    "fs/write_text_file", "client", tools.WriteTextFileRequest, tools.WriteTextFileResponse
)
FS_READ_TEXT_FILE = RequestMethod("fs/read_text_file", "client", tools.ReadTextFileRequest, tools.ReadTextFileResponse)
SESSION_REQUEST_PERMISSION = RequestMethod(
    "session/request_permission", "client", tools.RequestPermissionRequest, tools.RequestPermissionResponse
)
TERMINAL_CREATE = RequestMethod("terminal/create", "client", tools.CreateTerminalRequest, tools.CreateTerminalResponse)
TERMINAL_OUTPUT = RequestMethod("terminal/output", "client", tools.TerminalOutputRequest, tools.TerminalOutputResponse)
TERMINAL_RELEASE = RequestMethod(
    "terminal/release", "client", tools.ReleaseTerminalRequest, tools.ReleaseTerminalResponse
)
TERMINAL_WAIT_FOR_EXIT = RequestMethod(
    "terminal/wait_for_exit", "client", tools.WaitForTerminalExitRequest, tools.WaitForTerminalExitResponse
)
TERMINAL_KILL = RequestMethod("terminal/kill", "client", tools.KillTerminalRequest, tools.KillTerminalResponse)
ELICITATION_CREATE: RequestMethod[elicitation.CreateElicitationRequest, elicitation.CreateElicitationResponse] = (
    RequestMethod(
        "elicitation/create",
        "client",
        cast("Any", elicitation.CreateElicitationRequest),
        cast("Any", elicitation.CreateElicitationResponse),
    )
)
SESSION_UPDATE = NotificationMethod("session/update", "client", updates.SessionNotification)
ELICITATION_COMPLETE = NotificationMethod("elicitation/complete", "client", elicitation.CompleteElicitationNotification)
CANCEL_REQUEST = NotificationMethod("$/cancel_request", "both", connection.CancelRequestNotification)
# Only the 2025 text has it; clients of that time still call it.
SESSION_SET_MODEL = RequestMethod(
    "session/set_model", "agent", config.SetSessionModelRequest, config.SetSessionModelResponse
)

METHODS: tuple[Method, ...] = rows(globals())
