"""What of the public kit's rules holds for agents in the v2 draft of June: v1's turns, v2's markers, and batches.

The kit has no rows for June. An id stands here where June's text demands what the row says; as in the kit's v2, only
the handshake and the wire are mandatory, and everything about sessions counts for agents that advertise them.
"""

from __future__ import annotations

from accord.check.rule import Cause, Rule, Tier

__all__ = ["CAUSES", "RULES"]

_S = "initialize.capabilities.session"
_OPTIONS = "new.configOptions"

_INIT = "protocol/v2/initialization"
_SETUP = "protocol/v2/session-setup"
_LIST = "protocol/v2/session-list"
_TURN = "protocol/v2/prompt-turn"
_CONFIG = "protocol/v2/session-config-options"
_TOOLS = "protocol/v2/tool-calls"
_EXT = "protocol/v2/extensibility"
_LINES = "protocol/v2/transports"
_OVERVIEW = "protocol/v2/overview"
_SCHEMA = "schema/v2-june#/$defs/"


def _rows(tier: Tier, *rows: tuple[str, ...]) -> tuple[Rule, ...]:
    """Rules of a tier: id, sentence, page and, where there is one, the gate."""
    return tuple(
        Rule("v2_june", f"ACP-{id_}", tier, says, page, gate=gate[0] if gate else "") for id_, says, page, *gate in rows
    )


_MANDATORY = _rows(
    "mandatory",
    ("INIT-001", "The handshake succeeds", _INIT),
    ("INIT-201", "The version in the handshake is a whole number: 2, or the agent's own latest", _INIT),
    ("INIT-003", "Who asks for version 65535 is told a version that exists, not below the one told to v2", _INIT),
    ("INIT-202", "Who asks for version 1 is told a version, and not refused", _INIT),
    ("INIT-204", "Capabilities are objects, null or absent, and never booleans", _INIT),
    ("SCHEMA-001", "The answer to the handshake fits the schema", _SCHEMA + "InitializeResponse"),
    (
        "TRANSPORT-201",
        "Every line on stdout is one JSON-RPC 2.0 message, or an array of some, to the very end",
        _LINES,
    ),
    ("TRANSPORT-002", "Everything on stdout is UTF-8", _LINES),
    ("TRANSPORT-203", "No message is spread over several lines", _LINES),
    ("JSONRPC-001", "An answer carries the id of its request, with its type", _SCHEMA + "RequestId"),
    (
        "JSONRPC-002",
        "An answer has a result or an error and never both, and an error has a code and a message",
        _SCHEMA + "Error",
    ),
    ("JSONRPC-003", "Nothing answers a notification", _OVERVIEW),
    ("BATCH-201", "An empty array is answered with one error -32600 without an id", _LINES),
    ("BATCH-202", "An array of notifications is not answered", _LINES),
    ("EXT-001", "An extension request that nobody knows is answered all the same", _EXT),
)

_SESSIONS = _rows(
    "capability",
    ("SESSION-001", "A session is made in an absolute folder, and has an id", _SETUP, _S),
    ("SESSION-002", "Two sessions have two ids", _SETUP, _S),
    ("LOAD-001", "A session can be loaded", _SETUP, _S + ".load"),
    ("LOAD-002", "A loaded session is replayed before the answer", _SETUP, _S + ".load"),
    ("RESUME-001", "A session can be resumed without a list of MCP servers", _SETUP, _S + ".resume"),
    ("RESUME-002", "Resuming shows nothing of the history", _SETUP, _S + ".resume"),
    ("LIST-001", "Sessions can be listed", _LIST, _S + ".list"),
    ("LIST-002", "A folder without sessions has an empty list", _LIST, _S + ".list"),
    ("LIST-203", "A folder's list has the sessions of that folder and no others", _LIST, _S + ".list"),
    ("LIST-204", "The folders in a list are absolute", _SCHEMA + "SessionInfo", _S + ".list"),
    ("CLOSE-001", "An idle session can be closed", _SETUP, _S + ".close"),
    ("CLOSE-002", "Closing a session ends its prompt as cancelled", _SETUP, _S + ".close"),
    ("DELETE-001", "A session can be deleted", _SETUP, _S + ".delete"),
    ("DELETE-202", "A deleted session is in no list", _SETUP, _S + ".delete"),
    ("ADDDIRS-001", "A session may have a further absolute root", _SETUP, _S + ".additionalDirectories"),
    ("CONFIG-001", "The value of each option is one of its choices", _CONFIG, _OPTIONS),
    ("CONFIG-002", "Setting an option answers with all of them, the new value among them", _CONFIG, _OPTIONS),
    ("CONFIG-206", "An update about options has all of them", _CONFIG, _OPTIONS),
    ("AUTH-003", "After a login that succeeded sessions can be made", _INIT, "initialize.authMethods"),
    ("AUTH-004", "Logging out succeeds", _INIT, "initialize.capabilities.auth.logout"),
)

