"""Our own rules for agents in v1: what its text demands and the public kit leaves out."""

from __future__ import annotations

from accord.check.rule import Cause, Rule, Tier

__all__ = ["CAUSES", "RULES"]

_CAN = "initialize.agentCapabilities."
_LOAD = _CAN + "loadSession"
_SESSION = _CAN + "sessionCapabilities."
_MODES = "new.modes"
_OPTIONS = "new.configOptions"

_INIT = "protocol/v1/initialization"
_AUTH = "protocol/v1/authentication"
_SETUP = "protocol/v1/session-setup"
_LIST = "protocol/v1/session-list"
_DELETE = "protocol/v1/session-delete"
_TURN = "protocol/v1/prompt-turn"
_STOP = "protocol/v1/prompt-turn#cancellation"
_TOOLS = "protocol/v1/tool-calls"
_PERMISSION = "protocol/v1/tool-calls#requesting-permission"
_FILES = "protocol/v1/file-system"
_TERMINALS = "protocol/v1/terminals"
_FORMS = "protocol/v1/elicitation"
_COMMANDS = "protocol/v1/slash-commands"
_SETTING_MODES = "protocol/v1/session-modes"
_CONFIG = "protocol/v1/session-config-options"
_REQUESTS = "protocol/v1/cancellation"
_EXT = "protocol/v1/extensibility"
_LINES = "protocol/v1/transports"
_OVERVIEW = "protocol/v1/overview"
_SCHEMA = "schema/v1#/$defs/"


def _rows(tier: Tier, *rows: tuple[str, ...]) -> tuple[Rule, ...]:
    """Rules of a tier: id, sentence, page and, where there is one, the gate."""
    return tuple(
        Rule("v1", f"ACCORD-{id_}", tier, says, page, gate=gate[0] if gate else "") for id_, says, page, *gate in rows
    )


_MANDATORY = _rows(
    "mandatory",
    ("WIRE-003", "A request without params is answered", _SCHEMA + "ExtRequest"),
    ("WIRE-004", "A request whose params are null is answered", _SCHEMA + "ExtRequest"),
    ("FILES-001", "A client that only writes files is not asked to read one", _FILES),
    ("FILES-002", "A client that only reads files is not asked to write one", _FILES),
    ("FILES-003", "Files of the client are named by absolute paths", _OVERVIEW),
    ("TERMINAL-001", "Commands run in folders that are named by absolute paths", _OVERVIEW),
    ("TERMINAL-002", "Every terminal is released when its command has ended", _TERMINALS),
    ("TERMINAL-003", "Only terminals that were given and not yet released are used", _TERMINALS),
    ("TERMINAL-004", "A tool call shows terminals of the client, and each before it is released", _TERMINALS),
    ("TERMINAL-005", "A turn that is cancelled while it waits for a command ends as cancelled", _STOP),
    ("TERMINAL-006", "A terminal is released also when its turn is cancelled", _TERMINALS),
    ("SESSION-001", "What is asked of the client is asked for a session of this connection", _OVERVIEW),
    ("SESSION-004", "What is said in a turn names the session that was prompted", _TURN),
    ("PATH-001", "The locations of tool calls are absolute paths", _OVERVIEW),
    ("DIFF-001", "Diffs are of files that are named by absolute paths", _OVERVIEW),
    ("PERM-001", "The options of a question for permission have an id each", _SCHEMA + "PermissionOption"),
    ("PERM-003", "After a yes to a question for permission the prompt ends with a stop reason", _PERMISSION),
    ("PERM-005", "A turn that is cancelled while a question is open ends as cancelled", _STOP),
    ("MCP-001", "A session may be given an MCP server that runs on stdio", _SETUP),
    ("REQCANCEL-001", "A request that is taken back gets exactly one answer", _REQUESTS),
    ("REQCANCEL-002", "A request that was taken back and fails does so with -32800", _REQUESTS),
    ("ELICIT-001", "A client that shows no forms is not asked to show one", _FORMS),
    ("ELICIT-002", "A client that opens no pages is not asked to open one", _FORMS),
    ("ELICIT-003", "An elicitation belongs to a session, or to a request that is being worked on", _FORMS),
    ("ELICIT-004", "The fields of a form are plain values", _FORMS),
    ("NOTICE-001", "A client that does not know notices is told none", _SCHEMA + "ClientSessionCapabilities"),
    ("COMPACT-001", "A client that does not know compactions is told none", _SCHEMA + "ClientSessionCapabilities"),
    ("AUTH-002", "A login at a terminal has a list of args and a map of environment variables", _AUTH),
)

