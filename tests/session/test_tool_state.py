from __future__ import annotations

from accord.session.content import Text
from accord.session.event import TerminalChanged, TerminalExit, TerminalOutput, ToolChanged, ToolContentAdded
from accord.session.tool import Diff, FileChange, Shown, TerminalView, ToolContent
from accord.session.tool_state import SMALL, ToolStates, terminal_text
from tests.tables import rows

LONG = Shown(Text("x" * SMALL))


def shown(text: str) -> ToolContent:
    return Shown(Text(text))


@rows(
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


@rows("end", ["", "\n"])
def test_of_one_long_line_the_end_is_shown(end: str) -> None:
    head, text = terminal_text(("x" * 9_000 + end).encode(), None).split("\n")
    assert f"{9_000 + len(end)} bytes" in head
    assert len(text) > 1_000


def test_a_heading_is_the_title_else_the_name_else_the_kind() -> None:
    tools = ToolStates()
    tools.change(ToolChanged("c"))
    assert tools.heading("c") == "tool call"
    tools.change(ToolChanged("c", kind="read"))
    assert tools.heading("c") == "read"
    tools.change(ToolChanged("c", name="cat"))
    assert tools.heading("c") == "cat"
    tools.change(ToolChanged("c", title="Read it"))
    assert tools.heading("c") == "Read it"
    tools.change(ToolChanged("c", title=None, name=None))
    assert tools.heading("c") == "read"
    tools.change(ToolChanged("c", created=True))
    assert tools.heading("c") == "tool call"


def test_a_small_list_is_repeated_with_every_item() -> None:
    tools = ToolStates()
    tools.change(ToolChanged("c"))
    due = [tools.add(ToolContentAdded("c", shown(str(number)))) and len(tools.show("c")) for number in range(20)]
    assert due == list(range(1, 21))
    assert tools.show("c") == [shown(str(number)) for number in range(20)]
    assert not tools.held()


def test_a_large_list_is_repeated_when_it_has_grown_by_an_eighth() -> None:
    tools = ToolStates()
    tools.change(ToolChanged("c", content=[LONG]))
    assert [tools.add(ToolContentAdded("c", shown("y"))) for _ in range(8)] == [False] * 8
    assert tools.holds("c")
    assert tools.held() == ["c"]
    assert tools.add(ToolContentAdded("c", shown("z" * SMALL)))
    assert len(tools.show("c")) == 10
    assert not tools.holds("c")


def test_repeating_a_growing_list_costs_linear_time() -> None:
    tools = ToolStates()
    tools.change(ToolChanged("c"))
    repeated = sum(len(tools.show("c")) for _ in range(5000) if tools.add(ToolContentAdded("c", shown("a line"))))
    assert repeated < 10 * 5000


@rows("event", [ToolChanged("c", content=[]), ToolChanged("c", created=True)])
def test_a_list_that_is_replaced_holds_nothing_back(event: ToolChanged) -> None:
    tools = ToolStates()
    tools.change(ToolChanged("c", content=[LONG, Diff([FileChange("/a", "b", "c")]), TerminalView("t")]))
    tools.add(ToolContentAdded("c", shown("y")))
    tools.change(event)
    assert not tools.held()
    assert tools.show("c") == []
    assert tools.print(TerminalOutput("t", b"out")) == []


def test_a_terminal_is_shown_as_text_by_every_call_that_shows_it() -> None:
    tools = ToolStates()
    tools.change(ToolChanged("a", content=[TerminalView("t", {"k": 1})]))
    tools.add(ToolContentAdded("b", TerminalView("t")))
    assert tools.show("a") == tools.show("b") == []
    assert tools.print(TerminalOutput("t", b"out")) == ["a", "b"]
    assert tools.show("a") == [Shown(Text("out"), {"k": 1})]
    assert tools.change_terminal(TerminalChanged("t", exit=TerminalExit(0))) == ["a", "b"]
    assert tools.show("b") == [shown("out\n[exit code 0]")]
    assert tools.change_terminal(TerminalChanged("t", output=None, exit=None)) == ["a", "b"]
    assert tools.show("b") == []
    assert tools.change_terminal(TerminalChanged("t", command="ls")) == []


def test_output_may_come_before_the_call_that_shows_it() -> None:
    tools = ToolStates()
    assert tools.print(TerminalOutput("t", b"out")) == []
    tools.change(ToolChanged("c", content=[TerminalView("t")]))
    assert tools.show("c") == [shown("out")]


def test_much_output_is_held_back_until_it_is_worth_repeating() -> None:
    tools = ToolStates()
    tools.change(ToolChanged("c", content=[TerminalView("t")]))
    tools.print(TerminalOutput("t", b"x" * SMALL))
    tools.show("c")
    assert tools.print(TerminalOutput("t", b"y")) == []
    assert tools.held() == ["c"]
    assert tools.change_terminal(TerminalChanged("t", exit=TerminalExit(0))) == ["c"]


def test_all_output_of_a_command_is_shown_at_its_end_and_before_that_a_tenth_of_it() -> None:
    tools = ToolStates()
    tools.change(ToolChanged("c", content=[TerminalView("t")]))
    line = b"x" * 59 + b"\n"
    while_it_runs = 0
    for _ in range(4_000):
        for call_id in tools.print(TerminalOutput("t", line)):
            (item,) = tools.show(call_id)
            assert isinstance(item, Shown)
            assert isinstance(item.block, Text)
            while_it_runs += len(item.block.text)
    assert while_it_runs < 0.2 * 4_000 * len(line)
    tools.change_terminal(TerminalChanged("t", exit=TerminalExit(0)))
    assert tools.show("c") == [shown((line * 4_000).decode() + "[exit code 0]")]


def test_a_terminal_of_the_client_stays_a_terminal() -> None:
    tools = ToolStates()
    tools.client_terminals.add("t")
    tools.change(ToolChanged("c", content=[TerminalView("t")]))
    assert tools.print(TerminalOutput("t", b"out")) == []
    assert tools.change_terminal(TerminalChanged("t", exit=TerminalExit(0))) == []
    assert tools.show("c") == [TerminalView("t")]


def test_a_call_is_known_from_the_first_word_about_it() -> None:
    tools = ToolStates()
    assert not tools.knows("c")
    tools.append(ToolContentAdded("c", shown("a")))
    assert tools.knows("c")
    assert not tools.held()
