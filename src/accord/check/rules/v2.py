"""The rules of the public kit for agents in the v2 of November, and what falls together when one of them is broken."""

from __future__ import annotations

from accord.check.rule import Cause, Rule, Tier

__all__ = ["CAUSES", "RULES"]

_S = "initialize.capabilities.session"
_OPTIONS = "new.configOptions"
_METHODS = "initialize.authMethods"
_NO_BATCHES = "November's v2 has no batches: any array gets one error -32600 without an id, and nothing in it is done"

_INIT = "protocol/v2/initialization"
_AUTH = "protocol/v2/authentication"
_SETUP = "protocol/v2/session-setup"
_LIST = "protocol/v2/session-list"
_PROMPT = "protocol/v2/prompt-lifecycle"
_CANCEL = "protocol/v2/cancellation"
_TOOLS = "protocol/v2/tool-calls"
_PLAN = "protocol/v2/agent-plan"
_CONFIG = "protocol/v2/session-config-options"
_ELICIT = "protocol/v2/elicitation"
_EXT = "protocol/v2/extensibility"
_LINES = "protocol/v2/transports"
_OVERVIEW = "protocol/v2/overview"
_SCHEMA = "schema/v2#/$defs/"


def _rows(tier: Tier, *rows: tuple[str, ...]) -> tuple[Rule, ...]:
    """Rules of a tier: id, sentence, page and, where there is one, the gate."""
    return tuple(
        Rule("v2", f"ACP-{id_}", tier, says, page, gate=gate[0] if gate else "") for id_, says, page, *gate in rows
    )


def _superseded(tier: Tier, *rows: tuple[str, str]) -> tuple[Rule, ...]:
    return tuple(Rule("v2", f"ACP-{id_}", tier, says, _LINES, superseded=_NO_BATCHES) for id_, says in rows)


_MANDATORY = _rows(
    "mandatory",
    ("INIT-001", "The handshake succeeds", _INIT),
    ("INIT-201", "The version in the handshake is a whole number, and not above the one asked for", _INIT),
    ("INIT-003", "Who asks for version 65535 is told a version that exists, not below the one told to v2", _INIT),
    ("INIT-202", "Who asks for version 1 gets it, gets 2, or is told that there is none so low", _INIT),
    ("INIT-203", "The agent tells a name and a version that are not empty", _SCHEMA + "Implementation"),
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
    ("AUTH-202", "A client that cannot log in by a terminal is not offered that", _AUTH),
    (
        "AUTH-206",
        "A way to log in is of a known type, or of one that starts with an underscore",
        _SCHEMA + "AuthMethod",
    ),
    (
        "AUTH-207",
        "The arguments and the environment of a terminal login are well formed, and no variable occurs twice",
        _SCHEMA + "AuthMethodTerminal",
    ),
    ("EXT-001", "An extension request that nobody knows is answered all the same", _EXT),
)

_SESSIONS = _rows(
    "capability",
    ("SESSION-001", "A session is made in an absolute folder, and has an id", _SETUP, _S),
    ("SESSION-002", "Two sessions have two ids", _SETUP, _S),
    ("SESSION-203", "No list of MCP servers and an empty one are both accepted", _SCHEMA + "NewSessionRequest", _S),
    ("RESUME-201", "A session can be resumed", _SETUP, _S),
    ("RESUME-202", "A replay from the start is over before the answer to the wish for it", _SETUP, _S),
    ("RESUME-203", "Without a wish for a replay nothing of the history is shown", _SETUP, _S),
    ("RESUME-204", "A user's message keeps its id in a replay", _SETUP, _S),
    ("RESUME-205", "In a replay a chunk comes behind the whole message that it belongs to", _SETUP, _S),
    ("LIST-201", "Sessions can be listed", _LIST, _S),
    ("LIST-202", "A folder without sessions has an empty list", _LIST, _S),
    ("LIST-203", "A folder's list has the sessions of that folder and no others", _LIST, _S),
    ("LIST-204", "The folders in a list are absolute", _SCHEMA + "SessionInfo", _S),
    ("CLOSE-201", "An idle session can be closed", _SETUP, _S),
    ("CLOSE-202", "Closing a session ends its work", _SETUP, _S),
    ("DELETE-201", "A session can be deleted", _SETUP, _S + ".delete"),
    ("DELETE-202", "A deleted session is in no list", _SETUP, _S + ".delete"),
    ("ADDDIRS-201", "A session may have a further absolute root", _SETUP, _S + ".additionalDirectories"),
    ("ADDDIRS-202", "A session may be resumed with another further root", _SETUP, _S + ".additionalDirectories"),
    (
        "CONFIG-201",
        "Options are whole: id, name, a known type, and choices all flat or all in groups",
        _CONFIG,
        _OPTIONS,
    ),
    ("CONFIG-202", "Setting an option is answered with every option that there was", _CONFIG, _OPTIONS),
    ("CONFIG-203", "Resuming tells the options in the same shape", _CONFIG, _OPTIONS),
    ("CONFIG-204", "The value of a select is one of its choices", _CONFIG, _OPTIONS),
    ("CONFIG-206", "An update about options has all of them", _CONFIG, _OPTIONS),
    ("AUTH-203", "Logging out succeeds", _AUTH, _METHODS),
    ("AUTH-204", "Logging in succeeds, and sessions can be made after it", _AUTH, _METHODS),
)

