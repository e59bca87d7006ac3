"""`accord run` with an agent that wants a login first: at a terminal the user chooses a way, elsewhere it is named."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.cli.command import Accord, scripted

pytest.importorskip("termios")

AGENT = """
import sys
from pathlib import Path

import accord

KEPT = Path("logged-in")
if sys.argv[1:] == ["--login"]:
    name = input("your name: ")
    KEPT.write_text(name if sys.stdout.isatty() else "no terminal", encoding="utf-8")
    sys.exit(0 if name else 3)

agent = accord.Agent("guarded", version="1", store=None)
agent.terminal_login("tty", "On the terminal", args=["--login"])


@agent.login("browser", "In the browser")
async def browser() -> None:
    KEPT.write_text("browser", encoding="utf-8")


@agent.login("card", "By a card")
async def card() -> None:
    raise accord.RequestError("the card is unknown")


@agent.check_login
async def logged_in() -> bool:
    return KEPT.exists()


@agent.prompt
async def reply(turn: accord.agent.Turn) -> None:
    if turn.text == "expire":
        raise accord.AuthRequired("Your login is over")
    await turn.say(f"hello {KEPT.read_text(encoding='utf-8')}")


agent.run()
"""
WAYS = "  [1] On the terminal (tty)\n  [2] In the browser (browser)\n  [3] By a card (card)\n"


@pytest.fixture
def guarded(accord: Accord) -> list[str]:
    """The words that name an agent with three ways to log in."""
    (accord.cwd / "guarded.py").write_text(AGENT, encoding="utf-8")
    return ["--", sys.executable, "guarded.py"]


def kept(accord: Accord) -> str:
    path: Path = accord.cwd / "logged-in"
    return path.read_text(encoding="utf-8") if path.exists() else ""


@pytest.mark.parametrize("edition", ["1", "2", "2-june"])
def test_the_user_is_asked_which_way_and_the_prompt_goes_on(accord: Accord, guarded: list[str], edition: str) -> None:
    with accord.terminal("run", "hi", "--edition", edition, *guarded, NO_COLOR="1") as screen:
        shown = screen.expect("which? > ")
        assert "the agent wants you to log in" in shown
        assert "] In the browser (browser)\n" in shown
        screen.type("browser\n")
        assert "hello browser\n" in screen.rest()
        assert screen.status() == 0
    assert kept(accord) == "browser"
    again = accord("run", "hi", *guarded)
    assert again.status == 0


def test_a_number_that_is_none_is_asked_again(accord: Accord, guarded: list[str]) -> None:
    with accord.terminal("run", "hi", *guarded, NO_COLOR="1") as screen:
        assert WAYS in screen.expect("which? > ")
        screen.type("7\n")
        assert "a number from 1 to 3" in screen.expect("which? > ")
        screen.type("2\n")
        assert "hello browser\n" in screen.rest()
        assert screen.status() == 0


def test_a_login_on_the_terminal_has_it_to_itself(accord: Accord, guarded: list[str]) -> None:
    with accord.terminal("run", "hi", *guarded, NO_COLOR="1") as screen:
        screen.expect("which? > ")
        screen.type("1\n")
        screen.expect("your name: ")
        # Not even the line of progress disturbs it.
        assert screen.rest(seconds=0.5) == ""
        screen.type("ada\n")
        assert "hello ada\n" in screen.rest()
        assert screen.status() == 0


def test_there_is_time_to_choose_whatever_the_deadline_says(accord: Accord, guarded: list[str]) -> None:
    with accord.terminal("run", "hi", "--timeout", "2", *guarded, NO_COLOR="1") as screen:
        screen.expect("which? > ")
        # Longer than any phase may take: nothing comes, and that is what is waited for.
        assert screen.rest(seconds=2.5) == ""
        screen.type("2\n")
        assert "hello browser\n" in screen.rest()
        assert screen.status() == 0


@pytest.mark.parametrize("answer", ["\n", "\x04"])
def test_whoever_leaves_the_question_is_told_how_to_log_in_later(
    accord: Accord, guarded: list[str], answer: str
) -> None:
    with accord.terminal("run", "hi", *guarded, NO_COLOR="1") as screen:
        screen.expect("which? > ")
        screen.type(answer)
        rest = screen.rest()
        assert screen.status() == 6
    assert "accord: login: the agent wants you to log in first" in rest
    assert "accord agents login METHOD -- " in rest
    assert kept(accord) == ""


def test_ctrl_c_at_the_question_interrupts(accord: Accord, guarded: list[str]) -> None:
    with accord.terminal("run", "hi", *guarded, NO_COLOR="1") as screen:
        screen.expect("which? > ")
        screen.type("\x03")
        assert screen.status() == 130


def test_a_login_that_fails_is_one_line(accord: Accord, guarded: list[str]) -> None:
    with accord.terminal("run", "hi", *guarded, NO_COLOR="1") as screen:
        screen.expect("which? > ")
        screen.type("3\n")
        assert "accord: login: the agent answered with an error: the card is unknown" in screen.rest()
        assert screen.status() == 1
    with accord.terminal("run", "hi", *guarded, NO_COLOR="1") as screen:
        screen.expect("which? > ")
        screen.type("1\n")
        screen.expect("your name: ")
        screen.type("\n")
        assert "accord: login: the login ended with status 3. Try it again: accord agents login" in screen.rest()
        assert screen.status() == 6


def test_other_forms_of_output_ask_too(accord: Accord, guarded: list[str]) -> None:
    with accord.terminal("run", "hi", "-o", "final", *guarded, NO_COLOR="1") as screen:
        screen.expect("which? > ")
        screen.type("2\n")
        assert screen.rest().endswith("hello browser\n")
        assert screen.status() == 0


def test_a_session_that_goes_on_asks_too(accord: Accord) -> None:
    program = AGENT.replace("store=None", 'store=accord.SqliteStore("kept.db")')
    (accord.cwd / "guarded.py").write_text(program, encoding="utf-8")
    words = ["--", sys.executable, "guarded.py"]
    (accord.cwd / "logged-in").write_text("somebody", encoding="utf-8")
    assert accord("run", "hi", *words).status == 0
    (accord.cwd / "logged-in").unlink()
    with accord.terminal("run", "-c", "hi", *words, NO_COLOR="1") as screen:
        screen.expect("which? > ")
        screen.type("2\n")
        assert "hello browser\n" in screen.rest()
        assert screen.status() == 0


# --- where nobody can be asked


def test_without_a_terminal_the_ways_are_named(accord: Accord, guarded: list[str]) -> None:
    result = accord("run", "hi", *guarded)
    assert result.status == 6
    assert result.stderr == (
        "accord: login: the agent wants you to log in first"
        " (it offers: tty (On the terminal), browser (In the browser), card (By a card))."
        f" Type: accord agents login METHOD -- {sys.executable} guarded.py\n"
    )
    named = accord("agents", "login", "browser", *guarded)
    assert (named.status, kept(accord)) == (0, "browser")
    assert accord("run", "hi", "-o", "final", *guarded).stdout == "hello browser\n"


def test_the_line_for_an_agent_with_a_name(accord: Accord, guarded: list[str]) -> None:
    accord("agents", "add", "mine", *guarded)
    result = accord("run", "mine", "hi")
    assert result.stderr.endswith("Type: accord agents login mine METHOD\n")
    assert accord("agents", "login", "mine", "browser").status == 0


def test_one_way_needs_no_choice(accord: Accord) -> None:
    result = accord("run", "hi", *scripted("wants_login"))
    assert result.status == 6
    assert "(it offers: browser (In the browser)). Type: accord agents login -- " in result.stderr


def test_a_login_that_ends_in_a_turn_names_the_ways_too(accord: Accord, guarded: list[str]) -> None:
    (accord.cwd / "logged-in").write_text("somebody", encoding="utf-8")
    result = accord("run", "expire", *guarded)
    assert result.status == 6
    assert "log in first: Your login is over (it offers: tty (On the terminal), browser" in result.stderr


def test_the_ways_of_the_handshake_are_named_where_the_answer_has_none(accord: Accord) -> None:
    script = f"{Path(__file__).with_name('late_login.py')}:late"
    result = accord("run", "hi", "--", sys.executable, "-m", "accord.testing.program", script)
    assert result.status == 6
    assert (
        "log in first: Please log in (it offers: browser (In the browser)). Type: accord agents login" in result.stderr
    )
