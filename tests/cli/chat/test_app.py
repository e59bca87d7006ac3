"""The whole screen against an agent in this process, in every edition, by the keys and clicks of a user."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from textual.events import Paste
from textual.widgets import Markdown

import accord
from accord.cli.chat import message, timeline
from accord.cli.chat.bars import PlanLine, PlanPanel
from accord.cli.chat.dialogs.form import FormDialog, UrlDialog
from accord.cli.chat.dialogs.frame import Picker, ReadingDialog
from accord.cli.chat.dialogs.permission import PermissionDialog
from accord.cli.chat.lines import DiffView
from accord.cli.chat.message import OmittedParts, PassageView, PromptPart, ThoughtPart
from accord.cli.chat.timeline import NotePart
from accord.cli.chat.tool_call import OmittedLines, TerminalPart, ToolPart
from accord.cli.show.presentation import Note
from accord.config import ClientSessionRecord
from accord.display import filled
from accord.session.content import Image, Resource, Text
from accord.session.event import (
    InfoChanged,
    MessageChanged,
    MessageChunk,
    Noticed,
    PlanChanged,
    ToolChanged,
    UnknownUpdate,
)
from accord.testing import AgentPeer, ScriptedAgent
from tests.cli.chat.actors import NOISE, make_actor
from tests.cli.chat.rig import EDITIONS, Chat, open_chat


def every_edition(test: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
    """In each edition; every day in one of them."""
    return pytest.mark.sampled(len(EDITIONS))(pytest.mark.parametrize("edition", EDITIONS)(test))  # type: ignore[no-any-return]


async def asked(chat: Chat, kind: type[Any] = PermissionDialog) -> Any:
    """The dialog, once it is there and has its focus."""
    await chat.until(lambda: isinstance(chat.app.screen, kind) and chat.app.focused is not None, kind.__name__)
    return chat.app.screen


async def idle(chat: Chat) -> None:
    await chat.until(
        lambda: not chat.app.chat_session.is_busy and not chat.app.chat_session.queue, "the end of the turn"
    )


# --- streaming and showing


@every_edition
async def test_markdown_is_shown_while_it_streams(tmp_path: Path, edition: str) -> None:
    actor = make_actor()
    async with open_chat(actor.agent, tmp_path, edition=edition) as chat:
        await chat.say("stream something")
        await chat.sees("stream something", "Here is bold and", "one", "two", "working")
        assert "**" not in chat.text
        actor.gate.set()
        await chat.sees("The end.", "ready")


@every_edition
async def test_a_thought_is_a_line_until_it_is_unfolded(tmp_path: Path, edition: str) -> None:
    actor = make_actor()
    actor.gate.set()
    async with open_chat(actor.agent, tmp_path, edition=edition) as chat:
        await chat.say("stream")
        await chat.sees("The end.")
        assert "First I count." not in chat.text
        thought = chat.part(ThoughtPart)
        await chat.pilot.click(thought)
        await chat.sees("First I count.")
        await chat.pilot.click(thought)
        await chat.sees_no("First I count.")


@every_edition
async def test_a_command_shows_its_output_in_colour_and_nothing_else_of_its_sequences(
    tmp_path: Path, edition: str
) -> None:
    async with open_chat(make_actor().agent, tmp_path, edition=edition) as chat:
        (tmp_path / "noise.sh").write_text(NOISE)
        await chat.say("run")
        await chat.sees("Ran.", "red", "plain")
        assert "evil" not in chat.text
        if edition == "2-june":
            return  # it has no terminals: what a command printed is told as text
        await chat.sees("exit status 3")
        lines = chat.part(ToolPart).query_one(TerminalPart)._lines._lines
        assert lines[0].plain.split() == ["red", "plain"]
        assert any(span.style for span in lines[0].spans)


@every_edition
async def test_the_plan_is_a_line_on_a_small_screen_and_a_panel_on_a_wide_one(tmp_path: Path, edition: str) -> None:
    async with open_chat(make_actor().agent, tmp_path, edition=edition, size=(80, 24)) as chat:
        await chat.say("plan")
        await chat.sees("Planned.", "plan 1/3", "Change", "12.3k/200k tokens 6% · $0.25", "A plan of three")
        assert not chat.app.query_one("#plan PlanPanel", PlanPanel).is_on_screen
        await chat.press("ctrl+l")
        await chat.sees("✓ Read", "▸ Change !", "○ Test")
        await chat.press("ctrl+l")
        await chat.pilot.resize_terminal(140, 40)
        await chat.sees("✓ Read", "○ Test")
        assert not chat.app.query_one(PlanLine).display


@every_edition
async def test_a_refusal_and_what_it_took_out_of_the_memory_are_shown(tmp_path: Path, edition: str) -> None:
    async with open_chat(make_actor().agent, tmp_path, edition=edition) as chat:
        await chat.say("refuse this")
        await chat.sees("the agent refused")
        await chat.until(lambda: chat.part(PromptPart).has_class("-refused"))


async def test_a_notice_is_a_toast_and_no_markup(tmp_path: Path) -> None:
    async with open_chat(make_actor().agent, tmp_path, edition="2") as chat:
        await chat.say("notice")
        await chat.sees("A [bold]new[/] version", "Restart to use it", "Noticed.")


@every_edition
async def test_an_error_is_shown_with_what_to_do_and_the_session_goes_on(tmp_path: Path, edition: str) -> None:
    async with open_chat(make_actor().agent, tmp_path, edition=edition) as chat:
        await chat.say("fail")
        await chat.sees("failed", "say it again or in another way")
        await chat.say("hello")
        await chat.sees("You said: hello")


# --- permission


async def test_a_question_that_another_client_answered_goes_away_and_a_notice_says_which_answer_counts(
    tmp_path: Path,
) -> None:
    is_shown = asyncio.Event()

    async def script(peer: AgentPeer) -> None:
        await peer.greet()
        session = await peer.open_session()
        prompt = await peer.take_prompt()
        options = [{"optionId": "yes", "name": "Yes, delete it", "kind": "allow_once"}]
        params = {"sessionId": session, "toolCall": {"toolCallId": "t1", "title": "Delete a.py"}, "options": options}
        question = await peer.request("session/request_permission", params)
        await is_shown.wait()
        answered = {"accord/answered": {"outcome": "selected", "optionId": "yes"}}
        await peer.notify("$/cancel_request", {"requestId": question, "_meta": answered})
        await peer.expect_answer(question)
        await peer.end(prompt, "end_turn")

    async with open_chat(ScriptedAgent(script), tmp_path) as chat:
        await chat.say("tidy up")
        await chat.until(lambda: isinstance(chat.app.screen, PermissionDialog), "the question")
        is_shown.set()
        await chat.until(lambda: not isinstance(chat.app.screen, PermissionDialog), "the end of the question")
        await chat.sees("Another client", "delete it")  # a toast has several lines
        await chat.idle()


@every_edition
async def test_a_permission_is_given_by_a_key_after_the_whole_diff_was_shown(tmp_path: Path, edition: str) -> None:
    actor = make_actor()
    async with open_chat(actor.agent, tmp_path, edition=edition) as chat:
        await chat.say("edit a.py")
        dialog = await asked(chat)
        await chat.sees("allow the edit of a.py?", "Allow", "Always allow", "Reject")
        shown = dialog.query_one(DiffView).text
        await chat.press("y")
        await chat.sees("Changed.")
        await idle(chat)
        tool = chat.part(ToolPart)
        assert "-    pritn('hi')\n+    print('hi')" in shown
        assert tool.title_text.split() == ["✓", "edit", "a.py", "+1", "\N{MINUS SIGN}1"]
        assert not tool.folded
        assert len(actor.answers) == 1


@every_edition
async def test_a_permission_is_refused_by_a_click(tmp_path: Path, edition: str) -> None:
    actor = make_actor()
    async with open_chat(actor.agent, tmp_path, edition=edition) as chat:
        await chat.say("edit a.py")
        dialog = await asked(chat)
        await chat.sees("Reject")
        await chat.pilot.click("OptionList", offset=(6, 2))
        await chat.sees("Left as it is.")
        assert not isinstance(chat.app.screen, PermissionDialog)
        assert dialog.is_running is False


async def test_a_permission_is_answered_by_arrows_numbers_and_escape(tmp_path: Path) -> None:
    actor = make_actor()
    async with open_chat(actor.agent, tmp_path, size=(80, 24)) as chat:
        # The last one allows all that would be asked about after it.
        for keys in (("enter",), ("down", "down", "enter"), ("3",), ("escape",), ("2",)):
            await chat.say("edit a.py")
            await asked(chat)
            await chat.press(*keys)
            await idle(chat)
        session = chat.app.chat_session.session
        assert session is not None
        said = [entry.text for entry in session.transcript.messages if entry.speaker == "agent"]
    assert actor.answers == ["allow", "reject", "reject", "reject", "allow-always"]
    assert said == ["Changed.", "Left as it is.", "Left as it is.", "Left as it is.", "Changed."]


async def test_keys_that_were_meant_for_the_prompt_answer_no_question(tmp_path: Path) -> None:
    actor = make_actor()
    async with open_chat(actor.agent, tmp_path, arming_seconds=3600) as chat:
        await chat.say("edit a.py")
        await chat.until(lambda: isinstance(chat.app.screen, PermissionDialog), "the dialog")
        dialog = chat.app.screen
        await chat.press("y", "1", "enter", "escape")
        assert chat.app.screen is dialog
        assert actor.answers == []
        assert isinstance(dialog, PermissionDialog)
        dialog._arm()
        await chat.press("y")
        await chat.sees("Changed.")


async def test_keys_that_were_meant_for_the_prompt_open_no_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    actor = make_actor()
    opened: list[str] = []
    async with open_chat(actor.agent, tmp_path, arming_seconds=3600) as chat:
        monkeypatch.setattr(chat.app, "open_url", lambda url, **_: opened.append(url))
        await chat.say("address")
        await chat.until(lambda: isinstance(chat.app.screen, UrlDialog), "the dialog")
        dialog = chat.app.screen
        await chat.press("o", "enter", "n", "escape")
        assert chat.app.screen is dialog
        assert (opened, actor.answers) == ([], [])
        assert isinstance(dialog, UrlDialog)
        dialog._arm()
        await chat.press("o")
        await chat.sees("Thank you.")
    assert (opened, actor.answers) == (["https://host.example/login"], ["accept"])


async def test_keys_that_were_meant_for_the_prompt_are_no_values_of_a_form(tmp_path: Path) -> None:
    actor = make_actor()
    async with open_chat(actor.agent, tmp_path, arming_seconds=3600) as chat:
        await chat.say("form")
        await chat.until(lambda: isinstance(chat.app.screen, FormDialog), "the dialog")
        dialog = chat.app.screen
        await chat.press("a", "enter", "1", "enter", "ctrl+s", "escape")
        assert chat.app.screen is dialog
        assert actor.answers == []
        assert isinstance(dialog, FormDialog)
        dialog._arm()
        await chat.press(*"Rome", "enter", "3", "ctrl+s")
        await chat.sees("Thank you.")
    assert actor.answers == [{"city": "Rome", "days": 3, "food": False}]


async def test_two_questions_at_once_are_asked_one_after_the_other(tmp_path: Path) -> None:
    actor = make_actor()
    async with open_chat(actor.agent, tmp_path) as chat:
        await chat.say("two")
        first = await asked(chat)
        await chat.press("y")
        await chat.until(lambda: isinstance(chat.app.screen, PermissionDialog) and chat.app.screen is not first)
        await asked(chat)
        await chat.press("n")
        await chat.sees("Both asked.")
        assert sorted(actor.answers) == [("first", True), ("second", False)]


@every_edition
async def test_cancelling_answers_the_open_question(tmp_path: Path, edition: str) -> None:
    actor = make_actor()
    async with open_chat(actor.agent, tmp_path, edition=edition) as chat:
        await chat.say("edit a.py")
        await asked(chat)
        await chat.press("ctrl+c")
        await idle(chat)
        await chat.until(lambda: not isinstance(chat.app.screen, PermissionDialog), "the end of the dialog")
        await chat.sees("cancelled")
        assert actor.answers in ([], [None])


# --- cancel, queue, leave


@every_edition
@pytest.mark.parametrize("key", ["escape", "ctrl+c"])
async def test_a_turn_is_cancelled(tmp_path: Path, edition: str, key: str) -> None:
    actor = make_actor()
    async with open_chat(actor.agent, tmp_path, edition=edition) as chat:
        await chat.say("wait")
        await chat.sees("Waiting.")
        await chat.press(key)
        await chat.sees("cancelled", "ready")
        assert actor.cancelled == 1
        await chat.say("hello")
        await chat.sees("You said: hello")


@every_edition
async def test_what_is_said_while_the_agent_works_waits_and_is_shown(tmp_path: Path, edition: str) -> None:
    actor = make_actor()
    async with open_chat(actor.agent, tmp_path, edition=edition) as chat:
        await chat.say("wait")
        await chat.sees("Waiting.")
        await chat.say("second thing")
        await chat.say("third thing")
        await chat.sees("▹ second thing", "▹ third thing", "2 queued")
        assert len(actor.prompts) == 1
        actor.gate.set()
        await chat.sees("Waited.", "You said: second thing", "You said: third thing")
        await chat.sees_no("▹", "queued")


async def test_what_waits_comes_back_when_the_turn_is_cancelled(tmp_path: Path) -> None:
    actor = make_actor()
    async with open_chat(actor.agent, tmp_path) as chat:
        await chat.say("wait")
        await chat.sees("Waiting.")
        await chat.say("second thing")
        await chat.sees("▹ second thing")
        await chat.press("escape")
        await idle(chat)
        assert chat.app.composer.text == "second thing"
        assert len(actor.prompts) == 1


async def test_ctrl_c_twice_leaves_and_once_does_not(tmp_path: Path) -> None:
    async with open_chat(make_actor().agent, tmp_path) as chat:
        await chat.press("ctrl+c")
        await chat.sees("Ctrl+C again leaves")
        assert chat.app.is_running
        await chat.press("ctrl+c")
        await chat.until(lambda: chat.app._exit, "the end")
        assert chat.app.return_code == 0


async def test_ctrl_c_clears_a_filled_prompt_before_it_leaves(tmp_path: Path) -> None:
    async with open_chat(make_actor().agent, tmp_path) as chat:
        await chat.write("a long thought")
        await chat.press("ctrl+c")
        assert chat.app.composer.text == ""
        assert "Ctrl+C again leaves" not in chat.text
        await chat.press("ctrl+z")
        assert chat.app.composer.text == "a long thought"
        await chat.press("ctrl+c", "ctrl+c", "ctrl+c")
        await chat.until(lambda: chat.app._exit, "the end")


async def test_what_is_typed_before_the_agent_is_there_is_sent_when_it_is(tmp_path: Path) -> None:
    async with open_chat(make_actor().agent, tmp_path, ready=False) as chat:
        await chat.say("hello")
        await chat.sees("You said: hello")


# --- completion


@every_edition
async def test_a_slash_completes_commands(tmp_path: Path, edition: str) -> None:
    async with open_chat(make_actor().agent, tmp_path, edition=edition) as chat:
        await chat.until(lambda: len(chat.app.chat_session.session.commands) == 2)  # type: ignore[union-attr]
        await chat.press("slash")
        await chat.sees("/greet <who>", "Greets somebody", "/review")
        await chat.press("r", "tab")
        assert chat.app.composer.text == "/review "
        assert not chat.app.composer.is_completing
        await chat.write("it")
        await chat.press("enter")
        await chat.sees("Reviewed it")


async def test_arrows_choose_a_proposal_and_escape_closes_the_list(tmp_path: Path) -> None:
    async with open_chat(make_actor().agent, tmp_path) as chat:
        await chat.press("slash")
        await chat.sees("/greet", "/review")
        await chat.press("down", "enter")
        assert chat.app.composer.text == "/review "
        chat.app.composer.put("")
        await chat.press("slash")
        await chat.sees("/greet")
        await chat.press("escape")
        assert chat.app.composer.text == "/"
        assert not chat.app.composer.is_completing


async def test_a_click_takes_a_proposal(tmp_path: Path) -> None:
    async with open_chat(make_actor().agent, tmp_path) as chat:
        await chat.press("slash")
        await chat.sees("/review")
        await chat.pilot.click("Proposals", offset=(3, 1))
        await chat.until(lambda: chat.app.composer.text == "/review ")
        assert chat.app.focused is chat.app.composer


@every_edition
async def test_an_at_sign_completes_files_and_sends_them_along(tmp_path: Path, edition: str) -> None:
    actor = make_actor()
    (tmp_path / "notes.txt").write_text("remember")
    (tmp_path / "secret.log").write_text("no")
    (tmp_path / ".gitignore").write_text("*.log\n")
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "nothing.py").write_text("pass")
    async with open_chat(actor.agent, tmp_path, edition=edition) as chat:
        await chat.write("explain ")
        await chat.press("at", "n", "o")
        await chat.sees("notes.txt", "src/nothing.py")
        assert "secret.log" not in chat.text
        await chat.press("tab")
        assert chat.app.composer.text == "explain @notes.txt "
        await chat.press("enter")
        await chat.sees("You said: explain @notes.txt")
        text, resource = actor.prompts[0]
        assert isinstance(text, Text)
        assert isinstance(resource, Resource)
        assert resource.text == "remember"


async def test_a_pasted_path_of_a_picture_is_sent_as_a_picture(tmp_path: Path) -> None:
    actor = make_actor()
    picture = tmp_path / "a b.png"
    picture.write_bytes(b"\x89PNG")
    async with open_chat(actor.agent, tmp_path) as chat:
        chat.app.composer.post_message(Paste(str(picture).replace(" ", "\\ ")))
        await chat.until(lambda: chat.app.composer.text.startswith('@"'), "the mention")
        await chat.write("what is this?")
        await chat.press("enter")
        await chat.sees("image/png")
        assert isinstance(actor.prompts[0][1], Image)


@pytest.mark.parametrize("end", ["\r", "\n", "\r\n"])
async def test_the_lines_of_a_pasted_text_stay_lines(tmp_path: Path, end: str) -> None:
    actor = make_actor()
    async with open_chat(actor.agent, tmp_path) as chat:
        chat.app.post_message(Paste(f"one{end}  two{end}{end}three"))
        await chat.until(lambda: chat.app.composer.text, "the text")
        await chat.press("enter")
        await chat.until(lambda: actor.prompts)
        assert actor.prompts[0][0].text == "one\n  two\n\nthree"


async def test_what_was_said_before_comes_back_by_the_arrow(tmp_path: Path) -> None:
    async with open_chat(make_actor().agent, tmp_path) as chat:
        await chat.say("first")
        await chat.say("second")
        await chat.sees("You said: second")
        await chat.press("up", "up")
        assert chat.app.composer.text == "first"
        await chat.press("down", "down")
        assert chat.app.composer.text == ""


async def test_ctrl_j_begins_a_new_line_and_enter_sends_both(tmp_path: Path) -> None:
    actor = make_actor()
    async with open_chat(actor.agent, tmp_path) as chat:
        await chat.press("a", "ctrl+j", "b", "enter")
        await chat.until(lambda: actor.prompts)
        assert actor.prompts[0][0].text == "a\nb"


# --- options, sessions, forms, help


@every_edition
async def test_options_are_chosen_from_a_list_that_can_be_searched(tmp_path: Path, edition: str) -> None:
    async with open_chat(make_actor().agent, tmp_path, edition=edition) as chat:
        await chat.sees("Ask first · small")
        await chat.press("ctrl+o")
        await asked(chat, Picker)
        await chat.press(*"model")
        await chat.press("enter")
        await chat.sees("large")
        await chat.press("down", "enter")
        await chat.sees("Ask first · large")
        assert not isinstance(chat.app.screen, Picker)


@every_edition
async def test_shift_tab_goes_to_the_next_mode(tmp_path: Path, edition: str) -> None:
    async with open_chat(make_actor().agent, tmp_path, edition=edition) as chat:
        await chat.press("shift+tab")
        await chat.sees("Just code")
        await chat.press("shift+tab")
        await chat.sees("Ask first")


@every_edition
async def test_a_session_is_chosen_from_the_list_and_told_again(tmp_path: Path, edition: str) -> None:
    actor = make_actor(accord.MemoryStore())
    async with open_chat(actor.agent, tmp_path, edition=edition) as chat:
        await chat.say("plan")
        await chat.sees("Planned.", "A plan of three")
        await idle(chat)
        await chat.press("ctrl+n")
        await chat.sees_no("Planned.", "A plan of three")
        await chat.ready()
        await chat.press("ctrl+r")
        await asked(chat, Picker)
        await chat.press(*"three")
        await chat.press("enter")
        await chat.sees("plan", "Planned.", "A plan of three")
        await chat.ready()
        await chat.say("hello")
        await chat.sees("You said: hello")


@every_edition
async def test_a_session_is_resumed_at_the_start(tmp_path: Path, edition: str) -> None:
    actor = make_actor(accord.MemoryStore())
    async with open_chat(actor.agent, tmp_path, edition=edition) as chat:
        await chat.say("hello")
        await chat.sees("You said: hello")
        await idle(chat)
        session = chat.app.chat_session.session
    assert session is not None
    async with open_chat(actor.agent, tmp_path, edition=edition, session=session.id) as chat:
        await chat.sees("You said: hello")


async def greeted(agent: accord.Agent, cwd: str) -> accord.client.Session:
    """A session of an agent in which something was said, and that was left again."""
    async with accord.connect(agent) as connected:
        session = await connected.new_session(cwd)
        await session.prompt("hello")
    return session


@pytest.mark.parametrize("wants_login", [False, True])
async def test_a_session_that_only_the_agent_knows_is_looked_up_and_gone_on_with(
    tmp_path: Path, *, wants_login: bool
) -> None:
    actor = make_actor(accord.MemoryStore())
    session = await greeted(actor.agent, str(tmp_path))
    looks = []

    async def find(agent: accord.client.ConnectedAgent) -> ClientSessionRecord:
        looks.append(agent)
        if wants_login and len(looks) == 1:
            raise accord.AuthRequired
        return ClientSessionRecord("actor", session.id, str(tmp_path), None, None, 0.0, 0.0)

    async with open_chat(actor.agent, tmp_path, ready=False, find=find) as chat:
        if wants_login:
            # This agent has no way to log in: the next message tries it again.
            await chat.sees("It offers no login")
            await chat.say("anew")
        await chat.sees("You said: hello")
        await chat.ready()
    assert len(looks) == 1 + wants_login


async def test_a_session_of_another_directory_is_opened_there(tmp_path: Path) -> None:
    actor = make_actor(accord.MemoryStore())
    (tmp_path / "there").mkdir()
    (tmp_path / "here").mkdir()
    there = str(tmp_path / "there")
    session = await greeted(actor.agent, there)
    async with open_chat(actor.agent, tmp_path / "here", session=session.id, session_cwd=there) as chat:
        opened = chat.app.chat_session.session
        assert opened is not None
        assert (opened.id, opened.cwd) == (session.id, there)


async def test_a_session_that_is_not_there_is_said(tmp_path: Path) -> None:
    actor = make_actor(accord.MemoryStore())
    async with open_chat(actor.agent, tmp_path, ready=False, session="nobody") as chat:
        await chat.sees("failed", "Ctrl+N begins a new one")
        assert chat.app.chat_session.status == 4
        await chat.press("ctrl+n")
        await chat.ready()
        await chat.say("hello")
        await chat.sees("You said: hello")
        assert chat.app.chat_session.status == 0


@pytest.mark.rotated("edition")
@pytest.mark.parametrize("edition", ["1", "2"])
async def test_a_form_is_filled_in_checked_and_sent(tmp_path: Path, edition: str) -> None:
    actor = make_actor()
    async with open_chat(actor.agent, tmp_path, edition=edition, size=(80, 24)) as chat:
        await chat.say("form")
        await asked(chat, FormDialog)
        await chat.sees("Where to?", "City", "days", "food")
        await chat.press(*"Rome")
        await chat.press("enter", "0", "ctrl+s")
        await chat.sees("at least 1")
        await chat.press("backspace", "3", "tab", "space", "ctrl+s")
        await chat.sees("Thank you.")
        assert actor.answers == [{"city": "Rome", "days": 3, "food": True}]


async def test_a_form_is_declined_by_its_button_and_cancelled_by_escape(tmp_path: Path) -> None:
    actor = make_actor()
    async with open_chat(actor.agent, tmp_path) as chat:
        await chat.say("form")
        await asked(chat, FormDialog)
        await chat.pilot.click("#decline")
        await chat.until(lambda: actor.answers == [None], "the refusal")
        await idle(chat)
        await chat.say("form")
        await asked(chat, FormDialog)
        await chat.press("escape")
        await chat.until(lambda: actor.answers == [None, None], "the dismissal")


async def test_f1_tells_the_keys(tmp_path: Path) -> None:
    async with open_chat(make_actor().agent, tmp_path) as chat:
        await chat.press("f1")
        await asked(chat, ReadingDialog)
        await chat.sees("Ctrl+O", "Shift+Tab")
        await chat.press("escape")
        await chat.until(lambda: not isinstance(chat.app.screen, ReadingDialog))


# --- sizes, diffs, long streams


async def test_diffs_go_side_by_side_by_a_key_where_it_is_wide_enough(tmp_path: Path) -> None:
    async with open_chat(make_actor().agent, tmp_path, size=(150, 40)) as chat:
        await chat.say("edit a.py")
        await asked(chat)
        await chat.press("y")
        await idle(chat)
        await chat.press("ctrl+t")
        await chat.until(lambda: any("pritn('hi')" in line and "print('hi')" in line for line in chat.text.split("\n")))
        await chat.pilot.resize_terminal(80, 24)
        await chat.until(lambda: "print('hi')" in chat.text)
        assert not any("pritn" in line and "print(" in line for line in chat.text.split("\n"))


async def test_everything_important_is_seen_at_80_by_24(tmp_path: Path) -> None:
    async with open_chat(make_actor().agent, tmp_path, size=(80, 24)) as chat:
        await chat.say("plan")
        await chat.sees("Planned.")
        await chat.say("edit a.py")
        await asked(chat)
        await chat.sees("allow the edit of a.py?", "pritn('hi')", "print('hi')", "Allow", "Always allow", "Reject")
        assert all(len(line) <= 80 for line in chat.text.split("\n"))
        await chat.press("y")
        await chat.sees("Changed.", "actor 3.1", "Ask first", "$0.25", "plan 1/3", "Enter sends")


@pytest.mark.long
@pytest.mark.parametrize("edition", ["1", "2", "2-june"])
async def test_a_long_stream_stays_usable_and_bounded(tmp_path: Path, edition: str) -> None:
    number = 100_000 if edition == "1" else 10_000
    agent = accord.Agent("long", store=None)

    @agent.prompt
    async def reply(turn: accord.agent.Turn) -> None:
        if turn.text != "go":
            await turn.say("Still here.")
            return
        for index in range(number):
            await turn.say(f"word {index}" + ("\n\n" if index % 20 == 19 else " "))

    async with open_chat(agent, tmp_path, edition=edition, size=(80, 24)) as chat:
        await chat.say("go")
        await idle(chat)
        await chat.sees(f"word {number - 1}")
        assert len(list(chat.app.screen.walk_children())) < 1_000
        assert chat.app.chat_session.session is not None
        assert f"word {number - 1}" in chat.app.chat_session.session.transcript.text
        await chat.say("hello")
        await chat.sees("Still here.")


@pytest.fixture
def few_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """How many there are is not the subject; `test_a_long_stream_stays_usable_and_bounded` has the real number."""
    monkeypatch.setattr(timeline, "MAX_PARTS", 40)
    monkeypatch.setattr(timeline, "PARTS_AT_ONCE", 6)


@pytest.mark.usefixtures("few_parts")
async def test_many_parts_are_laid_out_by_and_by_and_the_old_ones_on_demand(tmp_path: Path) -> None:
    agent = accord.Agent("many", store=None)

    @agent.prompt
    async def reply(turn: accord.agent.Turn) -> None:
        for index in range(80):
            async with turn.tool(f"Call number {index}", kind="read"):
                pass

    async with open_chat(agent, tmp_path, size=(80, 24)) as chat:
        await chat.say("go")
        await idle(chat)
        await chat.sees("Call number 79")
        parts = chat.app.timeline.parts
        shown = len(parts)
        assert shown <= 47
        chat.app.timeline._omitted.action_turn_over()
        await chat.until(lambda: len(chat.app.timeline.parts) > shown, "older parts")


# --- the agent's life


async def test_an_agent_that_does_not_start_is_said_and_tried_again_with_the_next_message(tmp_path: Path) -> None:
    actor, tries = make_actor(), []

    def connect(**callbacks: Any) -> accord.client.ConnectedAgent:
        tries.append(1)
        target = (str(tmp_path / "no-such-program"),) if len(tries) == 1 else (actor.agent,)
        return accord.connect(*target, **callbacks)

    async with open_chat(None, tmp_path, connect=connect, ready=False) as chat:
        await chat.sees("failed", "Is the command right and installed?")
        await idle(chat)
        assert chat.app.chat_session.status == 7
        await chat.say("hello")
        await chat.sees("You said: hello")
        assert chat.app.chat_session.status == 0


@pytest.mark.usefixtures("short_graces")
async def test_a_lost_agent_is_said_and_the_next_message_starts_it_again(tmp_path: Path) -> None:
    actor = make_actor(accord.MemoryStore())
    async with open_chat(actor.agent, tmp_path) as chat:
        await chat.say("wait")
        await chat.sees("Waiting.")
        agent = chat.app.chat_session.agent
        assert agent is not None
        await agent.connection.close()
        await chat.sees("the agent is gone", "The next message starts it again")
        await idle(chat)
        await chat.say("hello")
        await chat.sees("started again", "You said: hello")


@every_edition
async def test_a_login_is_chosen_and_the_session_opened_after_it(tmp_path: Path, edition: str) -> None:
    agent = accord.Agent("locked", store=None)
    done: list[str] = []

    @agent.login("key", "By a key", description="that you have")
    async def login() -> None:
        done.append("key")

    @agent.prompt
    async def reply(turn: accord.agent.Turn) -> None:
        await turn.say("Inside.")

    async with open_chat(agent, tmp_path, edition=edition, ready=False) as chat:
        await asked(chat, Picker)
        await chat.sees("wants you to log in", "By a key", "that you have")
        await chat.press("enter")
        await chat.ready()
        await chat.say("hello")
        await chat.sees("Inside.")
        assert done == ["key"]


async def test_who_does_not_log_in_is_told_what_to_do(tmp_path: Path) -> None:
    agent = accord.Agent("locked", store=None)

    @agent.login("key", "By a key")
    def login() -> None:
        """Lets everybody in."""

    @agent.prompt
    async def reply(turn: accord.agent.Turn) -> None:
        del turn

    async with open_chat(agent, tmp_path, ready=False) as chat:
        await asked(chat, Picker)
        await chat.press("escape")
        await chat.sees("choose how to log in")
        assert chat.app.chat_session.status == 6
        assert isinstance(chat.part(NotePart), NotePart)


# --- what nobody has a name for, and what could do harm


async def test_updates_and_blocks_that_no_edition_names_are_shown_raw(tmp_path: Path) -> None:
    actor = make_actor()
    async with open_chat(actor.agent, tmp_path) as chat:
        session = chat.app.chat_session.session
        assert session is not None
        session._apply(UnknownUpdate("hologram", {"sessionUpdate": "hologram", "depth": 3}))
        session._apply(MessageChunk("agent", accord.Unknown("scent", {"type": "scent", "of": "roses"})))
        session._apply(ToolChanged("t", title="Bake", kind="_bake", status="_rising", created=True))
        await chat.sees("hologram", '"depth": 3', "scent", '"of": "roses"', "_bake", "Bake", "_rising")


async def test_what_an_agent_says_never_steers_the_terminal(tmp_path: Path) -> None:
    evil = "a\x1b]0;evil\x07b \x1b[2J\x9b31mc \u202etxt"
    actor = make_actor()
    async with open_chat(actor.agent, tmp_path) as chat:
        session = chat.app.chat_session.session
        assert session is not None
        session._apply(MessageChunk("agent", Text(evil)))
        session._apply(MessageChunk("thought", Text(evil)))
        session._apply(ToolChanged("t", title=evil, raw_input=evil, status="failed"))
        session._apply(PlanChanged([accord.PlanEntry(evil)]))
        session._apply(InfoChanged(title=evil))
        session._apply(Noticed(evil, description=evil))
        await chat.sees("ab c", "plan 0/1")
        assert not any(each in chat.text for each in "\x1b\x9b\x07\u202e")
        # A title shows what was in it.
        assert "a\\x1b]0;evil\\x07b" in chat.text


async def test_a_link_is_followed_only_into_the_web(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    async with open_chat(make_actor().agent, tmp_path) as chat:
        monkeypatch.setattr(chat.app, "open_url", opened.append)
        chat.app.timeline.post_message(PassageView.LinkClicked("file:///etc/passwd"))
        await chat.sees("Not opened")
        chat.app.timeline.post_message(PassageView.LinkClicked("https://example.org/x"))
        await chat.sees("https://example.org/x")
        assert opened == ["https://example.org/x"]


async def test_a_message_that_is_corrected_is_shown_anew(tmp_path: Path) -> None:
    async with open_chat(make_actor().agent, tmp_path) as chat:
        session = chat.app.chat_session.session
        assert session is not None
        session._apply(MessageChunk("agent", Text("It is Tuesday."), "m"))
        await chat.sees("It is Tuesday.")
        session._apply(MessageChanged("agent", "m", [Text("It is Wednesday.")]))
        await chat.sees("It is Wednesday.")
        assert "Tuesday" not in chat.text


async def test_a_long_diff_is_shown_in_part_and_whole_by_a_key(tmp_path: Path) -> None:
    new = "".join(f"line {number}\n" for number in range(500))
    async with open_chat(make_actor().agent, tmp_path, size=(80, 24)) as chat:
        session = chat.app.chat_session.session
        assert session is not None
        change = accord.FileChange(str(tmp_path / "a"), None, new)
        session._apply(ToolChanged("t", title="Write a", kind="edit", content=[accord.Diff([change])]))
        await chat.sees("461 more lines")
        chat.part(ToolPart).query_one(OmittedLines).action_turn_over()
        dialog = await asked(chat, ReadingDialog)
        assert dialog.query_one(DiffView).text.count("\n") == 500
        await chat.press("end")
        await chat.sees("line 499")


async def test_a_permission_shows_all_of_a_long_diff(tmp_path: Path) -> None:
    new = "".join(f"line {number}\n" for number in range(100))
    agent = accord.Agent("writer", store=None)

    @agent.prompt
    async def reply(turn: accord.agent.Turn) -> None:
        async with turn.tool("Write a", kind="edit", status="pending") as tool:
            await tool.diff("a", None, new)
            await turn.request_permission(tool)

    async with open_chat(agent, tmp_path, size=(80, 24)) as chat:
        await chat.say("go")
        await asked(chat)
        await chat.sees("line 0", "Allow", "Reject")
        for _ in range(10):
            await chat.press("pagedown")
        await chat.sees("line 99", "Allow", "Reject")
        await chat.press("n")
        await idle(chat)


# --- what is bounded, and what is closed


async def test_a_message_that_grows_page_by_page_keeps_its_last_pages_laid_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(message, "SOFT_CHARS", 300)
    monkeypatch.setattr(message, "HARD_CHARS", 600)
    async with open_chat(make_actor().agent, tmp_path, size=(80, 24)) as chat:
        session = chat.app.chat_session.session
        assert session is not None
        for number in range(16):
            session._apply(MessageChunk("agent", Text(f"page {number} " + "word " * 70 + "\n\n"), "m"))
            await ends_with(chat, f"page {number} ")
        await chat.until(lambda: len(pages_of(chat)) == 10, "ten pages")
        before = pages_of(chat)[0].source
        chat.app.timeline.query(OmittedParts).last().action_turn_over()
        await chat.until(lambda: pages_of(chat)[0].source != before, "earlier pages")
        await chat.until(lambda: len(pages_of(chat)) == 14, "four more pages")


def pages_of(chat: Chat) -> list[Markdown]:
    return list(chat.app.timeline.query(Markdown))


async def ends_with(chat: Chat, words: str) -> None:
    await chat.until(lambda: pages_of(chat) and words in pages_of(chat)[-1].source, words)


@pytest.mark.usefixtures("few_parts")
async def test_parts_that_come_by_and_by_are_bounded_too(tmp_path: Path) -> None:
    async with open_chat(make_actor().agent, tmp_path, size=(80, 24)) as chat:
        for number in range(50):
            await chat.app.timeline.add(Note(filled("remark {}", number)))
        assert len(chat.app.timeline.parts) <= 40
        await chat.sees("remark 49")


async def test_a_session_that_cannot_be_told_again_is_gone_on_with_all_the_same(tmp_path: Path) -> None:
    actor = make_actor(accord.MemoryStore())
    async with open_chat(actor.agent, tmp_path) as chat:
        await chat.say("plan")
        await chat.sees("Planned.")
        await idle(chat)
        first, agent = chat.app.chat_session.session, chat.app.chat_session.agent
        assert first is not None
        assert agent is not None
        await chat.press("ctrl+n")
        await chat.until(lambda: chat.app.chat_session.session is not first and not chat.app.chat_session.is_busy)
        agent.capabilities.load = False
        await chat.app.chat_session.switch(first.id)
        assert chat.app.chat_session.session is not None
        assert chat.app.chat_session.session.id == first.id
        await chat.say("hello")
        await chat.sees("You said: hello")
        assert "Planned." not in chat.text


async def test_the_agent_is_closed_with_the_screen(tmp_path: Path) -> None:
    async with open_chat(make_actor().agent, tmp_path) as chat:
        agent = chat.app.chat_session.agent
        assert agent is not None
    assert not agent.connection.is_open


async def test_what_does_not_work_of_the_wishes_is_said_and_the_session_is_there(tmp_path: Path) -> None:
    async def prepare(agent: accord.client.ConnectedAgent, session: accord.client.Session) -> None:
        del agent
        await session.set_option("model", "enormous")

    async with open_chat(make_actor().agent, tmp_path, prepare=prepare) as chat:
        await chat.sees("preparing the session failed")
        await chat.say("hello")
        await chat.sees("You said: hello")
        assert chat.app.chat_session.status == 0


@pytest.mark.sampled(5)
@pytest.mark.parametrize("attempt", range(5))
async def test_who_leaves_in_the_middle_of_a_stream_sees_no_failure(tmp_path: Path, attempt: int) -> None:
    agent = accord.Agent("endless", store=None)

    @agent.prompt
    async def reply(turn: accord.agent.Turn) -> None:
        while True:
            async with turn.tool("Try", kind="execute") as tool:
                await tool.show("again")
            await turn.say("and **again**\n\n")
            # It lives in the same loop as the screen.
            await asyncio.sleep(0)

    async with open_chat(agent, tmp_path) as chat:
        await chat.say("go")
        await chat.until(lambda: len(chat.app.timeline.parts) > 3 * attempt, "parts")
    assert chat.app._exception is None
