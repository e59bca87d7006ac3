"""The methods of v1: who serves each, what it takes and gives, and its gate."""

from typing import Any, cast

from accord.protocol.method import Method, NotificationMethod, RequestMethod
from accord.protocol.v1.auth import AuthenticateRequest, AuthenticateResponse, LogoutRequest, LogoutResponse
from accord.protocol.v1.cancel import CancelRequestNotification
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
from accord.protocol.v1.model import SetSessionModelRequest, SetSessionModelResponse
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

INITIALIZE = RequestMethod("initialize", "agent", InitializeRequest, InitializeResponse)
AUTHENTICATE = RequestMethod("authenticate", "agent", AuthenticateRequest, AuthenticateResponse)
LOGOUT = RequestMethod("logout", "agent", LogoutRequest, LogoutResponse, gate="auth.logout")
SESSION_NEW = RequestMethod("session/new", "agent", NewSessionRequest, NewSessionResponse)
SESSION_LOAD = RequestMethod("session/load", "agent", LoadSessionRequest, LoadSessionResponse, gate="loadSession")
SESSION_LIST = RequestMethod(
    "session/list", "agent", ListSessionsRequest, ListSessionsResponse, gate="sessionCapabilities.list"
)
SESSION_DELETE = RequestMethod(
    "session/delete", "agent", DeleteSessionRequest, DeleteSessionResponse, gate="sessionCapabilities.delete"
)
SESSION_RESUME = RequestMethod(
    "session/resume", "agent", ResumeSessionRequest, ResumeSessionResponse, gate="sessionCapabilities.resume"
)
SESSION_CLOSE = RequestMethod(
    "session/close", "agent", CloseSessionRequest, CloseSessionResponse, gate="sessionCapabilities.close"
)
SESSION_SET_MODE = RequestMethod("session/set_mode", "agent", SetSessionModeRequest, SetSessionModeResponse)
SESSION_SET_CONFIG_OPTION = RequestMethod(
    "session/set_config_option", "agent", SetSessionConfigOptionRequest, SetSessionConfigOptionResponse
)
SESSION_PROMPT = RequestMethod("session/prompt", "agent", PromptRequest, PromptResponse)
SESSION_CANCEL = NotificationMethod("session/cancel", "agent", CancelNotification)
FS_WRITE_TEXT_FILE = RequestMethod(
    "fs/write_text_file", "client", WriteTextFileRequest, WriteTextFileResponse, gate="fs.writeTextFile"
)
FS_READ_TEXT_FILE = RequestMethod(
    "fs/read_text_file", "client", ReadTextFileRequest, ReadTextFileResponse, gate="fs.readTextFile"
)
SESSION_REQUEST_PERMISSION = RequestMethod(
    "session/request_permission", "client", RequestPermissionRequest, RequestPermissionResponse
)
TERMINAL_CREATE = RequestMethod(
    "terminal/create", "client", CreateTerminalRequest, CreateTerminalResponse, gate="terminal"
)
TERMINAL_OUTPUT = RequestMethod(
    "terminal/output", "client", TerminalOutputRequest, TerminalOutputResponse, gate="terminal"
)
TERMINAL_RELEASE = RequestMethod(
    "terminal/release", "client", ReleaseTerminalRequest, ReleaseTerminalResponse, gate="terminal"
)
TERMINAL_WAIT_FOR_EXIT = RequestMethod(
    "terminal/wait_for_exit", "client", WaitForTerminalExitRequest, WaitForTerminalExitResponse, gate="terminal"
)
TERMINAL_KILL = RequestMethod("terminal/kill", "client", KillTerminalRequest, KillTerminalResponse, gate="terminal")
ELICITATION_CREATE: RequestMethod[CreateElicitationRequest, CreateElicitationResponse] = RequestMethod(
    "elicitation/create",
    "client",
    cast("Any", CreateElicitationRequest),
    cast("Any", CreateElicitationResponse),
    gate="elicitation",
)
SESSION_UPDATE = NotificationMethod("session/update", "client", SessionNotification)
ELICITATION_COMPLETE = NotificationMethod(
    "elicitation/complete", "client", CompleteElicitationNotification, gate="elicitation.url"
)
CANCEL_REQUEST = NotificationMethod("$/cancel_request", "both", CancelRequestNotification)
# Only the 2025 text has it; clients of that time still call it.
SESSION_SET_MODEL = RequestMethod("session/set_model", "agent", SetSessionModelRequest, SetSessionModelResponse)

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
    SESSION_SET_MODE,
    SESSION_SET_CONFIG_OPTION,
    SESSION_PROMPT,
    SESSION_CANCEL,
    FS_WRITE_TEXT_FILE,
    FS_READ_TEXT_FILE,
    SESSION_REQUEST_PERMISSION,
    TERMINAL_CREATE,
    TERMINAL_OUTPUT,
    TERMINAL_RELEASE,
    TERMINAL_WAIT_FOR_EXIT,
    TERMINAL_KILL,
    ELICITATION_CREATE,
    SESSION_UPDATE,
    ELICITATION_COMPLETE,
    CANCEL_REQUEST,
    SESSION_SET_MODEL,
)
