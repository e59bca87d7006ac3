"""The bridge from AG-UI with agents behind an address: a real HTTP server on loopback sends what a test wrote."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

pytest.importorskip("httpx2", reason='an HTTP client is missing: pip install -e ".[mcp]"')

from accord.adapters import ag_ui, serve
from accord.adapters.ag_ui_messages import AguiMessages
from accord.agent import Agent, Session
from accord.errors import LocalProtocolError
from accord.stores import MemoryStore
from tests.agent.rig import ELICITS, Heard, choose, served
from tests.limits import limit

Event = dict[str, Any]
Answer = Callable[[dict[str, Any]], list[Event] | int]
"""The events of a run, or the status that it is refused with."""
PERMISSION = "session/request_permission"
FINISHED: Event = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}
# As the endpoint of Strands refuses a run, that of a conversation of CrewAI, and that of Microsoft Agent Framework.
REFUSALS: list[Any] = [
    *(
        [{"type": "RUN_STARTED", "threadId": "t", "runId": "r"}, {"type": "RUN_ERROR", "message": "busy", "code": code}]
        for code in ("THREAD_BUSY", "AGUI_CREWAI_CONVERSATION_THREAD_BUSY")
    ),
    409,
]


def said(text: str) -> list[Event]:
    return [{"type": "TEXT_MESSAGE_CHUNK", "messageId": f"said {text}", "delta": text}, FINISHED]


def called(call_id: str, name: str) -> list[Event]:
    return [
        {"type": "TOOL_CALL_START", "toolCallId": call_id, "toolCallName": name},
        {"type": "TOOL_CALL_ARGS", "toolCallId": call_id, "delta": '{"path": '},
        {"type": "TOOL_CALL_ARGS", "toolCallId": call_id, "delta": '"a.txt"}'},
        {"type": "TOOL_CALL_END", "toolCallId": call_id},
    ]


class Endpoint:
    """An AG-UI endpoint; `inputs` is what was posted."""

    def __init__(self, answer: Answer) -> None:
        self.inputs: list[dict[str, Any]] = []
        self.headers: list[str | None] = []
        self.is_left = threading.Event()
        """Set when a client closed the stream before its end."""
        self.status = 200
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                given = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                endpoint.inputs.append(given)
                endpoint.headers.append(self.headers["Authorization"])
                events = answer(given)
                self.send_response(events if isinstance(events, int) else endpoint.status)
                self.end_headers()
                try:
                    self.answer([] if isinstance(events, int) else events)
                except ConnectionError:
                    # What a client closes before it has read all is reset.
                    endpoint.is_left.set()

            def answer(self, events: list[Event]) -> None:
                for event in events:
                    self.wfile.write(b"data: " + json.dumps(event).encode() + b"\n\n")
                    self.wfile.flush()
                    if event["type"] == "HANG":
                        # Nothing more comes; reading ends when the client is gone.
                        self.connection.settimeout(limit(20.0))
                        if self.connection.recv(1) == b"":
                            endpoint.is_left.set()

            def log_message(self, *_: Any) -> None: ...

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}/"


@contextmanager
def listening(answer: Answer) -> Iterator[Endpoint]:
    endpoint = Endpoint(answer)
    thread = threading.Thread(target=endpoint.server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield endpoint
    finally:
        endpoint.server.shutdown()
        thread.join()
        endpoint.server.server_close()


async def turns(endpoint: Endpoint, *texts: str, option: str = "allow", **options: Any) -> list[Heard]:
    capabilities, edition = options.pop("capabilities", {}), options.pop("edition", "v1")
    agent = serve(endpoint.url, "remote", store=MemoryStore(), **options)
    async with served(agent, edition, capabilities=capabilities) as client:
        client.answers[PERMISSION] = choose(option)
        client.answers["elicitation/create"] = lambda _: {"action": "accept", "content": {"answer": "Rome"}}
        session = await client.new_session()
        return [await client.turn(session, text) for text in texts]


async def test_the_whole_conversation_and_the_state_go_along_with_each_run() -> None:
    def answer(given: dict[str, Any]) -> list[Event]:
        if len(given["messages"]) > 1:
            return said("again")
        return [
            {"type": "STATE_SNAPSHOT", "snapshot": {"steps": []}},
            {"type": "STATE_DELTA", "delta": [{"op": "add", "path": "/steps/-", "value": "one"}]},
            *said("first"),
        ]

    with listening(answer) as endpoint:
        first, second = await turns(endpoint, "one", "two", headers={"Authorization": "Bearer token"})
    assert (first.text, second.text) == ("first", "again")
    messages = endpoint.inputs[1]["messages"]
    assert [(message["role"], message["content"]) for message in messages] == [
        ("user", "one"),
        ("assistant", "first"),
        ("user", "two"),
    ]
    assert endpoint.inputs[1]["state"] == {"steps": ["one"]}
    assert endpoint.headers == ["Bearer token"] * 2


@pytest.mark.parametrize(("option", "approved"), [("allow", True), ("reject", False)])
async def test_an_interrupt_about_a_call_is_a_permission_question(option: str, *, approved: bool) -> None:
    def answer(given: dict[str, Any]) -> list[Event]:
        if "resume" in given:
            return [{"type": "TOOL_CALL_RESULT", "messageId": "m", "toolCallId": "c", "content": "gone"}, *said("ok")]
        interrupt = {"id": "i", "reason": "tool_call", "toolCallId": "c"}
        return [*called("c", "delete_file"), {**FINISHED, "outcome": {"type": "interrupt", "interrupts": [interrupt]}}]

    with listening(answer) as endpoint:
        (heard,) = await turns(endpoint, "go", option=option)
    assert endpoint.inputs[1]["resume"] == [
        {"interruptId": "i", "status": "resolved", "payload": {"approved": approved}}
    ]
    assert heard.tools()["c"]["status"] == ("completed" if approved else "failed")
    assert heard.tools()["c"]["kind"] == "delete"
    assert heard.text == "ok"


@pytest.mark.parametrize(
    ("schema", "payload"),
    [
        (
            {"type": "object", "properties": {"accepted": {"type": "boolean"}, "note": {"type": "string"}}},
            {"accepted": True},
        ),
        ({"type": "object", "properties": {"approved": {}, "accepted": {}, "city": {}}}, {"approved": True}),
        ({"type": "boolean"}, True),
    ],
)
async def test_an_approval_is_given_in_the_form_that_its_framework_wants(schema: Any, payload: Any) -> None:
    def answer(given: dict[str, Any]) -> list[Event]:
        if "resume" in given:
            return [{"type": "TOOL_CALL_RESULT", "messageId": "m", "toolCallId": "c", "content": "gone"}, *said("ok")]
        interrupt = {"id": "i", "reason": "tool_call", "toolCallId": "c", "responseSchema": schema}
        return [*called("c", "delete_file"), {**FINISHED, "outcome": {"type": "interrupt", "interrupts": [interrupt]}}]

    with listening(answer) as endpoint:
        (heard,) = await turns(endpoint, "go", capabilities=ELICITS)
    assert len(heard.requests(PERMISSION)) == 1
    assert endpoint.inputs[1]["resume"][0]["payload"] == payload


@pytest.mark.parametrize("is_said", [True, False])
async def test_a_call_that_is_suspended_before_it_is_said_is_asked_about(*, is_said: bool) -> None:
    """Mastra says it with the interrupt alone; where another agent says both, the call is one."""

    def answer(given: dict[str, Any]) -> list[Event]:
        if "resume" in given:
            return [{"type": "TOOL_CALL_RESULT", "messageId": "m", "toolCallId": "c", "content": "gone"}, *said("ok")]
        suspended = {"toolName": "delete_file", "args": {"path": "a.txt"}, "suspendPayload": {"reason": "It is old."}}
        interrupt = {"id": "i", "reason": "suspended", "toolCallId": "c", "metadata": {"mastra": suspended}}
        events = called("c", "delete_file") if is_said else []
        return [*events, {**FINISHED, "outcome": {"type": "interrupt", "interrupts": [interrupt]}}]

    with listening(answer) as endpoint:
        (heard,) = await turns(endpoint, "go", edition="v2")
    (question,) = heard.requests(PERMISSION)
    assert "It is old." in str(question["params"])
    assert heard.tools()["c"]["statuses"] == ["pending", "in_progress", "completed"]
    assert (heard.tools()["c"]["kind"], heard.tools()["c"]["rawInput"]) == ("delete", {"path": "a.txt"})
    calls = [call for message in endpoint.inputs[-1]["messages"] for call in message.get("toolCalls", ())]
    assert [call["id"] for call in calls] == ["c"]


async def test_the_question_of_a_suspended_tool_is_the_text_that_it_is_suspended_with() -> None:
    def answer(given: dict[str, Any]) -> list[Event]:
        if "resume" in given:
            return said(given["resume"][0]["payload"]["city"])
        suspended = {"toolName": "weather", "args": {}, "suspendPayload": {"message": "Which city?"}}
        schema = {"type": "object", "properties": {"city": {"type": "string"}}}
        interrupt = {"id": "i", "reason": "suspended", "toolCallId": "c", "responseSchema": schema}
        outcome = {"type": "interrupt", "interrupts": [{**interrupt, "metadata": {"mastra": suspended}}]}
        return [{**FINISHED, "outcome": outcome}]

    with listening(answer) as endpoint:
        heard = await turns(endpoint, "go", "Oslo")
    assert [each.text for each in heard] == ["Which city?", "Oslo"]


async def test_a_call_is_shown_when_its_arguments_are_whole_and_a_call_that_only_asks_is_not() -> None:
    """Some frameworks say the end of a call when its tool has ended, and ask by a call beside the interrupt."""
    events = [*called("q", "confirm_changes"), *called("c", "read_file")[:-1], {"type": "HANG"}]
    with listening(lambda _: events) as endpoint:
        async with served(serve(endpoint.url, "remote", store=MemoryStore()), "v2") as client:
            session = await client.new_session()
            prompt = await client.prompt(session, "go")
            await client.hear_until(lambda message: "toolCallId" in str(message))
            await client.cancel(session)
            heard = await client.ended(prompt)
    assert {name: call["rawInput"] for name, call in heard.tools().items()} == {"c": {"path": "a.txt"}}


async def test_results_that_come_with_the_list_of_messages_alone_end_their_calls() -> None:
    def answer(given: dict[str, Any]) -> list[Event]:
        calls = [
            {"id": name, "type": "function", "function": {"name": "read_file", "arguments": "{}"}} for name in "cd"
        ]
        messages = [
            *given["messages"],
            {"id": "a", "role": "assistant", "toolCalls": calls},
            {"id": "b", "role": "tool", "toolCallId": "c", "content": "found"},
            {"id": "e", "role": "tool", "toolCallId": "d", "content": "", "error": "not found"},
        ]
        chunks = [
            {"type": "TOOL_CALL_CHUNK", "toolCallId": name, "toolCallName": "read_file", "delta": "{}"} for name in "cd"
        ]
        return [*chunks, {"type": "MESSAGES_SNAPSHOT", "messages": messages}, *said("ok")]

    with listening(answer) as endpoint:
        (heard,) = await turns(endpoint, "go")
    calls = heard.tools()
    assert {name: call["status"] for name, call in calls.items()} == {"c": "completed", "d": "failed"}
    assert ("found" in str(calls["c"]["content"]), "not found" in str(calls["d"]["content"])) == (True, True)


@pytest.mark.parametrize(
    ("outcome", "asked"),
    [(None, ["Which city?", "Oslo"]), ("interrupt", ["Which street?", "Oslo"]), ("success", ["", ""])],
)
async def test_an_interrupt_that_comes_by_a_custom_event_alone_is_asked_too(
    outcome: str | None, asked: list[str]
) -> None:
    def answer(given: dict[str, Any]) -> list[Event]:
        if "resume" in given:
            return said(given["resume"][0]["payload"])
        values: list[Any] = [
            {"id": "i", "reason": "feedback", "message": "Which city?"},
            {"question": "What a graph of LangGraph has for its own front end"},
            '{"type": "mastra_suspend"}',
        ]
        events: list[Event] = [{"type": "CUSTOM", "name": "on_interrupt", "value": value} for value in values]
        interrupts = [{"id": "j", "reason": "feedback", "message": "Which street?"}]
        ends = {
            None: FINISHED,
            "interrupt": {**FINISHED, "outcome": {"type": "interrupt", "interrupts": interrupts}},
            "success": {**FINISHED, "outcome": {"type": "success"}},
        }
        return [*events, ends[outcome]]

    with listening(answer) as endpoint:
        heard = await turns(endpoint, "go", "Oslo")
    assert [each.text for each in heard] == asked


@pytest.mark.parametrize("has_forms", [True, False])
async def test_any_other_interrupt_is_a_free_question(*, has_forms: bool) -> None:
    def answer(given: dict[str, Any]) -> list[Event]:
        if "resume" in given:
            return said(given["resume"][0]["payload"])
        interrupts = [{"id": "i", "reason": "input_required", "message": "Which city?"}]
        return [{**FINISHED, "outcome": {"type": "interrupt", "interrupts": interrupts}}]

    with listening(answer) as endpoint:
        texts = ["go"] if has_forms else ["go", "Oslo"]
        heard = await turns(endpoint, *texts, capabilities=ELICITS if has_forms else {})
    assert [each.text for each in heard] == (["Rome"] if has_forms else ["Which city?", "Oslo"])


async def test_a_cancel_closes_the_stream() -> None:
    with listening(lambda _: [*called("c", "read_file"), {"type": "HANG"}]) as endpoint:
        async with served(serve(endpoint.url, "remote", store=MemoryStore()), "v2") as client:
            session = await client.new_session()
            prompt = await client.prompt(session, "go")
            await client.hear_until(lambda message: "toolCallId" in str(message))
            await client.cancel(session)
            heard = await client.ended(prompt)
        assert heard.stop_reason == "cancelled"
        assert endpoint.is_left.wait(limit(20.0))


@pytest.mark.parametrize("refusal", REFUSALS)
async def test_a_prompt_behind_a_cancel_waits_until_the_endpoint_has_ended_the_run_before(
    refusal: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server notices late that a stream was closed, and ends what it runs in its own time."""
    monkeypatch.setattr(ag_ui, "BUSY_PAUSES", (0.0, 0.0))
    refusals = [refusal, refusal]

    def answer(given: dict[str, Any]) -> list[Event] | int:
        if given["messages"][-1]["content"] == "go":
            return [*called("c", "read_file"), {"type": "HANG"}]
        return refusals.pop() if refusals else said("again")

    with listening(answer) as endpoint:
        async with served(serve(endpoint.url, "remote", store=MemoryStore()), "v2") as client:
            session = await client.new_session()
            prompt = await client.prompt(session, "go")
            await client.hear_until(lambda message: "toolCallId" in str(message))
            await client.cancel(session)
            assert (await client.ended(prompt)).stop_reason == "cancelled"
            after = await client.turn(session, "more")
    assert (after.stop_reason, after.text) == ("end_turn", "again")
    _, *tried = endpoint.inputs
    assert [given["messages"] for given in tried] == [tried[0]["messages"]] * 3
    assert len({given["runId"] for given in tried}) == 3