_CAPABILITY = _rows(
    "capability",
    ("LOAD-001", "What the user said is part of a replay", _SETUP, _LOAD),
    ("LOAD-002", "What the agent said is part of a replay, in its order", _SETUP, _LOAD),
    ("LIST-002", "The cursors of a list lead to its end, past every session once", _LIST, _SESSION + "list"),
    ("LIST-003", "The folders in a list are absolute", _LIST, _SESSION + "list"),
    ("LIST-004", "A folder's list has the sessions of that folder and no others", _LIST, _SESSION + "list"),
    ("DELETE-001", "A deleted session is in no list", _DELETE, _SESSION + "delete"),
    ("AUTH-003", "After a logout a session needs a login again", _AUTH, _CAN + "auth.logout"),
    ("MODES-002", "The mode can be set while a turn runs", _SETTING_MODES, _MODES),
)

_ADVISORY = _rows(
    "advisory",
    ("WIRE-001", "A line may end with a carriage return and a newline", _LINES),
    ("WIRE-002", "White space around a message means nothing", _LINES),
    ("WIRE-005", "An id beyond 2**53 comes back digit by digit", _SCHEMA + "RequestId"),
    ("WIRE-006", "A notification that nobody knows is survived", _EXT),
    ("WIRE-007", "An answer that nobody waits for is dropped", _OVERVIEW),
    ("SIZE-001", "A request of five megabytes is answered", _LINES),
    ("SIZE-002", "A prompt of five megabytes is a prompt like any other", _LINES),
    ("VALID-001", "A session without a folder is refused with -32602", _SCHEMA + "NewSessionRequest"),
    ("VALID-002", "A session in a relative folder is refused", _SETUP),
    ("VALID-004", "Params that do not fit are refused with -32602", _SCHEMA + "ErrorCode"),
    ("VALID-005", "A prompt for a session that is not there is refused", _TURN),
    ("ERROR-001", "Errors show nothing of the program's insides", _SCHEMA + "Error"),
    ("AUTH-001", "A login that is not offered is refused", _AUTH),
    ("EXIT-001", "The process ends by itself when its stdin is closed, also while a turn runs", _LINES),
    ("ORDER-001", "What belongs to a turn is told before its prompt is answered", _TURN),
    ("ORDER-002", "A tool call is announced before anything else is told of it", _TOOLS),
    ("ORDER-003", "A tool call is announced once, and has an id of its own", _TOOLS),
    ("TOOL-001", "The status of a tool call only goes forward", _TOOLS),
    ("TOOL-002", "A turn that ends by itself leaves no tool call open", _TURN),
    ("TOOL-003", "A client that has no file, no terminal and no answer does not fail the prompt", _TOOLS),
    ("PATH-002", "Lines are counted from 1", _OVERVIEW),
    ("PERM-002", "A question for permission has something to choose from", _PERMISSION),
    ("PERM-004", "A no to a question for permission does not fail the prompt", _PERMISSION),
    ("PERM-006", "A tool call that was rejected is not completed", _PERMISSION),
    ("OFFER-001", "A client that offers only a part of what there is gets its turn", _INIT),
    ("MCP-002", "An MCP server that is given is started and greeted", _SETUP),
    ("MCP-003", "An MCP server that is missing is survived", _SETUP),
    ("REQCANCEL-003", "Taking back a request that was never made, or has its answer, is ignored", _REQUESTS),
    ("SESSION-002", "Two sessions can work at the same time", _OVERVIEW),
    ("CANCEL-001", "A cancellation while nothing runs does not cancel the next turn", _STOP),
    ("CANCEL-002", "A cancellation of nothing, or of a session that is not there, is survived", _STOP),
    ("CANCEL-003", "A session goes on after a turn that was cancelled", _STOP),
    ("LOAD-003", "A session that never was cannot be loaded", _SETUP, _LOAD),
    ("RESUME-001", "A session that never was cannot be resumed", _SETUP, _SESSION + "resume"),
    ("LIST-001", "A cursor that the agent never gave is refused", _LIST, _SESSION + "list"),
    ("LIST-005", "The times in a list are written as ISO 8601", _SCHEMA + "SessionInfo", _SESSION + "list"),
    ("CONFIG-001", "Modes are told both as modes and as an option of the category mode", _CONFIG),
    ("CONFIG-002", "The mode and its option have the same value", _CONFIG),
    ("CONFIG-003", "Setting the mode is told as a change of its option", _CONFIG, _MODES),
    ("CONFIG-004", "Setting the option of the mode is told as a change of the mode", _CONFIG, _MODES),
    ("CONFIG-005", "An option, or a value of one, that is not there is refused", _CONFIG, _OPTIONS),
    ("CONFIG-006", "Options have an id each, and so have the choices of each option", _CONFIG, _OPTIONS),
    ("MODES-001", "A mode that is not there is refused", _SETTING_MODES, _MODES),
    ("MODES-003", "Modes have an id each", _SETTING_MODES, _MODES),
    (
        "COMMANDS-001",
        "The names of commands can be typed behind a slash, and each is there once",
        _COMMANDS,
    ),
    ("USAGE-001", "The cost of a session never falls", _SCHEMA + "UsageUpdate"),
    ("USAGE-002", "The currency of a cost is a code of three capital letters", _SCHEMA + "Cost"),
    ("MESSAGE-001", "The messages of two turns have different ids, if they have ids", _SCHEMA + "ContentChunk"),
    ("META-001", "All metadata are objects or null", _EXT),
)

