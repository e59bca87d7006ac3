"""The mapping of exceptions to failures of the command: exit status, phase and advice."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from accord.cli.status import CommandFailure, Status
from accord.client import RulesFileError
from accord.config.errors import (
    ConfigError,
    DownloadError,
    FleetFailed,
    NotInstalled,
    RegistryError,
    UnknownAgent,
    UntrustedFile,
)
from accord.display import json_text
from accord.errors import (
    AccordError,
    AuthRequired,
    CallTimeout,
    ConnectFailed,
    ConnectionLost,
    DeadlineExceeded,
    InternalError,
    LocalProtocolError,
    NegotiationFailed,
    RateLimited,
    RequestCancelled,
    RequestError,
    TransportError,
)
from accord.time_scale import scaled
from accord.transport.remote import is_address

_UNAUTHORIZED = 401

_NODE_SECONDS = scaled(5.0)
# How much of an error's `data` is shown: agents put stack traces and whole answers of providers there.
DATA_CHARACTERS = 400
# The fields of an error's `data` under which agents put a reason in words.
_REASON_KEYS = ("details", "message")


@contextlib.contextmanager
def phase(name: str, agent: str = "") -> Iterator[None]:
    """Errors in this context are failures of that phase; `agent` is its name on the command line."""
    try:
        yield
    except AccordError as error:
        raise failure_of(error, name, agent) from error


def failure_of(error: AccordError, name: str, agent: str = "") -> CommandFailure:
    """The failure that an exception means in a phase."""
    for kinds, make in _ROWS:
        if isinstance(error, kinds):
            failure: CommandFailure = make(error, name, agent)
            return failure
    return CommandFailure(Status.FAILED, name, _message_of(error), cause=type(error).__name__)


def session_failure(error: AccordError, session_id: str, agent: str = "") -> CommandFailure:
    """The failure that an exception means while a session is reopened."""
    failure = failure_of(error, "session", agent)
    if isinstance(error, AuthRequired | RequestCancelled | TransportError | DeadlineExceeded):
        return failure
    # Independent of the agent's error: it cannot reopen this session.
    message = f"the agent cannot go on with the session {session_id}: {failure.message}"
    return CommandFailure(
        Status.NO_SESSION, "session", message, advice=f"See: accord sessions ls {agent}".strip(), cause=failure.cause
    )


def unforeseen(error: AccordError | OSError) -> CommandFailure:
    """The failure for an exception outside every phase: of the user's files, or of the system."""
    if isinstance(error, AccordError):
        return failure_of(error, "config")
    where = "" if error.filename is None else f"{error.filename}: "
    return CommandFailure(Status.FAILED, "system", f"{where}{error.strerror or error}", cause=type(error).__name__)


def _message_of(error: AccordError) -> str:
    if isinstance(error, ConnectionLost):
        status = error.exit_status
        ended = "" if status is None else f" (signal {-status})" if status < 0 else f" (exit status {status})"
        return error.message + ended
    return str(error)


def _config(error: Any, _name: str, _agent: str) -> CommandFailure:
    return CommandFailure(Status.USAGE, "config", _message_of(error), cause=type(error).__name__)


def _unknown(error: UnknownAgent, _name: str, _agent: str) -> CommandFailure:
    advice = 'See: accord agents ls; a command comes behind --: accord run "text" -- COMMAND'
    return CommandFailure(Status.USAGE, "config", str(error), advice=advice, cause="UnknownAgent")


def _not_installed(error: NotInstalled, _name: str, _agent: str) -> CommandFailure:
    advice = f"See: accord agents info {error.name}; any command comes behind --"
    return CommandFailure(Status.NO_AGENT, "start", str(error), advice=advice, cause="NotInstalled")


def _untrusted(error: UntrustedFile, _name: str, _agent: str) -> CommandFailure:
    advice = "Look at it, then say --trust, or run it once at a terminal, where you are asked"
    return CommandFailure(Status.DENIED, "config", str(error), advice=advice, cause="UntrustedFile")


def _download(error: DownloadError, _name: str, _agent: str) -> CommandFailure:
    return CommandFailure(Status.NO_AGENT, "start", str(error), cause="DownloadError")


def _late(error: Any, name: str, agent: str) -> CommandFailure:
    at = error.phase if isinstance(error, DeadlineExceeded) else name
    seconds = error.seconds if isinstance(error, DeadlineExceeded) else error.timeout_seconds
    sentence = _LATE.get(at, "the agent did not answer").format(seconds=f"{seconds:g}")
    # A cancelled turn is one that the user does not wait for.
    advice = "A second Ctrl+C does not wait for it" if at == "cancel" else "Give it more time with --timeout"
    return CommandFailure(Status.TIMEOUT, at, sentence, advice=advice, examine=agent, cause=type(error).__name__)


