"""The rules of the public kit for agents in v1, and what falls together when one of them is broken."""

from __future__ import annotations

from accord.check.rule import Cause, Rule, Tier

__all__ = ["CAUSES", "RULES"]

_CAN = "initialize.agentCapabilities."
_LOAD = _CAN + "loadSession"
_SESSION = _CAN + "sessionCapabilities."
_BLOCKS = _CAN + "promptCapabilities."
_METHODS = "initialize.authMethods"
_OPTIONS = "new.configOptions"
_MODES = "new.modes"

_INIT = "protocol/v1/initialization"
_AUTH = "protocol/v1/authentication"
_SETUP = "protocol/v1/session-setup"
_LIST = "protocol/v1/session-list"
_DELETE = "protocol/v1/session-delete"
_PROMPT = "protocol/v1/prompt-turn"
_CANCEL = "protocol/v1/prompt-turn#cancellation"
_CONTENT = "protocol/v1/content"
_SETTING_MODES = "protocol/v1/session-modes"
_CONFIG = "protocol/v1/session-config-options"
_EXT = "protocol/v1/extensibility"
_LINES = "protocol/v1/transports"
_SCHEMA = "schema/v1#/$defs/"


def _rows(tier: Tier, *rows: tuple[str, ...]) -> tuple[Rule, ...]:
    """Rules of a tier: id, sentence, page and, where there is one, the gate."""
    return tuple(
        Rule("v1", f"ACP-{id_}", tier, says, page, gate=gate[0] if gate else "") for id_, says, page, *gate in rows
    )


_MANDATORY = _rows(
    "mandatory",
    ("TRANSPORT-001", "Every line on stdout is one JSON-RPC 2.0 message, to the very end", _LINES),
    ("TRANSPORT-002", "Everything on stdout is UTF-8", _LINES),
    ("JSONRPC-001", "An answer carries the id of its request, with its type", _SCHEMA + "RequestId"),
    (
        "JSONRPC-002",
        "An answer has a result or an error and never both, and an error has a code and a message",
        _SCHEMA + "Error",
    ),
    ("JSONRPC-003", "Nothing answers a notification", "protocol/v1/overview"),
    ("INIT-001", "The handshake succeeds, in the right shape, with a whole number for a version", _INIT),
    ("INIT-002", "Who asks for version 1 gets it", _INIT),
    ("INIT-003", "Who asks for version 65535 is told a version that exists, not below the one told to v1", _INIT),
    (
        "SCHEMA-001",
        "Sessions, ends of turns and what the agent asks for fit the schema (handshake, updates: rows of their own)",
        "protocol/v1/schema",
    ),
    ("SESSION-001", "A session is made in an absolute folder without MCP servers, and has an id", _SETUP),
    ("SESSION-002", "Two sessions have two ids", _SETUP),
    ("PROMPT-001", "A prompt of text ends with a stop reason that v1 knows", _SCHEMA + "StopReason"),
    ("PROMPT-002", "The updates of a turn fit the schema and name the session that was prompted", _PROMPT),
    ("CANCEL-001", "A prompt that is cancelled succeeds with the stop reason cancelled", _CANCEL),
    ("CANCEL-002", "Nothing more of a turn is told behind the answer to its cancelled prompt", _CANCEL),
    ("CONFIG-003", "A client that did not ask for toggles gets none", _SCHEMA + "BooleanConfigOptionCapabilities"),
    ("AUTH-002", "A client that cannot log in by a terminal is not offered that", _AUTH),
    ("CLIENTCAP-001", "A client that offers no files is not asked for any", "protocol/v1/file-system"),
    ("CLIENTCAP-002", "A client that offers no terminals is not asked for any", "protocol/v1/terminals"),
    ("CLIENTCAP-003", "A client that offers no forms is not asked to fill one in", "protocol/v1/elicitation"),
    ("EXT-001", "An extension request that nobody knows is answered all the same", _EXT),
)

