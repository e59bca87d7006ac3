"""Each example agent runs as a program in every edition, and its user sees what its docstring promises."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any, Literal, TypeAlias

import pytest

import accord
from accord.client import ConnectedAgent, Session
from accord.session.entry import ToolCall
from accord.session.tool import Diff, Shown, TerminalView
from accord.stores import default_path
from tests.forking_python import forking_python
from tests.limits import limit
from tests.needs import needs_package

EXAMPLES = Path(__file__).parents[2] / "examples"

Wish: TypeAlias = Literal["1", "2", "2-june"]
IN_EVERY_EDITION = pytest.mark.parametrize("edition", ["1", "2-june", "2"])
# What an example does by itself, whatever its client speaks.
IN_ONE_EDITION = pytest.mark.rotated("edition")
NEEDS_MCP = needs_package("mcp", 'the official MCP package is missing: pip install "accord[mcp]"')


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the agents keep their sessions; nobody's home is touched."""
    folder = tmp_path / "state"
    monkeypatch.setenv("XDG_STATE_HOME", str(folder))
    monkeypatch.setenv("HOME", str(folder))
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The directory that a session is opened in."""
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def started(name: str, edition: Wish, **options: Any) -> ConnectedAgent:
    return accord.connect(str(forking_python()), str(EXAMPLES / name), edition=edition, **options)


def tool_calls(session: Session) -> list[ToolCall]:
    return list(session.transcript.tool_calls.values())


def shown_text(tool: ToolCall) -> str:
    return "".join(
        item.block.text for item in tool.content if isinstance(item, Shown) and isinstance(item.block, accord.Text)
    )


# --- echo


@IN_EVERY_EDITION
async def test_echo_says_back_what_it_is_told(edition: Wish, project: Path) -> None:
    async with started("agents/echo.py", edition) as agent:
        assert agent.edition == {"1": "v1", "2": "v2", "2-june": "v2_june"}[edition]
        session = await agent.new_session(project)
        turn = await session.prompt("one two three")
    assert (turn.text, turn.stop_reason) == ("one two three ", "end_turn")
    assert [message.speaker for message in session.transcript.messages] == ["user", "agent"]


@IN_ONE_EDITION
@IN_EVERY_EDITION
async def test_the_agent_on_the_bare_engine_asks_and_says_back_what_it_is_told(edition: Wish, project: Path) -> None:
    asked: list[str] = []

    def permit(question: accord.client.PermissionQuestion) -> bool:
        asked.append(question.title)
        return True

    async with started("engine_agent.py", edition, permission=permit) as agent:
        turn = await (await agent.new_session(project)).prompt("one two")
    assert (turn.text, asked) == ("one two ", ["Repeat what you said"])


# --- streaming


@IN_EVERY_EDITION
async def test_streaming_shows_a_plan_thoughts_tool_calls_and_an_answer_in_pieces(edition: Wish, project: Path) -> None:
    (project / "a.txt").write_text("apple\npear\napple pie\n", encoding="utf-8")
    (project / "b.txt").write_text("quince\n", encoding="utf-8")
    (project / "c.txt").mkdir()
    async with started("agents/streaming.py", edition) as agent:
        session = await agent.new_session(project)
        async with session.prompt("apple") as turn:
            pieces = [piece async for piece in turn.text_stream()]
    seen = session.transcript
    assert turn.text == "".join(pieces) == "I found 'apple' 2 times\n- a.txt, line 1\n- a.txt, line 3"
    assert len(pieces) == 4
    assert seen.title == "Looking for apple"
    assert len(seen.thoughts) == 1
    (plan,) = seen.plans.values()
    assert [entry.status for entry in plan.entries] == ["completed"] * 3
    assert [(tool.title, tool.status) for tool in tool_calls(session)] == [
        ("List the files", "completed"),
        ("Search a.txt", "completed"),
        ("Search b.txt", "completed"),
        ("Search c.txt", "failed"),
    ]
    listed, searched, *_ = tool_calls(session)
    assert listed.raw_output == ["a.txt", "b.txt", "c.txt"]
    assert shown_text(searched) == "1: apple\n3: apple pie\n"
    assert [(place.path, place.line) for place in searched.locations] == [
        (str(project / "a.txt"), 1),
        (str(project / "a.txt"), 3),
    ]
    assert seen.usage is not None
    assert seen.usage.used == 1_200


# --- permission


@IN_ONE_EDITION
@IN_EVERY_EDITION
async def test_permission_shows_the_change_and_asks_before_it_is_made(edition: Wish, project: Path) -> None:
    notes = project / "notes.txt"
    notes.write_text("a colour\n", encoding="utf-8")
    answers = ["no", "always"]
    asked: list[tuple[str, str, str]] = []

    def permit(question: accord.client.PermissionQuestion) -> str:
        assert question.tool is not None
        (diff,) = question.tool.content
        assert isinstance(diff, Diff)
        asked.append((question.title, question.tool.status, notes.read_text(encoding="utf-8")))
        assert [(change.path, change.old, change.new) for change in diff.changes] == [
            (str(notes), "a colour\n", "a color\n")
        ]
        return answers.pop(0)

    offer = accord.client.Offer(missing_file="error")
    async with started("agents/permission.py", edition, permission=permit, offer=offer) as agent:
        session = await agent.new_session(project)
        assert (await session.prompt("please")).text.startswith("Say for example")
        assert (await session.prompt("replace colour by color in missing.txt")).text == "There is no missing.txt."
        refused = await session.prompt("replace colour by color in notes.txt")
        assert refused.text == "I left notes.txt as it was."
        assert notes.read_text(encoding="utf-8") == "a colour\n"
        allowed = await session.prompt("replace colour by color in notes.txt")
        assert allowed.text == "I changed notes.txt."
        assert notes.read_text(encoding="utf-8") == "a color\n"
        again = await session.prompt("replace color by hue in notes.txt")
        assert again.text == "I changed notes.txt."
        assert notes.read_text(encoding="utf-8") == "a hue\n"
    assert asked == [("Edit notes.txt", "pending", "a colour\n")] * 2
    assert [tool.status for tool in tool_calls(session)] == ["cancelled", "completed", "completed"]


# --- workspace


@IN_EVERY_EDITION
async def test_workspace_writes_a_file_and_shows_the_command_that_runs_it(edition: Wish, project: Path) -> None:
    async with started("agents/workspace.py", edition, offer=accord.client.Offer(missing_file="error")) as agent:
        session = await agent.new_session(project)
        assert (await session.prompt("print(6 * 7)")).text == "It printed: 42"
        assert (project / "scratch.py").read_text(encoding="utf-8") == "print(6 * 7)\n"
        written, ran = tool_calls(session)
        assert (written.kind, written.status, ran.kind, ran.status) == ("edit", "completed", "execute", "completed")
        assert "42" in on_screen(session, ran)
        assert (await session.prompt("raise SystemExit(3)")).text == "It failed with 3."
        rewritten, ran = tool_calls(session)[2:]
        assert ran.status == "failed"
        changes = [change for call in (written, rewritten) for item in call.content for change in changes_of(item)]
        assert [(change.old, change.new) for change in changes] == [
            (None, "print(6 * 7)\n"),
            ("print(6 * 7)\n", "raise SystemExit(3)\n"),
        ]


def changes_of(item: object) -> list[accord.FileChange]:
    return item.changes if isinstance(item, Diff) else []


def on_screen(session: Session, tool: ToolCall) -> str:
    """What a tool call shows of its command: a terminal, or its text where an edition has none."""
    views = [item for item in tool.content if isinstance(item, TerminalView)]
    screens = [session.transcript.terminals[view.terminal_id] for view in views]
    return "".join(screen.text for screen in screens) + shown_text(tool)


# --- settings


@IN_EVERY_EDITION
async def test_settings_are_offered_chosen_and_checked(edition: Wish, project: Path) -> None:
    async with started("agents/settings.py", edition) as agent:
        session = await agent.new_session(project)
        offered = ["mode", "language"] + (["wave"] if edition != "2-june" else [])
        assert [option.id for option in session.options if not isinstance(option, accord.Unknown)] == offered
        assert (await session.prompt("hello")).text == "Good day, you"
        assert [command.name for command in session.commands] == ["greet", "languages"]
        await session.set_option("language", "de")
        await session.set_mode("loud")
        assert (await session.prompt("/greet Ada")).text == "GUTEN TAG, ADA"
        with pytest.raises(accord.InvalidParams):
            await session.set_option("language", "tlh")
        await session.set_mode("calm")
        assert (await session.prompt("/languages")).text == "Bonjour, you"
        assert session.option("language").value == "fr"
        await session.set_option("language", "ja")
        with pytest.raises(accord.InvalidParams):
            await session.set_mode("loud")
        assert session.mode == "calm"
        if edition != "2-june":
            await session.set_option("wave", value=True)
            assert (await session.prompt("hello")).text.endswith("👋")


# --- MCP


@NEEDS_MCP
@IN_ONE_EDITION
@IN_EVERY_EDITION
async def test_mcp_tools_are_listed_and_called(edition: Wish, project: Path) -> None:
    sums = accord.McpServer("sums", command=str(forking_python()), args=[str(EXAMPLES / "agents" / "mcp_server.py")])
    async with started("agents/mcp_tools.py", edition) as agent:
        session = await agent.new_session(project, mcp_servers=[sums])
        tools = await session.prompt("tools")
        assert tools.text == "- add: Adds two numbers.\n- divide: Divides a number by another."
        assert (await session.prompt('add {"a": 2, "b": 3}')).text == "add is done."
        assert (await session.prompt('divide {"a": 1, "b": 0}')).text == "divide failed."
        assert (await session.prompt("multiply")).text == "multiply failed."
        assert (await session.prompt("add 2 3")).text.startswith("I need a JSON object")
    added, divided, multiplied = tool_calls(session)
    assert (shown_text(added), added.status) == ("5", "completed")
    assert "zero" in shown_text(divided)
    assert [divided.status, multiplied.status] == ["failed", "failed"]


@NEEDS_MCP
@IN_ONE_EDITION
@IN_EVERY_EDITION
async def test_an_mcp_server_that_does_not_start_is_told_of(edition: Wish, project: Path) -> None:
    broken = accord.McpServer("broken", command=str(project / "nothing"))
    async with started("agents/mcp_tools.py", edition) as agent:
        session = await agent.new_session(project, mcp_servers=[broken])
        turn = await session.prompt("tools")
    assert "I have no tools." in turn.text
    assert "broken is not available" in turn.text


# --- memory


@IN_ONE_EDITION
@IN_EVERY_EDITION
async def test_memory_knows_after_a_restart_what_was_said(edition: Wish, project: Path, state: Path) -> None:
    async with started("agents/memory.py", edition) as agent:
        session = await agent.new_session(project)
        assert (await session.prompt("the sky is blue")).text.endswith("number 1.")
        assert (await session.prompt("grass is green")).text.endswith("number 2.")
        before = session.transcript.text
    assert default_path("memory").exists()
    assert default_path("memory").is_relative_to(state)
    async with started("agents/memory.py", edition) as agent:
        listed = [summary.id async for summary in agent.list_sessions(project)]
        assert listed == [session.id]
        again = await agent.load_session(session.id, project)
        assert again.transcript.text == before
        assert (await again.prompt("what did I say?")).text == "You said: the sky is blue, grass is green."
        assert (await again.prompt("/forget")).text == "Forgotten."
    async with started("agents/memory.py", edition) as agent:
        resumed = await agent.resume_session(session.id, project)
        assert (await resumed.prompt("what did I say?")).text == "You said nothing yet."


# --- login


@IN_EVERY_EDITION
async def test_login_is_needed_once_and_can_be_undone(edition: Wish, project: Path) -> None:
    token = default_path("member").with_name("token")
    async with started("agents/login.py", edition) as agent:
        with pytest.raises(accord.AuthRequired):
            await agent.new_session(project)
    offers: list[list[str]] = []

    def choose(methods: Any) -> str:
        offers.append([method.id for method in methods])
        return "guest"

    offer = accord.client.Offer(terminal_login=True)
    async with started("agents/login.py", edition, login=choose, offer=offer) as agent:
        session = await agent.new_session(project)
        assert (await session.prompt("who am I?")).text == "You are guest."
        assert token.stat().st_mode & 0o777 == 0o600
        await agent.logout()
        assert not token.exists()
        with pytest.raises(accord.AuthRequired):
            await session.prompt("who am I?")
    # June's clients cannot say that they have a terminal for it.
    assert offers == [["guest"] if edition == "2-june" else ["terminal", "guest"]]


@IN_ONE_EDITION
@IN_EVERY_EDITION
async def test_a_login_in_a_terminal_holds_for_every_start(edition: Wish, project: Path) -> None:
    program = str(EXAMPLES / "agents" / "login.py")
    subprocess.run(  # noqa: ASYNC221 - nothing else runs yet
        [forking_python(), program, "--login"],
        input="Ada\n",
        text=True,
        capture_output=True,
        timeout=limit(60),
        check=True,
    )
    async with started("agents/login.py", edition) as agent:
        assert (await (await agent.new_session(project)).prompt("who am I?")).text == "You are Ada."


# --- all of them


@pytest.mark.parametrize("path", sorted((EXAMPLES / "agents").glob("*.py")), ids=lambda path: path.stem)
def test_an_example_is_short_enough_to_be_read_and_says_how_to_try_it(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 80
    assert path.name in text.split('"""')[1] or path.stem == "mcp_server"
