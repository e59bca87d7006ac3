"""The effect of the note taker on a folder, without a word of the protocol."""

import asyncio
import sys
from pathlib import Path

import pytest
from note_taker import agent

import accord
from accord.testing import AgentPeer, Answers, ScriptedAgent, read_files


@pytest.fixture(params=["1", "2", "2-june"])
def edition(request):
    return request.param


def test_a_note_is_written_when_that_is_allowed(accord_open, accord_workspace, edition):
    workspace = accord_workspace({"notes.md": "# Notes\n", "other.txt": "x"})
    session = accord_open(agent, cwd=workspace, edition=edition, permission=[True])

    assert session.prompt("buy milk").text == "Noted."
    assert read_files(workspace) == {"notes.md": "# Notes\n- buy milk\n", "other.txt": "x"}


def test_nothing_is_written_when_it_is_not(accord_open, accord_workspace, edition):
    workspace = accord_workspace({"notes.md": ""})
    answers = Answers(False)
    session = accord_open(agent, cwd=workspace, edition=edition, permission=answers)

    assert session.prompt("buy milk").text == "Then not."
    assert read_files(workspace) == {"notes.md": ""}
    assert answers.titles == ["Write to notes.md?"]


def test_the_program_does_the_same(accord_open, accord_workspace):
    workspace = accord_workspace({"notes.md": ""})
    program = Path(__file__).with_name("note_taker.py")
    session = accord_open(sys.executable, str(program), cwd=workspace, permission=[True])

    assert str(session.prompt("buy milk")) == "Noted."
    assert read_files(workspace) == {"notes.md": "- buy milk\n"}


def test_a_script_opens_a_session_without_fixtures(tmp_path, accord_state):
    (tmp_path / "notes.md").write_text("")
    program = Path(__file__).with_name("note_taker.py")
    with accord.open(sys.executable, str(program), cwd=tmp_path, permission=lambda question: True) as session:
        events = [type(event).__name__ for event in session.stream("buy milk")]
        assert session.transcript.text == "Noted."

    assert "MessageChunk" in events
    assert list(accord_state.rglob("sessions.db")), "its sessions went where the test's are"


def test_what_was_said_on_the_wire(accord_open, accord_recorder):
    accord_open(agent, edition="1", permission=["reject"]).prompt("buy milk")

    assert accord_recorder.methods("out")[:3] == ["initialize", "session/new", "session/prompt"]
    assert accord_recorder.outline().splitlines()[-5:] == [
        '← session/request_permission "Write to notes.md?"',
        "→ session/request_permission ok selected reject",
        "← tool_call Write to notes.md? failed",
        '← agent_message_chunk "Then not."',
        "← session/prompt ok end_turn",
    ]


def test_with_await_and_without_a_plugin_for_it(accord_join, accord_workspace):
    workspace = accord_workspace({"notes.md": ""})

    async def talk():
        async with accord_join(agent, permission=[True]) as remote:
            session = await remote.new_session(workspace)
            return (await session.prompt("buy milk")).text

    assert asyncio.run(talk()) == "Noted."


def test_our_own_client_survives_a_rude_agent(accord_open):
    async def rude(peer: AgentPeer):
        await peer.greet()
        session = await peer.open_session()
        prompt = await peer.take_prompt()
        await peer.garbage()
        await peer.chunk(session, "Oh well.")
        await peer.end(prompt)

    assert accord_open(ScriptedAgent(rude)).prompt("hello").text == "Oh well."