_LATE = {
    "start": "the agent was not ready in {seconds} s",
    "session": "the agent did not open the session in {seconds} s",
    "settings": "the agent did not take the settings in {seconds} s",
    "first": "the agent gave no sign of life for {seconds} s after the prompt",
    "idle": "the agent gave no sign of life for {seconds} s",
    "turn": "the turn took longer than {seconds} s",
    "cancel": "the turn was cancelled and did not end in {seconds} s, so the agent was ended",
}


def _login(error: AuthRequired, _name: str, agent: str) -> CommandFailure:
    ways = [_way(each) for each in error.auth_methods if isinstance(each, dict) and isinstance(each.get("id"), str)]
    # The SDKs put the name of the error before the agent's own words.
    said = error.message.removeprefix(AuthRequired.default_message).lstrip(": ")
    reason = f": {said}" if said else ""
    message = f"the agent wants you to log in first{reason}{_data_text(error.data, ('reason', 'authMethods'))}"
    known = known_login(agent)
    if not ways:
        advice = known or "It offers no login: give it its key in its environment (--env K=V)"
        return CommandFailure(Status.LOGIN, "login", message, advice=advice, cause="AuthRequired", is_explained=True)
    advice = f"Type: {login_line(agent, 'METHOD' if len(ways) > 1 else '')}"
    if known:
        # The offers are often a browser alone, where a key in a variable would do.
        advice = f"{advice}; or {known[0].lower()}{known[1:]}"
    offered = f"{message} (it offers: {', '.join(ways)})"
    return CommandFailure(Status.LOGIN, "login", offered, advice=advice, cause="AuthRequired", is_explained=True)


def known_login(agent: str) -> str:
    """The catalogue's login advice for a named agent, for agents that offer no login method themselves."""
    from accord.config.catalogue import load_catalogue  # noqa: PLC0415 - only when something is wrong
    from accord.config.catalogue_lookup import login_sentence  # noqa: PLC0415

    known = load_catalogue().find(agent)
    return "" if known is None else login_sentence(known).removesuffix(".")


def set_up_advice(agent: str) -> str:
    """How to set up an agent of the catalogue, for failures that a missing login or key may have caused; or "".

    Where the Node.js on the PATH is too old for it, that comes first: it is the cause of any failure.
    """
    from accord.config.catalogue import load_catalogue  # noqa: PLC0415 - only when something is wrong

    known = load_catalogue().find(agent)
    if known is None:
        return ""
    node = _node_version() if known.min_node else ""
    major = re.match(r"v(\d+)\.", node)
    if major is not None and int(major[1]) < known.min_node:
        return f"{known.name} needs Node.js {known.min_node} or newer (https://nodejs.org), and {node} is on the PATH"
    sentence = known_login(agent)
    return f"If it is not set up yet: {sentence[0].lower()}{sentence[1:]}"