_TURNS = _rows(
    "capability",
    ("PROMPT-201", "A prompt is answered with the id of its message and not with a stop reason", _PROMPT, _S),
    ("PROMPT-203", "The user's message is shown under the id in that answer before the turn ends", _PROMPT, _S),
    ("PROMPT-205", "The updates of a turn fit the schema and name the session that was prompted", _PROMPT, _S),
    ("STATE-201", "The idle that ends a turn comes behind a state that says work is going on", _PROMPT, _S),
    ("STATE-202", "A turn ends with an idle, in time", _PROMPT, _S),
    ("STATE-203", "A stop reason is a known word or starts with an underscore", _SCHEMA + "IdleStateUpdate", _S),
    ("PROMPTCAP-001", "A prompt with an image runs to its end", _PROMPT, _S + ".prompt.image"),
    ("PROMPTCAP-002", "A prompt with a recording runs to its end", _PROMPT, _S + ".prompt.audio"),
    ("PROMPTCAP-003", "A prompt with an embedded resource runs to its end", _PROMPT, _S + ".prompt.embeddedContext"),
    (
        "PERM-201",
        "A permission question has session, title and whole options, and the turn goes on when it is answered",
        _TOOLS,
        _S,
    ),
    ("CLIENTCAP-201", "A client that offers no forms is not asked to fill one in", _ELICIT, _S),
    (
        "CLIENTCAP-202",
        "A client is asked and told nothing but what v2 names, or what starts with an underscore",
        _OVERVIEW,
        _S,
    ),
    ("CANCEL-201", "A cancelled turn ends with an idle that says cancelled", _PROMPT, _S),
    ("CANCEL-202", "No other state is told behind that idle", _PROMPT, _S),
    ("CANCEL-203", "A cancellation is told neither as an error nor as another of the known stop reasons", _PROMPT, _S),
    ("CANCEL-205", "Nothing answers a cancellation", _CANCEL, _S),
    ("CANCEL-206", "A cancellation is accepted with the session's id alone and with metadata", _PROMPT, _S),
    ("CANCEL-207", "No word without an underscore of the agent's own stands in for cancelled", _PROMPT, _S),
    ("CANCEL-208", "Work that ends because its session is closed ends as cancelled", _SETUP, _S),
    ("PATCH-201", "Every message and every chunk of one has an id", _SCHEMA + "ContentChunk", _S),
    ("PATCH-203", "Two prompts have two ids", _SCHEMA + "PromptResponse", _S),
    ("PATCH-204", "Everything about a tool call names it, and a chunk of its content has content", _TOOLS, _S),
    ("PATCH-205", "A plan has an id", _PLAN, _S),
    ("PATCH-206", "The folder of a terminal is absolute and never another", _SCHEMA + "TerminalUpdate", _S),
    ("PATCH-207", "Each piece of a terminal's output is base64 by itself", _SCHEMA + "TerminalOutputChunk", _S),
    (
        "ENUM-201",
        "Kinds, statuses and priorities of tool calls and plans are known words or start with an underscore",
        _EXT,
        _S,
    ),
)