_TURNS = _rows(
    "capability",
    (
        "PROMPT-001",
        "A prompt of text ends with a stop reason that June knows, or that starts with an underscore",
        _TURN,
        _S,
    ),
    ("PROMPT-002", "The updates of a turn fit the schema and name the session that was prompted", _TURN, _S),
    ("CANCEL-001", "A prompt that is cancelled succeeds with the stop reason cancelled", _TURN, _S),
    ("CANCEL-002", "No update comes behind the answer to a cancelled prompt", _TURN, _S),
    ("CANCEL-205", "Nothing answers a cancellation", _TURN, _S),
    ("CANCEL-206", "A cancellation is accepted with the session's id alone and with metadata", _TURN, _S),
    ("PROMPTCAP-001", "A prompt with an image runs to its end", _TURN, _S + ".prompt.image"),
    ("PROMPTCAP-002", "A prompt with a recording runs to its end", _TURN, _S + ".prompt.audio"),
    ("PROMPTCAP-003", "A prompt with an embedded resource runs to its end", _TURN, _S + ".prompt.embeddedContext"),
    (
        "CLIENTCAP-202",
        "A client is asked and told nothing but what June names, or what starts with an underscore",
        _OVERVIEW,
        _S,
    ),
    ("PATCH-201", "Every message and every chunk of one has an id", _SCHEMA + "ContentChunk", _S),
    ("PATCH-204", "Everything about a tool call names it, and a chunk of its content has content", _TOOLS, _S),
    (
        "ENUM-201",
        "Kinds, statuses and priorities of tool calls and plans are known words or start with an underscore",
        _EXT,
        _S,
    ),
)

_ADVISORY = _rows(
    "advisory",
    ("INIT-004", "The agent tells its name and its version", _INIT),
    ("SCHEMA-002", "No params and no result have keys that the schema does not name", _EXT),
    ("PROMPT-003", "A prompt may hold a link beside its text", "protocol/v2/content", _S),
    ("LOAD-003", "The answer to a load is an object, also when it has nothing to say", _SETUP, _S + ".load"),
    ("DELETE-002", "Deleting what is not there succeeds", _SETUP, _S + ".delete"),
    ("AUTH-001", "No two ways to log in have the same id", _INIT),
    ("AUTH-005", "An agent without a way to log in never asks for a login", _INIT),
    ("JSONRPC-004", "A method that nobody has is answered with -32601", _SCHEMA + "ErrorCode"),
    ("JSONRPC-005", "A bad request, or a bad array, leaves the connection working", _LINES),
    ("BATCH-203", "A bad entry of an array gets an error of its own, and the others run", _LINES),
    ("BATCH-204", "The answers to an array come as one array when all are there", _LINES),
    ("BATCH-205", "The answers in an array are found by their ids", _LINES),
    ("ENUM-202", "Updates and types of content are known words or start with an underscore", _EXT, _S),
    ("EXT-201", "An extension notification that nobody knows is ignored", _EXT),
    ("EXT-202", "Capabilities beside the protocol stand in the metadata of the capabilities", _EXT),
    ("META-001", "A prompt may carry metadata", _EXT, _S),
    ("META-201", "All metadata are objects or null", _EXT),
    ("ERROR-001", "The message of an error is one line, and not empty", _SCHEMA + "Error"),
    ("SHUTDOWN-001", "The process ends by itself when its stdin is closed", _LINES),
)