_INFORMATIONAL = _rows(
    "informational",
    ("WIRE-008", "What happens after a blank line", _LINES),
    ("WIRE-009", "What happens after a line that is no UTF-8", _LINES),
    ("WIRE-010", "What happens to requests whose id is null or a fraction", _SCHEMA + "RequestId"),
    ("WIRE-011", "What happens after an array of messages", _LINES),
    ("INIT-001", "How a session before the handshake is answered", _INIT),
    ("INIT-002", "How a handshake is answered whose version is no number", _SCHEMA + "ProtocolVersion"),
    ("VALID-003", "How a session without a list of MCP servers is answered", _SCHEMA + "NewSessionRequest"),
    ("EXIT-002", "With which status the process ends whose client goes away while it works", _LINES),
    ("SESSION-003", "What happens to a second prompt before the first one ended", _TURN),
    ("LIST-006", "Which sessions are listed", _LIST, _SESSION + "list"),
    ("PLAN-001", "Whether each update of a plan has the entries of the one before", "protocol/v1/agent-plan"),
)

RULES: tuple[Rule, ...] = (*_MANDATORY, *_CAPABILITY, *_ADVISORY, *_INFORMATIONAL)
CAUSES: tuple[Cause, ...] = (
    Cause("v1", "ACCORD-META-001", "Metadata are no objects, so they do not fit the schema", ("ACP-SCHEMA-001",)),
    Cause("v1", "ACCORD-ELICIT-004", "A form has fields that the schema has no word for", ("ACP-SCHEMA-001",)),
)
