"""The pane with the agent's stderr, the log and the wire: bounded, safe, a key away."""

from __future__ import annotations

import functools
import logging
import sys
from pathlib import Path

import accord
from accord.cli.chat.agent_log import MAX_LINE_CHARS, MAX_LINES, AgentLog
from tests.cli.chat.actors import make_actor
from tests.cli.chat.rig import open_chat

NOISY = """
import sys
import accord

agent = accord.Agent("noisy", version="1", store=None)


@agent.prompt
async def reply(turn):
    print("a line of \\x1b]0;evil\\x07\\x1b[2Jstderr", file=sys.stderr, flush=True)
    if turn.text == "fail":
        raise RuntimeError("kept for the log")
    await turn.say("Done.")


agent.run()
"""


async def test_a_key_shows_the_agents_stderr_and_the_wire_and_hides_them_again(tmp_path: Path) -> None:
    (tmp_path / "noisy.py").write_text(NOISY)
    connect = functools.partial(accord.connect, sys.executable, str(tmp_path / "noisy.py"))
    async with open_chat(None, tmp_path, connect=connect, size=(120, 40)) as chat:
        await chat.say("hello")
        await chat.sees("Done.")
        pane = chat.app.log_pane
        assert not pane.is_shown
        await chat.press("f2")
        await chat.until(lambda: "a line of stderr" in pane.text, "the agent's stderr")
        assert '"method":"initialize"' in pane.text.replace(" ", "")
        assert "→ " in pane.text
        assert "← " in pane.text
        assert "\x1b" not in pane.text
        assert "evil" not in pane.text
        await chat.press("f2")
        await chat.until(lambda: not pane.is_shown)


async def test_a_command_shows_one_of_them(tmp_path: Path) -> None:
    async with open_chat(make_actor().agent, tmp_path) as chat:
        await chat.say("/log wire")
        await chat.until(lambda: "initialize" in chat.app.log_pane.text, "the wire")
        await chat.say("/log stderr")
        await chat.until(lambda: chat.app.log_pane.text == "(nothing yet)", "an empty stderr")
        await chat.say("/log nonsense")
        await chat.sees("There is no such log")


def test_every_source_is_bounded_in_lines_and_their_length() -> None:
    log = AgentLog()
    log.add_stderr(b"x" * 10_000_000)
    for number in range(3 * MAX_LINES):
        log.add_stderr(b"line %d\n" % number)
        log.add_wire("in", b"y" * 100_000)
    assert len(log.lines("stderr")) == len(log.lines("wire")) == MAX_LINES
    assert max(len(line.text) for line in log.lines()) <= MAX_LINE_CHARS
    assert log.lines("stderr")[-1].text == f"line {3 * MAX_LINES - 1}"


def test_lines_are_put_together_from_chunks_and_made_safe() -> None:
    log = AgentLog()
    for byte in "grün\nhalf \x1b[31mred".encode():
        log.add_stderr(bytes([byte]))
    assert [line.text for line in log.lines("stderr")] == ["grün"]
    assert log.stderr_since(0) == ["grün", "half red"]
    assert log.stderr_since(1) == ["half red"]


def test_the_log_of_this_program_is_taken_while_the_screen_is_ours() -> None:
    log, logger = AgentLog(), logging.getLogger("accord.tests")
    before = logging.getLogger().handlers[:]
    with log.capturing():
        logger.warning("careful: %s", "\x1b[2J")
        logger.info("by the way")
    logger.warning("too late")
    assert [line.text for line in log.lines("log")] == [
        "WARNING accord.tests: careful:",
        "INFO accord.tests: by the way",
    ]
    assert logging.getLogger().handlers == before
