from __future__ import annotations

from hypothesis import given, strategies as st

from accord.cli.show.diff import DiffRow, change_rows, counts, file_title, patch_rows, rows_of_diff
from accord.session.custom import custom
from accord.session.tool import Diff, FileChange

TEXTS = st.lists(st.sampled_from(["a", "b", "c", ""]), max_size=30).map(lambda lines: "".join(f"{x}\n" for x in lines))


def kinds(rows: list[DiffRow]) -> str:
    marks = {"same": " ", "added": "+", "removed": "-", "gap": "~", "file": "#"}
    return "".join(marks[row.kind] for row in rows)


def test_only_what_changed_and_what_stands_around_it_is_shown() -> None:
    old = "".join(f"{number}\n" for number in range(1, 21))
    rows = change_rows(old, old.replace("10\n", "ten\n"))
    assert kinds(rows) == "~   -+   ~"
    assert rows[4] == DiffRow("removed", "10", 10, None)
    assert rows[5] == DiffRow("added", "ten", None, 10)
    assert rows[-1] == DiffRow("gap", "7 lines")


def test_a_single_line_is_no_gap() -> None:
    assert kinds(change_rows("1\n2\n3\n4\nold\n", "1\n2\n3\n4\nnew\n")) == "    -+"


def test_a_new_file_is_added_and_a_deleted_one_removed() -> None:
    assert kinds(change_rows(None, "a\nb\n")) == "++"
    assert kinds(change_rows("a\nb\n", None)) == "--"


def test_equal_texts_have_no_rows() -> None:
    assert change_rows("a\n", "a\n") == []


def test_a_missing_newline_at_the_end_is_a_change() -> None:
    assert kinds(change_rows("a\nb\n", "a\nb")) == " -+"


@given(TEXTS, TEXTS)
def test_the_rows_tell_both_texts_where_nothing_is_left_out(old: str, new: str) -> None:
    rows = change_rows(old, new)
    if any(row.kind == "gap" for row in rows) or not rows:
        return
    assert [row.text for row in rows if row.kind != "added"] == old.split("\n")[:-1]
    assert [row.text for row in rows if row.kind != "removed"] == new.split("\n")[:-1]


def test_large_files_are_compared_in_time() -> None:
    old = "".join(f"{number}\n" for number in range(50_000))
    new = "".join(f"{number * 2}\n" for number in range(50_000))
    rows = change_rows(old, new)
    assert sum(row.kind == "removed" for row in rows) > 40_000


def test_a_patch_is_shown_where_the_texts_were_not_told() -> None:
    diff = Diff([FileChange("/w/a.py")], "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-old\n+new\n same\n")
    rows = rows_of_diff(diff, "/w")
    assert rows[0] == DiffRow("file", "a.py")
    assert DiffRow("removed", "old") in rows
    assert counts(diff) == (1, 1)
    assert patch_rows("@@ x")[0].kind == "gap"


def test_titles_say_what_happened_to_which_file() -> None:
    assert file_title(FileChange("/w/a", None, "x")) == "/w/a (add)"
    assert file_title(FileChange("/w/b", operation="move", old_path="/w/a"), "/w") == "a → b (move)"
    assert file_title(FileChange("/w/a", "x", None, "delete"), "/w") == "a (delete)"
    assert file_title(FileChange("/w/a", operation=custom("_fold")), "/w") == "a (_fold)"
