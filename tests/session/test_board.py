from __future__ import annotations

import pytest

from accord.session.board import SMALL, Board, terminal_text
from accord.session.content import Text
from accord.session.event import TerminalChanged, TerminalExit, TerminalOutput, ToolChanged, ToolContentAdded
from accord.session.tool import Diff, FileChange, Shown, TerminalView, ToolContent

LONG = Shown(Text("x" * SMALL))


def shown(text: str) -> ToolContent:
    return Shown(Text(text))


@pytest.mark.parametrize(
    ("output", "ended", "text"),
    [
        (b"", None, ""),
        (b"out", None, "out"),
        ("é".encode()[:1], None, ""),
        ("é".encode()[:1], TerminalExit(0), "\ufffd\n[exit code 0]"),
        (b"out\n", TerminalExit(3), "out\n[exit code 3]"),
        (b"out", TerminalExit(-1, "SIGTERM"), "out\n[exit code -1]"),
        (b"", TerminalExit(signal="SIGKILL"), "[ended by SIGKILL]"),
        (b"", TerminalExit(), "[ended]"),
        (b"\xff", None, "\ufffd"),
    ],
)
def test_a_terminal_as_text_ends_with_how_the_command_ended(output: bytes, ended: TerminalExit, text: str) -> None:
    assert terminal_text(output, ended) == text


def test_a_heading_is_the_title_else_the_name_else_the_kind() -> None:
    board = Board()
    board.change(ToolChanged("c"))
    assert board.heading("c") == "tool call"
    board.change(ToolChanged("c", kind="read"))
    assert board.heading("c") == "read"
    board.change(ToolChanged("c", name="cat"))
    assert board.heading("c") == "cat"
    board.change(ToolChanged("c", title="Read it"))
    assert board.heading("c") == "Read it"
    board.change(ToolChanged("c", title=None, name=None))
    assert board.heading("c") == "read"
    board.change(ToolChanged("c", created=True))
    assert board.heading("c") == "tool call"


def test_a_small_list_is_repeated_with_every_item() -> None:
    board = Board()
    board.change(ToolChanged("c"))
    due = [board.add(ToolContentAdded("c", shown(str(number)))) and len(board.show("c")) for number in range(20)]
    assert due == list(range(1, 21))
    assert board.show("c") == [shown(str(number)) for number in range(20)]
    assert not board.held()


def test_a_large_list_is_repeated_when_it_has_grown_by_an_eighth() -> None:
    board = Board()
    board.change(ToolChanged("c", content=[LONG]))
    assert [board.add(ToolContentAdded("c", shown("y"))) for _ in range(8)] == [False] * 8
    assert board.holds("c")
    assert board.held() == ["c"]
    assert board.add(ToolContentAdded("c", shown("z" * SMALL)))
    assert len(board.show("c")) == 10
    assert not board.holds("c")


def test_repeating_a_growing_list_costs_linear_time() -> None:
    board = Board()
    board.change(ToolChanged("c"))
    repeated = sum(len(board.show("c")) for _ in range(5000) if board.add(ToolContentAdded("c", shown("a line"))))
    assert repeated < 10 * 5000


@pytest.mark.parametrize("event", [ToolChanged("c", content=[]), ToolChanged("c", created=True)])
def test_a_list_that_is_replaced_holds_nothing_back(event: ToolChanged) -> None:
    board = Board()
    board.change(ToolChanged("c", content=[LONG, Diff([FileChange("/a", "b", "c")]), TerminalView("t")]))
    board.add(ToolContentAdded("c", shown("y")))
    board.change(event)
    assert not board.held()
    assert board.show("c") == []
    assert board.print(TerminalOutput("t", b"out")) == []


def test_a_terminal_is_shown_as_text_by_every_call_that_shows_it() -> None:
    board = Board()
    board.change(ToolChanged("a", content=[TerminalView("t", {"k": 1})]))
    board.add(ToolContentAdded("b", TerminalView("t")))
    assert board.show("a") == board.show("b") == []
    assert board.print(TerminalOutput("t", b"out")) == ["a", "b"]
    assert board.show("a") == [Shown(Text("out"), {"k": 1})]
    assert board.change_terminal(TerminalChanged("t", exit=TerminalExit(0))) == ["a", "b"]
    assert board.show("b") == [shown("out\n[exit code 0]")]
    assert board.change_terminal(TerminalChanged("t", output=None, exit=None)) == ["a", "b"]
    assert board.show("b") == []
    assert board.change_terminal(TerminalChanged("t", command="ls")) == []


def test_output_may_come_before_the_call_that_shows_it() -> None:
    board = Board()
    assert board.print(TerminalOutput("t", b"out")) == []
    board.change(ToolChanged("c", content=[TerminalView("t")]))
    assert board.show("c") == [shown("out")]


def test_much_output_is_held_back_until_it_is_worth_repeating() -> None:
    board = Board()
    board.change(ToolChanged("c", content=[TerminalView("t")]))
    board.print(TerminalOutput("t", b"x" * SMALL))
    board.show("c")
    assert board.print(TerminalOutput("t", b"y")) == []
    assert board.held() == ["c"]
    assert board.change_terminal(TerminalChanged("t", exit=TerminalExit(0))) == ["c"]


def test_a_terminal_of_the_client_stays_a_terminal() -> None:
    board = Board()
    board.client_terminals.add("t")
    board.change(ToolChanged("c", content=[TerminalView("t")]))
    assert board.print(TerminalOutput("t", b"out")) == []
    assert board.change_terminal(TerminalChanged("t", exit=TerminalExit(0))) == []
    assert board.show("c") == [TerminalView("t")]


def test_a_call_is_known_from_the_first_word_about_it() -> None:
    board = Board()
    assert not board.knows("c")
    board.append(ToolContentAdded("c", shown("a")))
    assert board.knows("c")
    assert not board.held()