_ADVISORY = _rows(
    "advisory",
    ("SCHEMA-002", "No params and no result have keys that the schema does not name", _EXT),
    ("PROMPT-003", "A prompt may hold a link beside its text, and its turn ends", "protocol/v2/content", _S),
    ("JSONRPC-004", "A method that nobody has is answered with -32601", _SCHEMA + "ErrorCode"),
    ("JSONRPC-005", "A bad request, or a bad array, leaves the connection working", _LINES),
    ("DELETE-203", "Deleting what is not there succeeds", _SETUP, _S + ".delete"),
    ("AUTH-201", "No two ways to log in have the same id", _AUTH),
    ("AUTH-205", "An agent without a way to log in never asks for a login", _AUTH),
    ("PATCH-208", "A tool call is first told with a title, and its name never changes", _TOOLS, _S),
    ("PATCH-209", "While a permission is awaited the session requires action, and then runs again", _PROMPT, _S),
    ("ENUM-202", "Updates, states and types of content are known words or start with an underscore", _EXT, _S),
    ("ENUM-203", "A permission outcome that is a word of the client's own does no harm", _EXT, _S),
    ("EXT-201", "An extension notification that nobody knows is ignored", _EXT),
    ("EXT-202", "Capabilities beside the protocol stand in the metadata of the capabilities", _EXT),
    ("META-001", "A prompt may carry metadata", _EXT, _S),
    ("META-201", "All metadata are objects or null", _EXT),
    ("ERROR-001", "The message of an error is one line, and not empty", _SCHEMA + "Error"),
    ("SHUTDOWN-001", "The process ends by itself when its stdin is closed", _LINES),
)

_INFORMATIONAL = _rows(
    "informational",
    ("CANCEL-204", "How soon work stops after a cancellation", _PROMPT, _S),
    ("INFO-CANCEL-201", "What a cancellation does to a session that is unknown or idle", _PROMPT, _S),
    ("INFO-CANCEL-202", "Whether the agent takes its own open questions back when it is cancelled", _CANCEL, _S),
    ("INFO-CONCURRENT-201", "What happens to a second prompt before the first one ended", _PROMPT, _S),
    (
        "INFO-UNKNOWNSESSION-001",
        "How a prompt for an unknown session is answered",
        _SCHEMA + "SessionNotFoundErrorData",
        _S,
    ),
    ("BATCH-207", "Whether the agent says arrays of its own accord", _LINES),
    ("INFO-BATCH-201", "What happens after an array that is broken off", _LINES),
    ("INFO-BATCH-202", "What happens after an array of calls and answers", _LINES),
    ("MCP-201", "Whether a well-formed MCP server on stdio is accepted", _SETUP, _S + ".mcp.stdio"),
    ("MCP-202", "Whether a well-formed MCP server over HTTP is accepted", _SETUP, _S + ".mcp.http"),
    ("EXT-203", "What a notification does whose name starts with $/ and that nobody knows", _EXT),
    ("STDERR-001", "What is said on stderr", _LINES),
    ("INFO-PARSE-001", "What happens after a line that is no JSON", _LINES),
    ("INFO-INVALIDREQ-001", "What happens after JSON that is no JSON-RPC", _LINES),
)

RULES: tuple[Rule, ...] = (
    *_MANDATORY,
    *_SESSIONS,
    *_TURNS,
    *_ADVISORY,
    *_INFORMATIONAL,
    *_superseded("mandatory", ("BATCH-202", "An array of notifications is not answered")),
    *_superseded(
        "advisory",
        ("BATCH-203", "A bad entry of an array gets an error of its own, and the others run"),
        ("BATCH-204", "The answers to an array come as one array when all are there"),
        ("BATCH-205", "The answers in an array are found by their ids"),
    ),
    *_superseded(
        "informational",
        ("BATCH-206", "Whether the entries of an array run side by side"),
        ("BATCH-208", "What a handshake inside an array does"),
    ),
)


def _cause(root: str, says: str, *also: str) -> Cause:
    return Cause("v2", f"ACP-{root}", says, tuple(f"ACP-{id_}" for id_ in also))


