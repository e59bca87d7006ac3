from __future__ import annotations

from accord.cli.show.diff import place_of
from accord.cli.show.line import Line, usage_parts
from accord.cli.show.presentation import about
from accord.cli.show.text_layout import plan_lines, tool_line, tool_lines
from accord.protocol.model import Unknown
from accord.session.content import Text
from accord.session.entry import TerminalEntry, ToolCall
from accord.session.event import Cost, PlanEntry, TerminalChanged, TerminalExit, UsageChanged
from accord.session.tool import Location, Shown, TerminalView


def text(line: Line) -> str:
    return "".join(span.text for span in line)


def test_a_path_below_the_directory_is_short_and_another_is_whole() -> None:
    assert place_of("/work/src/a.py", "/work") == "src/a.py"
    assert place_of("/workshop/a.py", "/work") == "/workshop/a.py"
    assert place_of("/work", "/work") == "."


def test_a_call_is_about_its_files_or_its_title() -> None:
    assert about(ToolCall("t", "Read it", "read", locations=[Location("/w/a", 7)]), "/w") == "a:7"
    assert about(ToolCall("t", "grep -r foo", "execute"), "/w") == "grep -r foo"
    assert about(ToolCall("t", "evil\x1b[2J\ntitle"), "/w") == "evil\\x1b[2J\\ntitle"
    assert about(ToolCall("t"), "/w") == "t"


def test_the_headline_says_how_it_ended() -> None:
    call = ToolCall("t", "Read", "read", "completed", locations=[Location("/w/a.py")])
    assert text(tool_line(call, "/w", 0.012)).split() == ["read", "a.py", "ok", "12", "ms"]
    assert text(tool_line(ToolCall("t", "x", "execute", "failed"), "/w", 1.0)).split() == [
        "run",
        "x",
        "failed",
        "1.0",
        "s",
    ]


def test_a_command_s_output_is_shown_from_its_end_with_its_status() -> None:
    terminal = TerminalEntry("1")
    terminal.append("".join(f"line {number}\n" for number in range(30)).encode())
    terminal.change(TerminalChanged("1", exit=TerminalExit(2)))
    call = ToolCall("t", "make", "execute", "failed", content=[TerminalView("1")])
    lines = [text(line) for line in tool_lines(call, {"1": terminal})]
    assert lines[0] == "    … 20 lines before"
    assert lines[-2:] == ["    line 29", "    exit status 2"]


def test_a_terminal_that_nobody_knows_is_no_error() -> None:
    assert list(tool_lines(ToolCall("t", content=[TerminalView("gone")]), {})) == []


def test_what_was_read_is_not_shown_and_why_it_failed_is() -> None:
    shown = [Shown(Text("long text"))]
    assert list(tool_lines(ToolCall("t", kind="read", status="completed", content=[*shown]), {})) == []
    assert [text(line) for line in tool_lines(ToolCall("t", kind="read", status="failed", content=[*shown]), {})] == [
        "    long text"
    ]


def test_content_that_no_edition_names_is_shown_raw() -> None:
    call = ToolCall("t", content=[Unknown("hologram", {"type": "hologram", "depth": 3})])
    assert [text(line) for line in tool_lines(call, {})] == ['    {"type": "hologram", "depth": 3}']


def test_a_plan_is_one_line_where_it_fits() -> None:
    entries = [PlanEntry("look", "completed"), PlanEntry("change"), PlanEntry("never", "cancelled")]
    assert [text(line) for line in plan_lines(entries, 80)] == ["  plan  ✓ look  ○ change  ⊘ never"]
    assert len(plan_lines(entries, 20)) == 4
    assert text(plan_lines([], 80)[0]) == "  plan  none"


def test_usage_is_tokens_and_money() -> None:
    assert usage_parts(None) == []
    assert usage_parts(UsageChanged(1200, 0)) == ["1.2k tokens"]
    assert usage_parts(UsageChanged(1200, 200_000, Cost(0.5, "EUR"))) == ["1.2k/200k tokens 0%", "0.50 EUR"]