def _node_version() -> str:
    """The version of the `node` on the PATH; "" where there is none."""
    from accord.config.catalogue_lookup import find_program  # noqa: PLC0415 - only when something is wrong

    node = find_program("node", path=os.environ.get("PATH", os.defpath), project=Path.cwd())
    if node is None:
        return ""
    try:
        said = subprocess.run([node, "--version"], capture_output=True, timeout=_NODE_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return said.stdout.decode(errors="replace").strip()[:20]


def _way(method: dict[str, Any]) -> str:
    name = method.get("name")
    return f"{method['id']} ({name})" if isinstance(name, str) and name else str(method["id"])


def login_line(agent: str, method: str = "") -> str:
    """The command that logs in to an agent; a method comes behind a name, and before a command."""
    parts = (method, agent) if agent.startswith("-- ") else (agent, method)
    return " ".join(["accord agents login", *filter(None, parts)])


def _not_started(error: ConnectFailed, name: str, agent: str) -> CommandFailure:
    if name == "login":
        # The agent runs; its login program failed.
        advice = f"Try it again: {login_line(agent)}"
        return CommandFailure(Status.LOGIN, name, str(error), advice=advice, cause="ConnectFailed")
    # `tap` and `replay` start any command, which has no name to look up; our own stdin was not started at all.
    advice = "Is it installed and on the PATH?" if agent or error.argv else ""
    if isinstance(error.__cause__, PermissionError):
        advice = "Make it executable, or put its interpreter before it"
    elif agent and not agent.startswith("-- "):
        advice = f"{advice} See: accord agents info {agent}"
    if error.status == _UNAUTHORIZED:
        advice = "Put its token into ACCORD_TOKEN, or name a file or a variable with it in acp.json"
    elif isinstance(error.__cause__, ModuleNotFoundError):
        advice = ""  # the message says what to install
    elif is_address(agent) or error.status is not None:
        advice = "Is the address right, and does the server run?"
    return CommandFailure(Status.NO_AGENT, name, str(error), advice=advice, cause="ConnectFailed")


def _lost(error: ConnectionLost, name: str, agent: str) -> CommandFailure:
    what = "the agent ended before it was ready" if name == "start" else "the agent is gone"
    advice = set_up_advice(agent) if name in {"start", "session"} else ""
    if name == "start" and error.exit_status == 0 and not advice:
        advice = "Does it serve the protocol (with Accord: agent.run())?"
    return CommandFailure(
        Status.NO_AGENT, name, f"{what}: {_message_of(error)}", advice=advice, examine=agent,
        agent_stderr=error.stderr_tail, cause="ConnectionLost",
    )  # fmt: skip


def _disagreed(error: NegotiationFailed, name: str, agent: str) -> CommandFailure:
    return CommandFailure(Status.FAILED, name, str(error), examine=agent, cause="NegotiationFailed")


def _cancelled(_error: RequestCancelled, name: str, _agent: str) -> CommandFailure:
    return CommandFailure(Status.INTERRUPTED, name, "cancelled", cause="RequestCancelled")


def _limited(error: RateLimited, name: str, _agent: str) -> CommandFailure:
    wait = f"Try again in {error.retry_after:g} s" if error.retry_after is not None else "Try again later"
    message = f"too much, too fast: {error.message}{_data_text(error.data, ('reason', 'retryAfter'))}"
    return CommandFailure(Status.FAILED, name, message, advice=wait, cause="RateLimited")


def _refused(error: RequestError, name: str, agent: str) -> CommandFailure:
    message = f"the agent answered with an error: {error.message} ({error.code}){_data_text(data_for_people(error))}"
    # Many agents have no error of their own for a missing key, or find it missing only when they ask their model.
    advice = set_up_advice(agent) if isinstance(error, InternalError) and name in {"session", "prompt"} else ""
    if name == "session" and isinstance(error.data, dict) and error.data.get("field") == "cwd":
        advice = "Go to a directory that the agent serves, and type it there"
    # The traceback behind an error with a reason is for the author of an agent, not for a user of a well-known one.
    is_explained = _gives_a_reason(error) and bool(known_login(agent))
    return CommandFailure(
        Status.FAILED, name, message, advice=advice, cause=type(error).__name__, is_explained=is_explained
    )


def _gives_a_reason(error: RequestError) -> bool:
    """Whether an error says more than its kind, or where in a log to look."""
    has_text = isinstance(error.data, str) and bool(error.data)
    has_field = isinstance(error.data, dict) and any(isinstance(error.data.get(key), str) for key in _REASON_KEYS)
    return error.message != type(error).default_message or has_text or has_field


def data_for_people(error: RequestError) -> Any:
    """The `data` of an error without the words for programs, where its message is a sentence; None if none is left."""
    data = error.data
    if not isinstance(data, dict) or error.message == type(error).default_message:
        return data
    kept = {name: value for name, value in data.items() if name not in {"reason", "field"} or not _is_word(value)}
    return kept or None


def _is_word(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch(r"[a-z]+([_.][a-z]+)*", value, re.IGNORECASE) is not None


def _data_text(data: Any, known: Collection[str] = ()) -> str:
    """The `data` of an error behind its message: a textual reason first, then the fields not in `known`, as JSON."""
    if data is None or data == {}:
        return ""
    if isinstance(data, str):
        return f": {_clip(data)}"
    if not isinstance(data, dict):
        return f": {json_text(data, limit=DATA_CHARACTERS)}"
    key = next((each for each in _REASON_KEYS if isinstance(data.get(each), str)), None)
    log_id = data.get("correlationId")
    rest = {name: value for name, value in data.items() if name not in {key, "correlationId", *known}}
    parts = [_clip(data[key])] if key is not None else []
    room = max(DATA_CHARACTERS - sum(map(len, parts)), 1)
    if all(isinstance(value, str | int | float) for value in rest.values()):
        told = ", ".join(f"{name}: {value}" for name, value in rest.items())
        parts += [told if len(told) <= room else f"{told[:room]}…"] if rest else []
    else:
        parts.append(json_text(rest, limit=room))
    told = f": {', '.join(parts)}" if parts else ""
    return f"{told}; its log has the reason under {_clip(str(log_id))}" if log_id and key is None else told


def _clip(text: str) -> str:
    return text if len(text) <= DATA_CHARACTERS else f"{text[:DATA_CHARACTERS]}…"


def _local(error: LocalProtocolError, name: str, _agent: str) -> CommandFailure:
    return CommandFailure(Status.FAILED, name, str(error), cause="LocalProtocolError")


# The first row that fits counts.
_ROWS: tuple[tuple[Any, Any], ...] = (
    (UnknownAgent, _unknown),
    (NotInstalled, _not_installed),
    (UntrustedFile, _untrusted),
    (DownloadError, _download),
    ((ConfigError, RegistryError, RulesFileError, FleetFailed), _config),
    ((DeadlineExceeded, CallTimeout), _late),
    (AuthRequired, _login),
    (ConnectFailed, _not_started),
    (ConnectionLost, _lost),
    (NegotiationFailed, _disagreed),
    (RequestCancelled, _cancelled),
    (RateLimited, _limited),
    (RequestError, _refused),
    (LocalProtocolError, _local),
)