_NO_LISTS = ("LIST-202", "LIST-203", "LIST-204")

CAUSES: tuple[Cause, ...] = (
    _cause(
        "INIT-001",
        "The handshake fails, so nothing else can be asked",
        *("INIT-003", "INIT-201", "INIT-202", "INIT-203", "INIT-204", "SCHEMA-001"),
        *("AUTH-201", "AUTH-202", "AUTH-205", "AUTH-206", "AUTH-207"),
        *("BATCH-201", "BATCH-207", "EXT-001", "EXT-201", "EXT-202", "EXT-203", "META-201"),
        *("JSONRPC-001", "JSONRPC-003", "JSONRPC-004", "JSONRPC-005"),
        *("INFO-BATCH-201", "INFO-BATCH-202", "INFO-INVALIDREQ-001", "INFO-PARSE-001"),
    ),
    _cause(
        "SESSION-001",
        "No session can be opened, so nothing that needs one works",
        *("SESSION-002", "SESSION-203", *_NO_LISTS, "LIST-201", "CLOSE-201", "CLOSE-202"),
        *("RESUME-201", "RESUME-202", "RESUME-203", "RESUME-204", "RESUME-205"),
        *("PROMPT-003", "PROMPT-201", "PROMPT-203", "PROMPT-205", "META-001"),
        *("STATE-201", "STATE-202", "STATE-203", "CLIENTCAP-201", "CLIENTCAP-202"),
        *("CANCEL-201", "CANCEL-202", "CANCEL-203", "CANCEL-205", "CANCEL-206", "CANCEL-207", "CANCEL-208"),
        *("PATCH-201", "PATCH-203", "PATCH-204", "PATCH-205", "PATCH-206", "PATCH-207", "PATCH-208", "PATCH-209"),
        *("ENUM-201", "ENUM-202", "ENUM-203"),
    ),
    _cause(
        "STATE-202",
        "Turns never become idle, so nothing that comes behind the end of one can be done",
        *("CANCEL-201", "CANCEL-202", "CANCEL-206", "CLOSE-202", "META-001", "PROMPT-003"),
        *("RESUME-201", "RESUME-202", "RESUME-203", "RESUME-204", "RESUME-205"),
    ),
    _cause(
        "PROMPT-201",
        "Prompts are not answered, so there are no turns",
        *("PROMPT-003", "META-001", "CLOSE-202"),
        *("CANCEL-201", "CANCEL-202", "CANCEL-203", "CANCEL-206", "CANCEL-207", "CANCEL-208"),
        *("RESUME-201", "RESUME-202", "RESUME-203", "RESUME-204", "RESUME-205"),
    ),
    _cause("INIT-204", "A capability is no object, which the schema does not allow either", "SCHEMA-001"),
    _cause("INIT-203", "Who the agent is is missing, which the schema demands too", "SCHEMA-001"),
    _cause("AUTH-207", "A terminal login is malformed, which the schema does not allow either", "SCHEMA-001"),
    _cause("LIST-201", "Sessions cannot be listed at all", *_NO_LISTS),
    _cause(
        "LIST-201", "Sessions cannot be listed at all, nor can it be seen that one is gone", *_NO_LISTS, "DELETE-202"
    ),
    _cause("PROMPT-201", "The answer to a prompt has a stop reason, which is no key of it", "SCHEMA-002"),
    _cause("PATCH-201", "A message has no id, which the schema demands", "PROMPT-205"),
    _cause("PATCH-204", "A tool call has no id, which the schema demands", "PROMPT-205"),
    _cause("PATCH-205", "A plan has no id, which the schema demands", "PROMPT-205"),
    _cause("CANCEL-203", "A cancelled turn ends as if it had not been cancelled", "CANCEL-201"),
    _cause("CANCEL-207", "A cancelled turn ends with a word that nobody knows", "CANCEL-201"),
    _cause("CANCEL-205", "A cancellation is a notification, and it is answered", "JSONRPC-003"),
    _cause("EXT-201", "An extension notification is answered, and no notification may be", "JSONRPC-003"),
    _cause("EXT-202", "A capability of the agent's own stands where the schema has no place for it", "SCHEMA-002"),
)