@pytest.mark.parametrize("refusal", REFUSALS)
async def test_a_thread_that_stays_busy_is_an_error_that_says_so(refusal: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ag_ui, "BUSY_PAUSES", (0.0,))
    with listening(lambda _: refusal) as endpoint:
        (heard,) = await turns(endpoint, "go")
    assert heard.error["data"] == {"reason": "busy"}
    assert len(endpoint.inputs) == 2


QUESTION: dict[str, Any] = {"question": "Approve this action?", "details": {"sql": "DROP TABLE users"}}


@pytest.mark.parametrize(
    "interrupt",
    [
        {"toolCallId": "c", "message": "Approve drop_table()?", "metadata": QUESTION},
        {"toolCallId": "c", "message": "Approve this action?", "metadata": {"reason": QUESTION}},
        {
            "toolCallId": "c",
            "message": "Approve this action?",
            "metadata": {"message": "Go on?", **QUESTION["details"]},
        },
        {"message": "Approve this action?", "metadata": {"crewai": {"flowId": "f", "output": "DROP TABLE users"}}},
        {"metadata": {"langgraph": {"raw": QUESTION, "ns": None}}},
        {"metadata": {"mastra": {"suspendPayload": QUESTION}}},
    ],
)
@pytest.mark.parametrize("has_forms", [True, False])
async def test_a_question_shows_everything_that_comes_with_its_interrupt(interrupt: Event, *, has_forms: bool) -> None:
    """Each framework has another place for what the author asks with."""

    def answer(given: dict[str, Any]) -> list[Event]:
        if "resume" in given:
            return said("ok")
        interrupts = [{"id": "i", "reason": "tool_call", **interrupt}]
        return [*called("c", "drop_table"), {**FINISHED, "outcome": {"type": "interrupt", "interrupts": interrupts}}]

    with listening(answer) as endpoint:
        (heard,) = await turns(endpoint, "go", capabilities=ELICITS if has_forms else {})
    asked: list[Any] = [*heard.requests(PERMISSION), *heard.requests("elicitation/create")] or [heard.text]
    assert len(asked) == 1
    assert "Approve this action?" in str(asked)
    assert "DROP TABLE users" in str(asked)


