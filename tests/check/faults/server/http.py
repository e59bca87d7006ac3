"""Servers that are wrong about streamable HTTP, or about who may use it."""

from __future__ import annotations

import json
from typing import Any

from tests.check.faults.change import edited, gives, instead, skips
from tests.check.faults.reference.server import Reply, Request, text_reply
from tests.check.faults.server.fault import server

__all__: list[str] = []


def _status(status: int) -> Any:
    """The reply has another status."""
    return edited(lambda reply, *_: reply._replace(status=status))


def _is(method: str) -> Any:
    return lambda _, request: request.method == method


def _replies(status: int, when: Any) -> Any:
    return instead(lambda _, __: text_reply(status), when)


# --- requests

server("001", "AnswersInPlainText")(
    initialized=edited(lambda reply, _: reply._replace(headers={**reply.headers, "Content-Type": "text/plain"}))
)
server("001", "CreatedIsAStatusToo")(initialized=_status(201))
server("002", "SaysOkToMessages")(accepted=_status(200))
server("002", "TalksToMessages")(accepted=gives(Reply(202, {"Content-Type": "text/plain"}, b"thanks\n")))
server("003", "StreamsToAnybody")(accepts_events=gives(value=True))
server("004", "UnnamedIsUnknown")(nameless=gives(text_reply(404)))
server("005", "UnknownIsGone")(unknown=_replies(410, lambda _, request: request.method != "DELETE"))
server("006", "EndsWhatNeverWas")(unknown=_replies(202, _is("DELETE")))
server("007", "ReadsPlainText")(is_json=gives(value=True))
server("008", "SwallowsBrokenJson")(broken=gives(Reply(202, {})))
server("020", "ReadsAnyBody")(is_too_large=gives(value=False))
server("021", "BelievesEitherName")(is_one_session=gives(value=True))
server("022", "PutIsUnknown")(other_verb=gives(text_reply(404)))

# --- streams

server("009", "StreamsAreJson")(
    stream_headers=gives({"Content-Type": "application/x-ndjson", "Cache-Control": "no-cache"}),
)


def _as_chunk(text: bytes) -> bool:
    return b'"session/update"' in text


server("010", "EventsAreNoMessages")(
    event_bytes=edited(
        lambda data, number, text: data if not _as_chunk(text) else data + b"id: %d\ndata: hello\n\n" % number
    )
)
server("011", "LinesEndLikeHeaders")(event_bytes=edited(lambda data, *_: data.replace(b"\n", b"\r\n")))
server("011", "SeveralLinesOfData")(event_bytes=edited(lambda data, *_: data.replace(b"data: {", b"data: {\ndata: ")))


async def _answers_in_the_body(peer: Any, old: Any, request: Request) -> Reply:
    """The answer to `session/new` is the body of its POST."""
    reply: Reply = await old(request)
    connection = peer.find(request)
    if b'"session/new"' not in request.body or connection is None:
        return reply
    connection.answers[json.loads(request.body)["id"]] = "the body"
    while not connection.stream("the body").texts:
        await connection.wait(connection.version)
    return Reply(200, {"Content-Type": "application/json"}, connection.stream("the body").texts.pop())


server("012", "AnswersInTheBody")(post=_answers_in_the_body)
server("013", "AnswersPromptsElsewhere")(
    stream_of_answer=lambda _, old, connection, message: (
        (old(connection, message), None)[1] if _is_prompt_answer(message) else old(connection, message)
    )
)


def _is_prompt_answer(message: Any) -> bool:
    # A prompt's result: in v2 it is empty, or names the message.
    result = message.get("result")
    return isinstance(result, dict) and ("stopReason" in result or not result or "messageId" in result)


server("014", "ForgetsWhatNobodyReads")(append=skips(lambda _, connection, name, __: not connection.stream(name).links))
server("015", "StreamsOutliveTheirConnection")(is_over=gives(value=False))
server("015", "NothingIsDeleted")(deleted=_status(204))
server("016", "AnswersOverTheReplay")(
    stream_of_answer=lambda _, old, connection, message: (
        (old(connection, message), None)[1] if connection.opening else old(connection, message)
    )
)
server("017", "TwoReadersShare")(replace=instead(lambda _, stream, link: stream.links.append(link)))
server("018", "StrangersAreForbidden", note="403")(
    refuse_stream=lambda _, old, connection, name: (
        text_reply(403) if name is not None and "no-such" in name else old(connection, name)
    )
)
server("019", "StreamsMayBeCached")(stream_headers=gives({"Content-Type": "text/event-stream"}))
server("023", "ForgetsWhereItWas")(rewind=gives(value=True))
server("024", "SilentStreamsStaySilent")(silent_bytes=gives(b""))

# --- access


def _wants_token(methods: set[str]) -> Any:
    """The token is looked at for some verbs only."""
    return lambda _, old, request: old(request) or request.method not in methods


server("201", "OnlyPostsNeedATokenHere")(is_authorized=_wants_token({"POST"}))
server("202", "DeniedWithoutAReason")(unauthorized=gives(text_reply(403)))
server("202", "NoWordOfBearers")(unauthorized=gives(text_reply(401)))
server("203", "AnyPageMayCome")(is_own_origin=gives(value=True))
server("204", "AnyNameWillDo")(is_own_host=gives(value=True))
