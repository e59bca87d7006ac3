"""WebSocket: the upgrade, messages and frames, and the answers to malformed ones."""

from __future__ import annotations

from accord.check.agent.remote.endpoint import EXTENSION, LATE, SOON_SECONDS, Endpoint, message_of, remote_step
from accord.check.agent.remote.http_requests import TEXT
from accord.check.agent.remote.raw_sockets import (
    BINARY,
    CONTINUATION,
    PING,
    TEXT as TEXT_FRAME,
)
from accord.check.engine.evidence import PARSE_ERROR, Entry, Evidence, StepFailed, Violation, read_json, skip_unless
from accord.check.engine.judging import Notes, judge
from accord.check.rule import RuleRow, agent_rules

_RFC = "https://www.rfc-editor.org/rfc/rfc6455#section-"

# fmt: off
RULES = agent_rules(
    RuleRow("ACCORD-REMOTE-101", "MMM", TEXT,
        "After the upgrade the conversation is that of every other transport, from `initialize` to the end of a turn"),
    RuleRow("ACCORD-REMOTE-102", "MMM", TEXT, "Every message is one JSON-RPC object in one text message"),
    RuleRow("ACCORD-REMOTE-103", "AAA", TEXT, "The answer to the upgrade has `Acp-Connection-Id`"),
    RuleRow("ACCORD-REMOTE-104", "AAA", "https://www.jsonrpc.org/specification#error_object",
        "A message that is no JSON gets -32700 with the id null, and the socket lives on"),
    RuleRow("ACCORD-REMOTE-105", "AAA", f"{_RFC}7.4.1",
        "A binary message is ignored, read like a text, or the reason of a close with 1003"),
    RuleRow("ACCORD-REMOTE-106", "MMM", f"{_RFC}5.5.3", "A ping gets a pong with the same content"),
    RuleRow("ACCORD-REMOTE-107", "MMM", f"{_RFC}5.4", "A message may come in several frames"),
    RuleRow("ACCORD-REMOTE-108", "MMM", f"{_RFC}5.5.1", "A close frame is answered with a close frame"),
    RuleRow("ACCORD-REMOTE-109", "AAA", TEXT,
        "A first message that is not `initialize` is refused with an error, or closes the socket"),
    RuleRow("ACCORD-REMOTE-110", "MMM", f"{_RFC}8.1",
        "A text message that is no UTF-8 closes its socket, and ends nothing else"),
)
# fmt: on

_PAYLOAD = b"accord-check"
_INCONSISTENT = 1003
_ABNORMAL = 1006


@remote_step("websocket")
async def websocket_turn(endpoint: Endpoint) -> Notes:
    connection = await endpoint.upgrade()
    notes: Notes = {"messages": connection.socket.messages, "failure": None}
    try:
        await connection.handshake()
        new = await connection.answer(await connection.ask("session/new", connection.new_params))
        session = connection.session_in(new)
        await connection.end_of_turn(session, await connection.prompt(session))
    except StepFailed as failure:
        notes["failure"] = failure
    return notes


@judge("ACCORD-REMOTE-101", steps=("websocket_turn",))
def a_conversation_over_websocket(evidence: Evidence) -> None:
    failure: StepFailed | None = evidence.step("websocket_turn")["failure"]
    if failure is not None:
        raise failure


@judge("ACCORD-REMOTE-102", steps=("websocket_turn",))
def each_message_is_one_text(evidence: Evidence) -> None:
    for opcode, payload, entry in evidence.step("websocket_turn")["messages"]:
        if opcode != TEXT_FRAME:
            raise Violation("a message is not a text message", entry)
        message = read_json(payload)
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            raise Violation("a message is not one JSON-RPC object", entry)


@remote_step("websocket")
async def websocket_upgrade(endpoint: Endpoint) -> Notes:
    connection = await endpoint.upgrade()
    return {"upgrade": connection.socket.upgrade, "id": connection.socket.headers.get("acp-connection-id")}


@judge("ACCORD-REMOTE-103", steps=("websocket_upgrade",))
def the_upgrade_names_the_connection(evidence: Evidence) -> None:
    run = evidence.step("websocket_upgrade")
    if not run["id"]:
        raise Violation("there is no Acp-Connection-Id", *run["upgrade"])


@remote_step("websocket")
async def websocket_broken_json(endpoint: Endpoint) -> Notes:
    connection = await endpoint.upgrade()
    await connection.handshake()
    sent = connection.socket.say(b'{"jsonrpc": "2.0", "id": 7')
    alive = await connection.is_alive()
    said = [each for each in endpoint.record.entries[sent.place :] if not each.sent]
    return {"sent": sent, "alive": alive, "errors": [each for each in said if _is_parse_error(each)], "said": said}


def _is_parse_error(entry: Entry) -> bool:
    message = entry.message if isinstance(entry.message, dict) else {}
    error = message.get("error")
    return isinstance(error, dict) and error.get("code") == PARSE_ERROR and message.get("id") is None


@judge("ACCORD-REMOTE-104", steps=("websocket_broken_json",))
def broken_json_is_answered(evidence: Evidence) -> None:
    run = evidence.step("websocket_broken_json")
    if not run["alive"]:
        raise Violation("nothing is answered after it", run["sent"], *run["said"][:1])
    if not run["errors"]:
        raise Violation("there is no -32700 with the id null", run["sent"], *run["said"][:1])