@pytest.mark.parametrize("has_forms", [True, False])
@pytest.mark.parametrize(("text", "payload"), [("no", False), ("yes", True), (None, False)])
async def test_a_question_of_a_graph_that_wants_yes_or_no_resumes_with_a_boolean(
    text: str | None, *, payload: bool, has_forms: bool
) -> None:
    """To `if interrupt(…)` every text is a yes, and so is what the endpoint makes of a cancelled answer."""

    def answer(given: dict[str, Any]) -> list[Event]:
        if "resume" in given:
            return said("ok")
        interrupts = [{"id": "i", "reason": "langgraph:interrupt", "metadata": {"langgraph": {"raw": QUESTION}}}]
        return [{**FINISHED, "outcome": {"type": "interrupt", "interrupts": interrupts}}]

    with listening(answer) as endpoint:
        agent = serve(endpoint.url, "remote", store=MemoryStore())
        async with served(agent, capabilities=ELICITS if has_forms else {}) as client:
            accepted = {"action": "accept", "content": {"answer": payload}}
            client.answers["elicitation/create"] = lambda _: {"action": "decline"} if text is None else accepted
            session = await client.new_session()
            await client.turn(session, "go")
            if not has_forms:
                await client.turn(session, text or "not now")
    assert endpoint.inputs[1]["resume"] == [{"interruptId": "i", "status": "resolved", "payload": payload}]


