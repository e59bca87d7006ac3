"""Replay: a recorded side against a live other, matched by method and session, with every deviation found."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import accord
from accord.cli.main import main
from accord.testing import ReplayedAgent
from accord.trace import TraceFileError, TraceWriter, open_trace
from accord.trace.replay.agent import RecordedAgent
from accord.trace.replay.client import RecordedClient
from accord.trace.replay.conversation import MAX_DEPTH, RecordedConversation
from accord.trace.replay.report import ReplayReport, deviation_lines
from accord.transport import memory_pair
from tests.limits import limit
from tests.tables import rows

TRANSCRIPTS = Path(__file__).parents[3] / "shared" / "transcripts"
# The others have one scene each, with methods that no edition has: they are no whole conversations.
SCENES = ("drafts-", "steer-", "subagent-")
FILES = sorted(path for path in TRANSCRIPTS.glob("*.jsonl") if not path.name.startswith(SCENES))

NEEDS_TRANSCRIPTS = pytest.mark.needs(bool(FILES), f"there are no recordings of real agents in {TRANSCRIPTS}")
every_transcript = pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=path.stem, marks=NEEDS_TRANSCRIPTS)
        for path in FILES or [TRANSCRIPTS / "of-an-agent.jsonl"]
    ],
)


def request(id_: Any, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}


def notice(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, "params": params}


def result(id_: Any, **fields: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id_, "result": fields}


def chunk(session: str, text: str) -> dict[str, Any]:
    update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
    return notice("session/update", sessionId=session, update=update)


ASK = {
    "sessionId": "s1",
    "toolCall": {"toolCallId": "t1", "title": "Write?"},
    "options": [
        {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
        {"optionId": "no", "name": "No", "kind": "reject_once"},
    ],
}
TALK: list[tuple[str, dict[str, Any]]] = [
    ("client", request(0, "initialize", protocolVersion=1, clientCapabilities={})),
    ("agent", result(0, protocolVersion=1, agentCapabilities={})),
    ("client", request(1, "session/new", cwd="/recorded", mcpServers=[])),
    ("agent", result(1, sessionId="s1")),
    ("client", request(2, "session/prompt", sessionId="s1", prompt=[{"type": "text", "text": "hi"}])),
    ("agent", chunk("s1", "Hel")),
    ("agent", chunk("s1", "lo")),
    ("agent", request("q", "session/request_permission", **ASK)),
    ("client", result("q", outcome={"outcome": "selected", "optionId": "yes"})),
    ("agent", chunk("s1", " in /recorded/a")),
    ("agent", result(2, stopReason="end_turn")),
    ("client", request(3, "session/prompt", sessionId="s1", prompt=[{"type": "text", "text": "more"}])),
    ("agent", chunk("s1", "More.")),
    ("agent", result(3, stopReason="max_tokens")),
]


def write_trace(path: Path, talk: Sequence[tuple[str, dict[str, Any] | bytes]]) -> Path:
    writer = TraceWriter(path)
    for side, message in talk:
        text = message if isinstance(message, bytes) else json.dumps(message).encode()
        writer.text(side, "client" if side == "agent" else "agent", text)
    writer.close()
    return path


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    return write_trace(tmp_path / "talk.jsonl", TALK)


def conversation_of(path: Path) -> RecordedConversation:
    return RecordedConversation.of(open_trace(path))


async def replayed(
    client_of: RecordedConversation, agent_of: RecordedConversation
) -> tuple[ReplayReport, ReplayReport]:
    """Both sides of recordings against each other; the reports of the client and of the agent."""
    ours, theirs = memory_pair()
    client = RecordedClient(client_of, answer_seconds=limit(10), update_seconds=limit(0.5))
    agent = RecordedAgent(agent_of, patience_seconds=limit(0.3))
    serving = asyncio.ensure_future(agent.serve(theirs))
    await client.play(ours)
    await ours.close()
    await serving
    return client.report, agent.report


def shown(report: ReplayReport) -> list[str]:
    return [str(line) for deviation in report.deviations for line in deviation_lines(deviation)]


async def test_a_recording_replayed_against_itself_does_not_deviate(recording: Path) -> None:
    whole = conversation_of(recording)
    client, agent = await replayed(whole, whole)
    assert shown(client) == shown(agent) == []
    assert (client.matched, agent.matched) == (6, 5)


@every_transcript
async def test_a_transcript_of_a_real_agent_replayed_against_itself_does_not_deviate(path: Path) -> None:
    whole = conversation_of(path)
    client, agent = await replayed(whole, whole)
    assert shown(client) == []
    assert shown(agent) == []


@pytest.mark.parametrize(
    ("step", "change", "found"),
    [
        (4, lambda m: m["params"]["prompt"][0].update(text="ho"), 'prompt[0].text  recorded "hi"  |  live "ho"'),
        (0, lambda m: m["params"].update(protocolVersion=2), "protocolVersion  recorded 1  |  live 2"),
        (2, lambda m: m["params"].update(news=None), "news  recorded (absent)  |  live null"),
        (
            8,
            lambda m: m["result"]["outcome"].update(optionId="no"),
            'result.outcome.optionId  recorded "yes"  |  live "no"',
        ),
    ],
)
async def test_a_changed_value_of_the_client_is_found(
    recording: Path, tmp_path: Path, step: int, change: Callable[[Any], None], found: str
) -> None:
    other = json.loads(json.dumps(TALK))
    change(other[step][1])
    changed = conversation_of(write_trace(tmp_path / "changed.jsonl", [(side, message) for side, message in other]))
    _, report = await replayed(changed, conversation_of(recording))
    assert [line.strip() for line in shown(report)[1:]] == [found]


@pytest.mark.parametrize(
    ("step", "change", "found"),
    [
        (1, lambda m: m["result"].update(protocolVersion=2), "result.protocolVersion  recorded 1  |  live 2"),
        (
            13,
            lambda m: m["result"].update(stopReason="refusal"),
            'result.stopReason  recorded "max_tokens"  |  live "refusal"',
        ),
        (12, lambda m: m["params"]["update"]["content"].update(text="Less."), "content.text  recorded"),
        (
            7,
            lambda m: m["params"]["toolCall"].update(title="Erase?"),
            'toolCall.title  recorded "Write?"  |  live "Erase?"',
        ),
    ],
)
async def test_a_changed_value_of_the_agent_is_found(
    recording: Path, tmp_path: Path, step: int, change: Callable[[Any], None], found: str
) -> None:
    other = json.loads(json.dumps(TALK))
    change(other[step][1])
    changed = conversation_of(write_trace(tmp_path / "changed.jsonl", [(side, message) for side, message in other]))
    report, _ = await replayed(conversation_of(recording), changed)
    assert len(report.deviations) == 1
    assert found in shown(report)[1]


async def test_ids_and_sessions_of_a_live_agent_are_mapped(recording: Path, tmp_path: Path) -> None:
    names = json.dumps(TALK).replace('"s1"', '"other"').replace('"q"', "77").replace('"t1"', '"t9"')
    other = [(side, message) for side, message in json.loads(names)]
    renamed = conversation_of(write_trace(tmp_path / "renamed.jsonl", other))
    client, agent = await replayed(conversation_of(recording), renamed)
    assert shown(client) == shown(agent) == []


async def test_a_permission_is_answered_with_the_option_of_the_same_kind(recording: Path, tmp_path: Path) -> None:
    other = [(side, message) for side, message in json.loads(json.dumps(TALK).replace('"yes"', '"go"'))]
    renamed = conversation_of(write_trace(tmp_path / "renamed.jsonl", other))
    _, agent = await replayed(conversation_of(recording), renamed)
    assert shown(agent) == []


async def test_our_client_talks_to_a_recorded_agent(recording: Path, tmp_path: Path) -> None:
    agent = ReplayedAgent(recording)
    async with accord.connect(agent, permission=lambda *_: True, respawn=False) as remote:
        session = await remote.new_session(tmp_path)
        first = await session.prompt("hi")
        second = await session.prompt("more")
        assert agent.prompts == ["hi", "more"]
    assert (first.text, second.text) == (f"Hello in {tmp_path}/a", "More.")
    assert (first.stop_reason, second.stop_reason) == ("end_turn", "max_tokens")
    assert agent.deviations == []


async def test_the_order_may_differ_and_more_may_be_asked_than_recorded(recording: Path, tmp_path: Path) -> None:
    agent = ReplayedAgent(recording)
    async with accord.connect(agent, permission=lambda *_: True, respawn=False) as remote:
        session = await remote.new_session(tmp_path)
        assert (await session.prompt("more")).text == "More."
        assert (await session.prompt("hi")).text == f"Hello in {tmp_path}/a"
        assert (await session.prompt("again?")).text == "More."
        another = await remote.new_session(tmp_path)
        assert another.id != session.id
        assert (await another.prompt("and here?")).text == "More."
    kinds = [line.split()[:2] for line in agent.deviations]
    assert [kind for kind, _ in kinds] == ["extra", "extra", "extra"]


async def test_an_unknown_request_is_refused_and_a_missing_message_reported(recording: Path) -> None:
    ours, theirs = memory_pair()
    agent = RecordedAgent(conversation_of(recording))
    serving = asyncio.ensure_future(agent.serve(theirs))
    await ours.send(json.dumps(request(5, "session/list")).encode())
    (answer,) = await ours.receive()
    await ours.close()
    await serving
    assert json.loads(answer)["error"]["code"] == -32601
    assert [deviation.kind for deviation in agent.report.deviations] == ["extra", *["missing"] * 4]


async def test_a_turn_goes_on_where_the_live_client_does_not_cancel(tmp_path: Path) -> None:
    talk = [
        *TALK[:5],
        ("agent", chunk("s1", "word ")),
        ("client", notice("session/cancel", sessionId="s1")),
        ("agent", chunk("s1", "last")),
        ("agent", result(2, stopReason="cancelled")),
    ]
    path = write_trace(tmp_path / "cancel.jsonl", talk)
    ours, theirs = memory_pair()
    agent = RecordedAgent(conversation_of(path), patience_seconds=0.05)
    serving = asyncio.ensure_future(agent.serve(theirs))
    texts: list[Any] = []
    for message in (talk[0][1], talk[2][1], talk[4][1]):
        await ours.send(json.dumps(message).encode())
        while not texts or texts[-1].get("id") != message["id"]:
            texts += map(json.loads, await ours.receive())
    await ours.close()
    await serving
    assert texts[-1]["result"] == {"stopReason": "cancelled"}
    assert [each["params"]["update"]["content"]["text"] for each in texts if "method" in each] == ["word ", "last"]
    assert [(each.kind, each.method) for each in agent.report.deviations] == [("missing", "session/cancel")]


async def test_a_masked_secret_is_equal_to_any(tmp_path: Path) -> None:
    servers = [{"name": "a", "command": "b", "args": [], "env": [{"name": "K", "value": "hush-hush"}]}]
    talk = [*TALK[:2], ("client", request(1, "session/new", cwd="/recorded", mcpServers=servers)), TALK[3]]
    path = write_trace(tmp_path / "secret.jsonl", talk)
    assert b"hush" not in path.read_bytes()
    ours, theirs = memory_pair()
    agent = RecordedAgent(conversation_of(path))
    serving = asyncio.ensure_future(agent.serve(theirs))
    for _, message in talk[0::2]:
        await ours.send(json.dumps(message).encode())
        await ours.receive()
    await ours.close()
    await serving
    assert shown(agent.report) == []


async def test_the_recorded_pauses_are_kept_when_asked_for(tmp_path: Path) -> None:
    writer = TraceWriter(tmp_path / "a.jsonl")
    for number, (side, message) in enumerate(TALK[:4]):
        writer.text(side, "", json.dumps(message).encode(), t=writer.now() + number * 0.1)
    writer.close()
    whole = conversation_of(tmp_path / "a.jsonl")
    loop = asyncio.get_running_loop()
    spent = []
    for speed in (0.0, 1.0):
        began = loop.time()
        ours, theirs = memory_pair()
        serving = asyncio.ensure_future(RecordedAgent(whole, speed=speed).serve(theirs))
        await RecordedClient(whole).play(ours)
        await ours.close()
        await serving
        spent.append(loop.time() - began)
    assert spent[1] >= 0.19


async def test_an_agent_that_reads_nothing_ends_the_replay(recording: Path) -> None:
    ours, theirs = memory_pair(max_bytes=16)
    client = RecordedClient(conversation_of(recording), answer_seconds=0.05, update_seconds=0.05)
    async with asyncio.timeout(limit(20.0)):
        await client.play(ours)
    await theirs.close()
    first = client.report.deviations[0]
    assert (first.kind, first.method) == ("extra", "the link")


def deep_talk(depth: int) -> list[tuple[str, dict[str, Any] | bytes]]:
    """A prompt, an update and an answer that are nested so deeply, between others."""
    deep = '{"a":[' * (depth // 2) + "]}" * (depth // 2)
    prompt = (
        f'{{"jsonrpc":"2.0","id":9,"method":"session/prompt","params":{{"sessionId":"s1","prompt":[],"x":{deep}}}}}'
    )
    update = f'{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"s1","update":{{"x":{deep}}}}}}}'
    answer = f'{{"jsonrpc":"2.0","id":9,"result":{{"stopReason":"end_turn","x":{deep}}}}}'
    texts = [("client", prompt), ("agent", update), ("agent", answer)]
    return [*TALK[:11], *((side, text.encode()) for side, text in texts), *TALK[11:]]


@rows(("depth", "deep_steps"), [(200, 0), (300, 3), (900, 3), (5_000, 3), (100_000, 3)])
async def test_texts_that_are_nested_too_deeply_are_sent_as_recorded_and_the_rest_is_compared(
    tmp_path: Path, depth: int, deep_steps: int
) -> None:
    whole = conversation_of(write_trace(tmp_path / "deep.jsonl", deep_talk(depth)))
    assert sum(step.is_too_deep for step in whole.steps) == deep_steps
    client, agent = await replayed(whole, whole)
    assert shown(client) == shown(agent) == []
    assert (client.matched, agent.matched) == (6 if deep_steps else 9, 6)


def test_the_command_says_that_texts_are_nested_too_deeply(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(write_trace(tmp_path / "deep.jsonl", deep_talk(900)))
    agent = [sys.executable, "-m", "accord", "replay", path, "--as", "agent"]
    assert main(["replay", path, "--as", "client", "--cwd", str(tmp_path), "--", *agent]) == 0
    assert f"(the first is #12) are nested more than {MAX_DEPTH} levels deep" in capsys.readouterr().err


def test_a_trace_without_messages_is_refused(tmp_path: Path) -> None:
    TraceWriter(tmp_path / "a.jsonl").close()
    with pytest.raises(TraceFileError, match="no messages"):
        conversation_of(tmp_path / "a.jsonl")


@every_transcript
async def test_a_transcript_replays_as_agent_for_our_client(path: Path, tmp_path: Path) -> None:
    agent = ReplayedAgent(path)
    edition = "2" if "-v2-" in path.stem else "1"
    options: dict[str, Any] = {"permission": lambda *_: True, "respawn": False, "edition": edition}
    assert agent.prompts
    async with accord.connect(agent, **options) as remote:
        session = await remote.new_session(tmp_path)
        for prompt in agent.prompts:
            turn = await session.prompt(prompt)
            assert turn.stop_reason is not None


@every_transcript
async def test_a_transcript_replays_as_client_for_our_agent(path: Path, tmp_path: Path) -> None:
    agent = accord.Agent("echo", store=None)

    @agent.prompt
    async def echo(turn: accord.agent.Turn) -> None:
        await turn.say(turn.text)

    ours, theirs = memory_pair()
    serving = asyncio.ensure_future(agent.serve(theirs))
    whole = conversation_of(path)
    client = RecordedClient(whole, cwd=str(tmp_path), answer_seconds=limit(10), update_seconds=limit(0.2))
    await client.play(ours)
    await ours.close()
    await serving

    requests = whole.of_side("client", "request")
    assert requests
    assert [each for each in client.report.deviations if each.kind == "unanswered"] == []
    assert client.report.matched >= sum(step.partner is not None for step in requests)
    assert shown(client.report) != []


@rows("content", [None, b"", b"no trace\n", b'{"jsonrpc":"2.0","id":1,"method":"x"}\n', b"\x1f\x8b\x08no"])
def test_a_file_that_is_no_trace_is_a_wrong_usage(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "file"
    if content is not None:
        path.write_bytes(content)
    assert main(["replay", str(path), "--as", "agent"]) == 2


def test_a_recording_of_another_tool_is_refused_with_the_line_that_converts_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = Path(__file__).with_name("samples") / "toad.log"
    assert main(["replay", str(path), "--as", "agent"]) == 2
    assert f"Convert it first: accord trace {path} --as accord-trace -o FILE" in capsys.readouterr().err