@remote_step("websocket")
async def websocket_binary(endpoint: Endpoint) -> Notes:
    connection = await endpoint.upgrade()
    await connection.handshake()
    connection.socket.frame(BINARY, message_of("_accord.check/note", {}))
    sent = connection.socket.note("a binary message")
    alive = await connection.is_alive()
    return {"sent": sent, "alive": alive, "code": connection.socket.close_code}


@judge("ACCORD-REMOTE-105", steps=("websocket_binary",))
def binary_messages_do_no_harm(evidence: Evidence) -> str | None:
    run = evidence.step("websocket_binary")
    if run["alive"]:
        return "the socket lives on"
    if run["code"] != _INCONSISTENT:
        raise Violation(f"nothing is answered after it, and the close code is {run['code']}", run["sent"])
    return "the socket is closed with 1003"


@remote_step("websocket")
async def websocket_frames(endpoint: Endpoint) -> Notes:
    """A ping; then a request in three frames, with another ping between them; then the end."""
    connection = await endpoint.upgrade()
    await connection.handshake()
    socket, record = connection.socket, endpoint.record
    socket.frame(PING, _PAYLOAD)
    ping = socket.note("ping")
    ponged = await record.until(lambda: _PAYLOAD in socket.pongs, SOON_SECONDS)
    request = message_of(EXTENSION, {}, "accord-check-parts")
    parts = (request[:10], request[10:20], request[20:])
    opcodes = (TEXT_FRAME, CONTINUATION, CONTINUATION)
    for place, (opcode, part) in enumerate(zip(opcodes, parts, strict=True)):
        socket.frame(opcode, part, is_last=place == len(parts) - 1)
    sent = record.add(request, read_json(request), sent=True)
    joined = await record.until(lambda: connection.answered("accord-check-parts") is not None, SOON_SECONDS)
    return {"ping": ping, "ponged": ponged, "pongs": list(socket.pongs), "sent": sent, "joined": joined}


@judge("ACCORD-REMOTE-106", steps=("websocket_frames",))
def pings_are_answered(evidence: Evidence) -> None:
    run = evidence.step("websocket_frames")
    if not run["ponged"]:
        reason = "the pong has another content" if run["pongs"] else "there was no pong"
        raise Violation(reason, run["ping"])


@judge("ACCORD-REMOTE-107", steps=("websocket_frames",))
def fragments_are_joined(evidence: Evidence) -> None:
    run = evidence.step("websocket_frames")
    if not run["joined"]:
        raise Violation("a request in three frames was not answered", run["sent"])


@remote_step("websocket")
async def websocket_close(endpoint: Endpoint) -> Notes:
    connection = await endpoint.upgrade()
    await connection.handshake()
    sent = connection.socket.send_close()
    await connection.socket.wait_closed(SOON_SECONDS)
    return {"sent": sent, "code": connection.socket.close_code}


@judge("ACCORD-REMOTE-108", steps=("websocket_close",))
def a_close_is_answered(evidence: Evidence) -> None:
    run = evidence.step("websocket_close")
    if run["code"] is None:
        raise Violation("the socket is still open", run["sent"])
    if run["code"] == _ABNORMAL:
        raise Violation("the socket ended without a close frame", run["sent"])


@remote_step("websocket")
async def websocket_first_message(endpoint: Endpoint) -> Notes:
    connection = await endpoint.upgrade()
    id_ = await connection.ask("session/new", connection.new_params)
    socket = connection.socket
    await endpoint.record.until(
        lambda: connection.answered(id_) is not None or socket.close_code is not None, SOON_SECONDS
    )
    return {"answer": connection.answered(id_), "code": socket.close_code}


@judge("ACCORD-REMOTE-109", steps=("websocket_first_message",))
def initialize_comes_first(evidence: Evidence) -> str | None:
    run = evidence.step("websocket_first_message")
    answer: Entry | None = run["answer"]
    if answer is not None and "result" in answer.message:
        raise Violation("a session was made before `initialize`", answer)
    skip_unless(answer is not None or run["code"] is not None, "it was neither answered nor refused")
    return None


@remote_step("websocket", order=LATE)
async def websocket_no_utf8(endpoint: Endpoint) -> Notes:
    connection = await endpoint.upgrade()
    await connection.handshake()
    connection.socket.frame(TEXT_FRAME, b'{"jsonrpc":"2.0","method":"_\xff\xfe"}')
    sent = connection.socket.note("a text message that is no UTF-8")
    await connection.socket.wait_closed(SOON_SECONDS)
    try:
        await (await endpoint.upgrade()).handshake()
    except StepFailed as failure:
        return {"sent": sent, "code": connection.socket.close_code, "lost": failure.reason}
    return {"sent": sent, "code": connection.socket.close_code, "lost": ""}


@judge("ACCORD-REMOTE-110", steps=("websocket_no_utf8",))
def what_is_no_utf8_ends_the_socket(evidence: Evidence) -> str:
    run = evidence.step("websocket_no_utf8")
    if run["code"] is None:
        raise Violation("the socket is still open", run["sent"])
    if run["lost"]:
        raise Violation(f"the server takes no connection any more: {run['lost']}", run["sent"])
    return f"it is closed with {run['code']}"