_CAPABILITY = _rows(
    "capability",
    ("LOAD-001", "A session can be loaded", _SETUP, _LOAD),
    ("LOAD-002", "A loaded session is replayed before the answer, and no history comes behind it", _SETUP, _LOAD),
    ("RESUME-001", "A session can be resumed without a list of MCP servers", _SETUP, _SESSION + "resume"),
    ("RESUME-002", "Resuming shows nothing of the history", _SETUP, _SESSION + "resume"),
    ("LIST-001", "Sessions can be listed", _LIST, _SESSION + "list"),
    ("LIST-002", "A folder without sessions has an empty list", _LIST, _SESSION + "list"),
    ("DELETE-001", "A session can be deleted", _DELETE, _SESSION + "delete"),
    ("CLOSE-001", "An idle session can be closed", _SETUP, _SESSION + "close"),
    ("CLOSE-002", "Closing a session cancels its prompt", _SETUP, _SESSION + "close"),
    ("ADDDIRS-001", "A session may have a further absolute root", _SETUP, _SESSION + "additionalDirectories"),
    ("MODES-001", "The current mode is one of those that are offered", _SETTING_MODES, _MODES),
    ("MODES-002", "A mode can be set, and an update about it says currentModeId", _SETTING_MODES, _MODES),
    ("CONFIG-001", "The value of each option fits its type and its choices", _CONFIG, _OPTIONS),
    ("CONFIG-002", "Setting an option is answered with all options, the new value among them", _CONFIG, _OPTIONS),
    ("PROMPTCAP-001", "A prompt with an image runs to its end", _CONTENT, _BLOCKS + "image"),
    ("PROMPTCAP-002", "A prompt with a recording runs to its end", _CONTENT, _BLOCKS + "audio"),
    ("PROMPTCAP-003", "A prompt with an embedded resource runs to its end", _CONTENT, _BLOCKS + "embeddedContext"),
    ("AUTH-003", "After a login that succeeded sessions can be made", _AUTH, _METHODS),
    ("AUTH-004", "Logging out succeeds", _AUTH, _CAN + "auth.logout"),
)

_ADVISORY = _rows(
    "advisory",
    ("JSONRPC-004", "A method that nobody has is answered with -32601", _SCHEMA + "ErrorCode"),
    ("JSONRPC-005", "A bad request leaves the connection working", "protocol/v1/overview"),
    ("INIT-004", "The agent tells its name and its version", _SCHEMA + "Implementation"),
    ("SCHEMA-002", "No params and no result have keys at their root that the schema does not name", _EXT),
    ("PROMPT-003", "A prompt may hold a link beside its text", _CONTENT),
    ("LOAD-003", "The answer to a load is an object, also when it has nothing to say", _SETUP, _LOAD),
    ("DELETE-002", "Deleting what is not there succeeds", _DELETE, _SESSION + "delete"),
    ("AUTH-001", "No two ways to log in have the same id", _AUTH),
    ("AUTH-005", "An agent without a way to log in never asks for a login", _AUTH),
    ("META-001", "A prompt may carry metadata", _EXT),
    ("ERROR-001", "The message of an error is one line, and not empty", _SCHEMA + "Error"),
    ("SHUTDOWN-001", "The process ends by itself when its stdin is closed", _LINES),
)

_INFORMATIONAL = _rows(
    "informational",
    ("STDERR-001", "What is said on stderr", _LINES),
    ("INFO-PARSE-001", "What happens after a line that is no JSON", _LINES),
    ("INFO-INVALIDREQ-001", "What happens after JSON that is no JSON-RPC", _LINES),
    ("INFO-UNKNOWNSESSION-001", "How a prompt for an unknown session is answered", _SCHEMA + "ErrorCode"),
)

RULES: tuple[Rule, ...] = (*_MANDATORY, *_CAPABILITY, *_ADVISORY, *_INFORMATIONAL)

_WITHOUT_SESSIONS = (
    "ACP-CANCEL-001",
    "ACP-CANCEL-002",
    "ACP-META-001",
    "ACP-PROMPT-001",
    "ACP-PROMPT-002",
    "ACP-PROMPT-003",
    "ACP-SESSION-002",
)
_WITHOUT_HANDSHAKE = (
    *_WITHOUT_SESSIONS,
    "ACP-AUTH-005",
    "ACP-EXT-001",
    "ACP-INFO-INVALIDREQ-001",
    "ACP-INFO-PARSE-001",
    "ACP-INFO-UNKNOWNSESSION-001",
    "ACP-INIT-002",
    "ACP-INIT-003",
    "ACP-INIT-004",
    "ACP-JSONRPC-001",
    "ACP-JSONRPC-003",
    "ACP-JSONRPC-004",
    "ACP-JSONRPC-005",
    "ACP-SESSION-001",
)

CAUSES: tuple[Cause, ...] = (
    Cause(
        "v1", "ACP-INIT-001", "The handshake does not succeed, and without it nothing can be done", _WITHOUT_HANDSHAKE
    ),
    Cause("v1", "ACP-SESSION-001", "No session can be made, and without one there is no turn", _WITHOUT_SESSIONS),
)
