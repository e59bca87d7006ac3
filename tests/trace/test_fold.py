"""The transcript of a session at any message, by checkpoints."""

from pathlib import Path

import pytest

from accord.session.transcript import Transcript
from accord.trace import fold as fold_module
from accord.trace.conversation import TraceEditions, client_rows
from accord.trace.conversion import plain_trace
from accord.trace.fold import TraceTranscripts, transcript_at
from accord.trace.index import TraceIndex
from tests.trace.traces import AGENT, CLIENT, chunk, handshake, header, request, result, text, turns, write

RECORDED = Path(__file__).parents[3] / "shared" / "transcripts"


@pytest.fixture(autouse=True)
def near_checkpoints(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fold_module, "CHECKPOINT_MESSAGES", 10)


def test_the_transcript_grows_with_the_message(tmp_path: Path) -> None:
    path = write(tmp_path / "t", header(), *handshake(), *turns(2, 3))
    with TraceIndex.open(path) as index:
        texts = [transcript_at(index, row, "s1").text for row in range(len(index))]
        assert texts[5:10] == ["", "0.0 ", "0.0 0.1 ", "0.0 0.1 0.2 ", "0.0 0.1 0.2 "]
        states = [transcript_at(index, row, "s1").state for row in (4, 5, 8, 9)]
        assert states == ["idle", "running", "running", "idle"]
        last = transcript_at(index, len(index) - 1, "s1")
        assert [message.text for message in last.messages] == [
            *("question 0", "0.0 0.1 0.2 ", "question 1", "1.0 1.1 1.2 "),
        ]
        assert (len(last.turns), last.stop_reason) == (2, "end_turn")


def test_a_fold_at_any_message_is_the_same_with_and_without_checkpoints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "t", header(), *handshake(), *turns(9, 7))
    with TraceIndex.open(path) as index:
        kept = TraceTranscripts(index)
        kept.at(len(index) - 1, "s1")
        for row in range(0, len(index), 3):
            with_checkpoints = kept.at(row, "s1")
            assert kept.folded <= 10
            with monkeypatch.context() as patch:
                patch.setattr(fold_module, "CHECKPOINT_MESSAGES", 10**9)
                assert TraceTranscripts(index).at(row, "s1") == with_checkpoints


def test_a_transcript_that_was_returned_is_not_changed_by_a_later_call(tmp_path: Path) -> None:
    path = write(tmp_path / "t", header(), *handshake(), *turns(2, 20))
    with TraceIndex.open(path) as index:
        kept = TraceTranscripts(index)
        early = kept.at(14, "s1")
        before = early.text
        kept.at(len(index) - 1, "s1")
        assert early.text == before


def test_the_last_transcript_is_made_without_checkpoints(tmp_path: Path) -> None:
    path = write(tmp_path / "t", header(), *handshake(), *turns(2, 20))
    with TraceIndex.open(path) as index:
        kept = TraceTranscripts(index)
        last = kept.at(len(index) - 1, "s1", is_last=True)
        assert not kept._checkpoints["s1"]._kept
        assert kept.at(len(index) - 1, "s1") == last


def test_checkpoints_are_bounded_in_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fold_module, "MAX_CHECKPOINTS", 4)
    path = write(tmp_path / "t", header(), *handshake(), *turns(1, 500))
    with TraceIndex.open(path) as index:
        kept = TraceTranscripts(index)
        kept.at(len(index) - 1, "s1")
        checkpoints = kept._checkpoints["s1"]
        assert len(checkpoints._kept) <= 4
        kept.at(300, "s1")
        assert kept.folded <= checkpoints.distance <= 160


def test_the_transcript_goes_on_with_a_trace_that_grows(tmp_path: Path) -> None:
    path = write(tmp_path / "t", header(), *handshake(), *turns(1, 3))
    with TraceIndex.open(path) as index:
        assert transcript_at(index, 1000, "s1").text == "0.0 0.1 0.2 "
        with path.open("ab") as file:
            file.write(text(AGENT, chunk("s1", "more")))
        index.update()
        assert transcript_at(index, 1000, "s1").text.endswith("more")


def test_a_session_that_is_not_there_is_empty(tmp_path: Path) -> None:
    with TraceIndex.open(write(tmp_path / "t", header(), *handshake())) as index:
        assert transcript_at(index, 4, "nobody") == Transcript()


def test_a_chain_is_folded_once_at_the_client(tmp_path: Path) -> None:
    hops = [("agent", "proxy:0"), ("proxy:0", "client")]
    lines = [text(hop, chunk("s1", word)) for word in ("one ", "two ") for hop in hops]
    with TraceIndex.open(write(tmp_path / "t", header(), *lines)) as index:
        assert client_rows(index, "s1") == [2, 4]
        assert transcript_at(index, 4, "s1").text == "one two "


def test_a_restarted_agent_begins_anew_and_messages_that_do_not_fit_are_left_out(tmp_path: Path) -> None:
    path = write(
        tmp_path / "t",
        header(),
        *handshake(),
        *turns(1, 1),
        text(AGENT, {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s1", "update": 5}}),
        text(CLIENT, request(0, "initialize", protocolVersion=1), connection=2),
        text(AGENT, result(0, protocolVersion=1), connection=2),
        text(CLIENT, request(10, "session/load", sessionId="s1", cwd="/p", mcpServers=[]), connection=2),
        text(AGENT, chunk("s1", "again"), connection=2),
        text(AGENT, result(10), connection=2),
    )
    with TraceIndex.open(path) as index:
        assert transcript_at(index, len(index), "s1").text.endswith("again")
        assert TraceEditions(index).is_known(2)
        assert not TraceEditions(index).is_known(3)


@pytest.mark.needs(RECORDED.exists(), f"there are no recordings of real agents in {RECORDED}")
@pytest.mark.parametrize("name", ["claude-agent-acp-v2-turn", "codex-acp-permission", "gemini-turn", "opencode-turn"])
def test_recorded_conversations_of_real_agents_fold(name: str) -> None:
    path = RECORDED / f"{name}.jsonl"
    with plain_trace(path) as trace, TraceIndex.open(trace.path, keep=False) as index:
        transcript = transcript_at(index, len(index), index.sessions[0])
        assert "fake LLM" in transcript.text or "Calling" in transcript.text
        assert transcript.tool_calls
        assert all(call.finished for call in transcript.tool_calls.values())
        assert transcript.state == "idle"
