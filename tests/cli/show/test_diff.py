from __future__ import annotations

from hypothesis import given, strategies as st

from accord.cli.show.diff import counts, diff_lines, hunks_of
from accord.cli.show.line import Line
from accord.cli.show.presentation import changed
from accord.session.tool import Diff, FileChange

LINES = st.lists(st.sampled_from(["a", "b", "c", ""]), max_size=12)


def text(lines: list[Line]) -> list[str]:
    return ["".join(span.text for span in line) for line in lines]


def diff(old: str | None, new: str | None) -> Diff:
    return Diff([FileChange("f", old, new)])


@given(LINES, LINES)
def test_the_hunks_turn_the_old_text_into_the_new(old: list[str], new: list[str]) -> None:
    change = FileChange("f", "\n".join(old) + "\n" if old else "", "\n".join(new) + "\n" if new else "")
    made = list(old)
    for hunk in reversed(hunks_of(change)):
        place = hunk.line - 1
        assert made[place : place + len(hunk.old)] == hunk.old
        made[place : place + len(hunk.old)] = hunk.new
    assert made == new


def test_lines_that_go_and_come_are_counts() -> None:
    assert counts(diff("one\ntwo\n", "one\nthree\nfour\n")) == (2, 1)
    assert text([changed([diff("one\n", "two\n")])]) == ["+1 \N{MINUS SIGN}1"]
    assert text([changed([diff(None, "one\n")])]) == ["+1 \N{MINUS SIGN}0 new file"]


def test_a_patch_is_shown_where_there_are_no_texts() -> None:
    patch = "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-one\n+two\n"
    told = Diff([FileChange("f")], patch)
    assert counts(told) == (1, 1)
    assert "    -one" in text(diff_lines(told))


def test_a_long_diff_is_cut_and_says_so() -> None:
    long = diff("", "".join(f"{number}\n" for number in range(50)))
    lines = text(diff_lines(long, 5))
    assert len(lines) == 6
    assert lines[-1] == "    … 45 more lines"
    assert len(diff_lines(long)) == 51


def test_several_places_say_where_they_are() -> None:
    lines = text(diff_lines(diff("a\nb\nc\n", "x\nb\ny\n"), 12))
    assert lines == ["    @ line 1", "    - a", "    + x", "    @ line 3", "    - c", "    + y"]


def test_a_huge_change_is_not_compared_line_by_line() -> None:
    old = "".join(f"old {number}\n" for number in range(100_000))
    new = "".join(f"new {number}\n" for number in range(100_000))
    assert counts(diff(old, new)) == (100_000, 100_000)


def test_an_escape_sequence_in_a_file_is_harmless() -> None:
    assert text(diff_lines(diff("", "\x1b[2Jx\n"))) == ["    @ line 1", "    + \\x1b[2Jx"]


def test_a_patch_that_says_more_than_its_texts_is_shown_itself() -> None:
    one, two = (f"diff --git /w/{name} /w/{name}\n--- /w/{name}\n+++ /w/{name}\n@@ -1 +1 @@\n-a\n+b\n" for name in "fg")
    change = FileChange("/w/f", "a\n", "b\n")
    assert text(diff_lines(Diff([change], one))) == ["    @ line 1", "    - a", "    + b"]
    assert "    +++ /w/g" in text(diff_lines(Diff([change], one + two)))
    assert counts(Diff([change], one + two)) == (2, 2)
    assert text(diff_lines(Diff([change], "1c\nb", "_ed"))) == ["    1c", "    b"]