_INFORMATIONAL = _rows(
    "informational",
    ("BATCH-206", "Whether the entries of an array run side by side", _LINES),
    ("BATCH-207", "Whether the agent says arrays of its own accord", _LINES),
    ("BATCH-208", "What a handshake inside an array does", _LINES),
    ("INFO-BATCH-201", "What happens after an array that is broken off", _LINES),
    ("INFO-BATCH-202", "What happens after an array of calls and answers", _LINES),
    ("INFO-CANCEL-201", "What a cancellation does to a session that is unknown or idle", _TURN, _S),
    ("INFO-CONCURRENT-201", "What happens to a second prompt before the first one ended", _TURN, _S),
    ("INFO-UNKNOWNSESSION-001", "How a prompt for an unknown session is answered", _TURN, _S),
    ("MCP-201", "Whether a well-formed MCP server on stdio is accepted", _SETUP, _S + ".mcp.stdio"),
    ("MCP-202", "Whether a well-formed MCP server over HTTP is accepted", _SETUP, _S + ".mcp.http"),
    ("EXT-203", "What a notification does whose name starts with $/ and that nobody knows", _EXT),
    ("STDERR-001", "What is said on stderr", _LINES),
    ("INFO-PARSE-001", "What happens after a line that is no JSON", _LINES),
    ("INFO-INVALIDREQ-001", "What happens after JSON that is no JSON-RPC", _LINES),
)

RULES: tuple[Rule, ...] = (*_MANDATORY, *_SESSIONS, *_TURNS, *_ADVISORY, *_INFORMATIONAL)


def _cause(root: str, says: str, *also: str) -> Cause:
    return Cause("v2_june", f"ACP-{root}", says, tuple(f"ACP-{id_}" for id_ in also))


_NO_LISTS = ("LIST-002", "LIST-203", "LIST-204")

CAUSES: tuple[Cause, ...] = (
    _cause(
        "INIT-001",
        "The handshake fails, so nothing else can be asked",
        *("INIT-003", "INIT-004", "INIT-201", "INIT-202", "INIT-204", "SCHEMA-001", "AUTH-001", "AUTH-005"),
        *("BATCH-201", "BATCH-202", "BATCH-203", "BATCH-204", "BATCH-205", "BATCH-206", "BATCH-207", "BATCH-208"),
        *("EXT-001", "EXT-201", "EXT-202", "EXT-203", "META-201"),
        *("JSONRPC-001", "JSONRPC-003", "JSONRPC-004", "JSONRPC-005"),
        *("INFO-BATCH-201", "INFO-BATCH-202", "INFO-INVALIDREQ-001", "INFO-PARSE-001"),
    ),
    _cause(
        "SESSION-001",
        "No session can be opened, so nothing that needs one works",
        *("SESSION-002", "PROMPT-001", "PROMPT-002", "PROMPT-003", "META-001", "CLIENTCAP-202"),
        *("CANCEL-001", "CANCEL-002", "CANCEL-205", "CANCEL-206"),
        *("PATCH-201", "PATCH-204", "ENUM-201", "ENUM-202"),
    ),
    _cause(
        "PROMPT-001",
        "Prompts are not answered, so there are no turns",
        *("PROMPT-003", "META-001", "CANCEL-001", "CANCEL-002", "CANCEL-206"),
    ),
    _cause("INIT-201", "The agent speaks a version that does not exist, whatever it is asked for", "INIT-202"),
    _cause("INIT-204", "A capability is no object, which the schema does not allow either", "SCHEMA-001"),
    _cause("LIST-001", "Sessions cannot be listed at all", *_NO_LISTS),
    _cause(
        "LIST-001", "Sessions cannot be listed at all, nor can it be seen that one is gone", *_NO_LISTS, "DELETE-202"
    ),
    _cause("PATCH-201", "A message has no id, which the schema demands", "PROMPT-002"),
    _cause("PATCH-204", "A tool call has no id, which the schema demands", "PROMPT-002"),
    _cause(
        "BATCH-202", "An array of notifications is answered with an empty array, which is no message", "TRANSPORT-201"
    ),
    _cause("CANCEL-205", "A cancellation is a notification, and it is answered", "JSONRPC-003"),
    _cause("EXT-201", "An extension notification is a notification, and it is answered", "JSONRPC-003"),
    _cause("EXT-202", "A capability of the agent's own stands where the schema has no place for it", "SCHEMA-002"),
)