@pytest.mark.parametrize(
    "events",
    [
        [{"type": "RUN_ERROR", "message": "secret-key-123", "code": "x"}],
        [{"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", "delta": "half"}],
    ],
)
async def test_a_run_that_fails_or_breaks_off_is_an_error_without_its_text(events: list[Event]) -> None:
    with listening(lambda _: events) as endpoint:
        (heard,) = await turns(endpoint, "go")
    assert heard.stop_reason == "error"
    assert "secret-key-123" not in str(heard.error)


@pytest.mark.parametrize("takes_session", [True, False])
@pytest.mark.parametrize("makes", ["an address", "a bridge"])
async def test_a_function_may_make_an_address_or_a_bridge(makes: str, *, takes_session: bool) -> None:
    with listening(lambda _: said("made")) as endpoint:

        async def make() -> object:
            await asyncio.sleep(0)
            return endpoint.url if makes == "an address" else ag_ui.serve(endpoint.url, "bridge", store=None)

        async def make_for(session: Session) -> object:
            assert session.id
            return await make()

        agent = serve(make_for if takes_session else make, "made", store=MemoryStore())
        async with served(agent) as client:
            heard = await client.turn(await client.new_session(), "go")
    assert heard.text == "made"


async def test_a_function_that_makes_an_agent_without_a_framework_is_refused_with_a_sentence() -> None:
    async with served(serve(lambda: Agent("plain", store=None), "made", store=MemoryStore())) as client:
        heard = await client.turn(await client.new_session(), "go")
    assert heard.error["data"] == {"reason": "agent"}


async def test_an_address_that_answers_with_an_error_is_one() -> None:
    with listening(lambda _: []) as endpoint:
        endpoint.status = 401
        (heard,) = await turns(endpoint, "go")
    assert heard.stop_reason == "error"
    (heard,) = await turns(endpoint, "go")  # nobody listens there any more
    assert heard.stop_reason == "error"


def test_what_is_no_address_is_refused() -> None:
    with pytest.raises(LocalProtocolError):
        serve("ftp://example.org", store=None)


def test_a_result_that_the_agents_own_list_has_as_a_message_of_the_user_stays_a_result() -> None:
    call = {"id": "call_1", "type": "function", "function": {"name": "read", "arguments": "{}"}}
    before = [{"id": "answer", "role": "assistant", "toolCalls": [call]}]
    messages = AguiMessages(before)
    messages.add_result("call_1", "seen", "result")
    messages.replace([*before, {"id": "result", "role": "user", "content": "seen"}])
    assert messages.open_calls() == []
    assert messages.plain()[-1]["role"] == "tool"
