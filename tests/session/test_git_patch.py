from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from accord.session.custom import custom
from accord.session.git_patch import (
    MAX_PAIRS,
    is_shown_by,
    operation_of,
    patch_paths,
    read_patch,
    texts_agree,
    write_patch,
)
from accord.session.tool import FileChange
from tests.limits import limit
from tests.session.events import files
from tests.tables import rows

ADDED = """\
diff --git /w/new.py /w/new.py
new file mode 100644
--- /dev/null
+++ /w/new.py
@@ -0,0 +1,2 @@
+one
+two
\\ No newline at end of file
"""
DELETED = """\
diff --git /w/gone.py /w/gone.py
deleted file mode 100644
--- /w/gone.py
+++ /dev/null
@@ -1 +0,0 @@
-one
"""
MODIFIED = """\
diff --git /w/a.py /w/a.py
--- /w/a.py
+++ /w/a.py
@@ -1,2 +1,2 @@
 one
-two
+three
"""
MOVED = """\
diff --git /w/old.py /w/a.py
rename from /w/old.py
rename to /w/a.py
--- /w/old.py
+++ /w/a.py
@@ -1 +1 @@
-one
+two
"""
COPIED = """\
diff --git /w/old.py /w/a.py
similarity index 100%
copy from /w/old.py
copy to /w/a.py
"""
BLANK = """\
diff --git /w/a b.py /w/a b.py
--- /w/a b.py\t
+++ /w/a b.py\t
@@ -1 +1 @@
-one
+two
"""
QUOTED = """\
diff --git "/w/\\303\\274\\t\\"\\\\" "/w/\\303\\274\\t\\"\\\\"
new file mode 120000
--- /dev/null
+++ "/w/\\303\\274\\t\\"\\\\"
@@ -0,0 +1 @@
+/target
\\ No newline at end of file
"""


@rows(
    ("change", "patch"),
    [
        (FileChange("/w/new.py", None, "one\ntwo"), ADDED),
        (FileChange("/w/new.py", None, "one\ntwo", "add"), ADDED),
        (FileChange("/w/gone.py", "one\n", None, "delete"), DELETED),
        (FileChange("/w/a.py", "one\ntwo\n", "one\nthree\n"), MODIFIED),
        (FileChange("/w/a.py", "one\n", "two\n", "move", "/w/old.py"), MOVED),
        (FileChange("/w/a.py", "one\n", "one\n", "copy", "/w/old.py"), COPIED),
        (FileChange("/w/a b.py", "one\n", "two\n"), BLANK),
        (FileChange('/w/ü\t"\\', None, "/target", file_type="symlink"), QUOTED),
        (FileChange("/w/empty", None, ""), "diff --git /w/empty /w/empty\nnew file mode 100644\n"),
    ],
)
def test_a_patch_has_absolute_paths_without_prefixes(change: FileChange, patch: str) -> None:
    assert write_patch([change]) == patch


@rows(
    "change",
    [
        FileChange("/w/a"),
        FileChange("/w/a", "one", None),
        FileChange("/w/a", None, None, "add"),
        FileChange("/w/a", None, None, "delete"),
        FileChange("/w/a", "one", "two", "move"),
        FileChange("/w/a", "one", "two", custom("_further")),
        FileChange("/w/a", "same", "same"),
    ],
)
def test_a_change_without_a_text_to_show_has_no_patch(change: FileChange) -> None:
    assert write_patch([change]) is None


def test_a_patch_tells_all_changes_or_is_not_there() -> None:
    change = FileChange("/w/a.py", "one\ntwo\n", "one\nthree\n")
    assert write_patch([change, FileChange("/w/new.py", None, "one\ntwo")]) == MODIFIED + ADDED
    assert write_patch([change, FileChange("/w/binary")]) is None
    assert write_patch([]) is None


@rows(
    ("patch", "texts"),
    [
        (ADDED, {"/w/new.py": (None, "one\ntwo")}),
        (DELETED, {"/w/gone.py": ("one\n", None)}),
        (MODIFIED, {"/w/a.py": ("one\ntwo\n", "one\nthree\n")}),
        (MOVED, {"/w/a.py": ("one\n", "two\n")}),
        (COPIED, {}),
        (BLANK, {"/w/a b.py": ("one\n", "two\n")}),
        (QUOTED, {'/w/ü\t"\\': (None, "/target")}),
        (MODIFIED + DELETED, {"/w/a.py": ("one\ntwo\n", "one\nthree\n"), "/w/gone.py": ("one\n", None)}),
        ("", {}),
        ("not a patch", {}),
        ("diff --git /w/a /w/a\nBinary files /w/a and /w/a differ\n", {}),
        ("diff --git /w/a /w/a\n@@ -1 +1 @@\n-one\n+two\n", {}),
        # Prefixes do not belong there, but agents leave them in.
        (MODIFIED.replace("--- ", "--- a").replace("+++ ", "+++ b"), {"/w/a.py": ("one\ntwo\n", "one\nthree\n")}),
        # An empty line of context may have lost its blank, and a quoted path may hold an escape nobody knows.
        (
            'diff --git x x\n--- "/w/\\q"\n+++ "/w/\\q"\n@@ -1,3 +1,3 @@\n one\n\n-two\n+three\n',
            {"/w/q": ("one\n\ntwo\n", "one\n\nthree\n")},
        ),
        ("diff --git x x\n--- /w/a\n+++ /w/a\n@@ -1 +1 @@\n\\ No newline at end of file\n-x\n", {"/w/a": ("x\n", "")}),
    ],
)
def test_the_texts_of_a_patch_are_what_its_hunks_show(patch: str, texts: dict[str, tuple[str, str]]) -> None:
    assert read_patch(patch) == texts


def test_fragments_of_several_hunks_stand_one_after_the_other() -> None:
    middle = [f"{number}\n" for number in range(20)]
    patch = write_patch(
        [FileChange("/w/a", "".join(["first\n", *middle, "last\n"]), "".join(["1st\n", *middle, "end\n"]))]
    )
    assert patch is not None
    old, new = read_patch(patch)["/w/a"]
    assert old == "first\n0\n1\n2\n17\n18\n19\nlast\n"
    assert new == "1st\n0\n1\n2\n17\n18\n19\nend\n"


PREFIXED = "diff --git a/w/a b/w/a\ncreate file mode 100644\n--- a/{}\n+++ b/{}\n@@ -{} +{} @@\n+x\n"


@rows(
    ("sides", "paths"),
    [
        (("dev/null", "w/a", "1,0", "1,1"), ["/w/a", "w/a"]),
        (("dev/null", "w/a", "0,0", "1"), ["/w/a", "w/a"]),
        (("w/a", "dev/null", "1,3", "1,0"), ["/w/a", "w/a"]),
        # With lines on that side it is a file of that name.
        (("dev/null", "w/a", "1,3", "1,1"), ["dev/null", "/w/a", "w/a"]),
        (("dev/null", "dev/null", "1", "1"), ["dev/null"]),
        (("dev/null", "dev/null", "0,0", "1"), ["dev/null"]),
    ],
)
def test_a_side_that_is_missing_is_no_file_behind_a_prefix_either(
    sides: tuple[str, str, str, str], paths: list[str]
) -> None:
    assert patch_paths(PREFIXED.format(*sides)) == paths


@rows(
    ("change", "operation"),
    [
        (FileChange("/w/a", None, "x"), "add"),
        (FileChange("/w/a", "x", "y"), "modify"),
        (FileChange("/w/a", "x", None), "modify"),
        (FileChange("/w/a", None, "x", "copy"), "copy"),
    ],
)
def test_a_file_that_has_only_a_new_text_was_added(change: FileChange, operation: str) -> None:
    assert operation_of(change) == operation


def large(*edits: int) -> str:
    count = int(MAX_PAIRS**0.5) + 10
    return "".join(f"edited {line}\n" if line in edits else f"line {line}\n" for line in range(count))


def test_a_large_file_is_told_in_one_hunk() -> None:
    patch = write_patch([FileChange("/w/a", large(), large(500, 502))])
    assert patch is not None
    assert patch.endswith(
        "@@ -498,9 +498,9 @@\n line 497\n line 498\n line 499\n-line 500\n-line 501\n-line 502\n"
        "+edited 500\n+line 501\n+edited 502\n line 503\n line 504\n line 505\n"
    )


@rows(
    ("old", "new", "ranges"),
    [
        (large(), "start\n" + large(), "@@ -1,3 +1,4 @@"),
        (large() + "end\n", large(), "@@ -1008,4 +1008,3 @@"),
        ("x\n" * 1001, "x\n" * 1002, "@@ -999,3 +999,4 @@\n x\n x\n x\n+x\n"),
    ],
)
def test_a_large_file_may_grow_or_shrink_at_its_edges(old: str, new: str, ranges: str) -> None:
    patch = write_patch([FileChange("/w/a", old, new)])
    assert patch is not None
    assert ranges in patch


def test_a_large_file_that_only_moved_has_no_hunks() -> None:
    patch = write_patch([FileChange("/w/a", large(), large(), "move", "/w/old")])
    assert patch == "diff --git /w/old /w/a\nsimilarity index 100%\nrename from /w/old\nrename to /w/a\n"


def applied(folder: Path, path: Path, old: str, new: str) -> str:
    path.write_bytes(old.encode())
    patch = write_patch([FileChange(str(path), old, new)])
    if patch is not None:
        # Git takes relative paths only; the rest of the patch must suit it as it is.
        text = patch.replace(str(path), path.name).encode()
        subprocess.run(["git", "apply", "-p0", "--unidiff-zero", "-"], input=text, cwd=folder, check=True)
    return path.read_bytes().decode()


@pytest.mark.skipif(shutil.which("git") is None, reason="git is missing: install it to see Git apply our patches")
@settings(max_examples=20, deadline=None)
@given(old=files.filter(bool), new=files.filter(bool))
def test_git_applies_what_is_written(tmp_path_factory: pytest.TempPathFactory, old: str, new: str) -> None:
    folder = tmp_path_factory.mktemp("patched")
    assert applied(folder, folder / "file.txt", old, new) == new


@pytest.mark.skipif(shutil.which("git") is None, reason="git is missing: install it to see Git apply our patches")
def test_git_applies_the_one_hunk_of_a_large_file(tmp_path: Path) -> None:
    old, new = large() + "tail", "head\n" + large(7, 900)
    assert applied(tmp_path, tmp_path / "file.txt", old, new) == new


@given(st.text(), st.text())
def test_an_added_or_deleted_file_is_read_back_whole(text: str, other: str) -> None:
    path = "/w/" + other.replace("\0", "")
    patch = write_patch([FileChange(path, None, text)])
    assert patch is not None
    assert read_patch(patch) == ({path: (None, text)} if text else {})


@given(st.text())
def test_nonsense_is_read_without_a_word(text: str) -> None:
    assert read_patch(f"diff --git {text}\n--- {text}\n+++ {text}\n@@ {text}") is not None


# --- agreement with the changes beside it

MOVED = """\
diff --git /w/old.py /w/a.py
similarity index 60%
rename from /w/old.py
rename to /w/a.py
--- /w/old.py
+++ /w/a.py
@@ -1,2 +1,2 @@
 one
-two
+three
"""


@rows(
    ("patch", "change"),
    [
        (ADDED, FileChange("/w/new.py", None, "one\ntwo", "add")),
        (DELETED, FileChange("/w/gone.py", "one\n", None, "delete")),
        (MODIFIED, FileChange("/w/a.py", "one\ntwo\nfour\n", "one\nthree\nfour\n")),
        (MODIFIED.replace("/w/a.py\n", "/w/a.py\nindex 1..2 100644\n", 1), FileChange("/w/a.py", "one\ntwo", None)),
        (MODIFIED.replace(" /w", " a/w", 1).replace("--- /w", "--- a/w"), FileChange("/w/a.py", "one\ntwo", None)),
        (MOVED, FileChange("/w/a.py", "one\ntwo\n", "one\nthree\n", "move", "/w/old.py")),
        ("", FileChange("/w/a.py", "one\n", "one\n")),
    ],
)
def test_a_patch_that_says_what_its_change_says_is_shown_by_that(patch: str, change: FileChange) -> None:
    assert is_shown_by(patch, [change])
    other = FileChange("/w/other", None, None)
    assert is_shown_by(patch, [other, change])
    assert texts_agree(patch, [change]) is (change.new is not None or change.operation == "delete")


@rows(
    "patch",
    [
        MODIFIED + DELETED,
        MODIFIED + MODIFIED,
        MODIFIED.replace("/w/a.py", "/w/b.py"),
        MODIFIED.replace("+++ /w/a.py", "+++ /w/b.py"),
        MODIFIED.replace("git /w/a.py", "git /w/b.py"),
        MODIFIED.replace("--- /w", "old mode 100644\nnew mode 100755\n--- /w"),
        MODIFIED.replace("--- /w", "new file mode 120000\n--- /w"),
        MODIFIED + "trailing\n",
        "heading\n" + MODIFIED,
        MODIFIED.replace("@@ -1,2 +1,2 @@", "@@ ?"),
        MODIFIED.replace("@@ -1,2 +1,2 @@", f"@@ -{'1' * 5000} +1 @@"),
        MODIFIED + "@@ ",
        "diff --git /w/a.py /w/a.py\nBinary files /w/a.py and /w/a.py differ\n",
        "--- /w/a.py\n+++ /w/a.py\n@@ -1 +1 @@\n-one\n+two\n",
        MOVED,
        ADDED.replace("new.py", "a.py"),
    ],
)
def test_a_patch_that_says_more_than_its_change_is_not_shown_by_it(patch: str) -> None:
    change = FileChange("/w/a.py", "one\ntwo\n", "one\nthree\n")
    assert not is_shown_by(patch, [change])
    assert not texts_agree(patch, [change])


@rows("old", ["one\n", "two\none\n", "one\nTWO\n", ""])
def test_a_patch_does_not_agree_with_texts_that_it_does_not_make(old: str) -> None:
    assert not texts_agree(MODIFIED, [FileChange("/w/a.py", old, "one\nthree\n")])
    assert not texts_agree(MODIFIED, [FileChange("/w/a.py", "one\ntwo\n", old)])


@given(st.lists(st.tuples(files, files), max_size=3))
def test_a_patch_agrees_with_the_texts_that_it_was_made_from(texts: list[tuple[str, str]]) -> None:
    changes = [FileChange(f"/w/{number} é", old, new) for number, (old, new) in enumerate(texts)]
    patch = write_patch(changes)
    assert texts_agree(patch or "", changes)
    assert patch is None or not texts_agree(patch, [*changes[:-1], FileChange(changes[-1].path, "x", "y")])


def test_a_coarse_patch_agrees_with_the_texts_that_it_was_made_from() -> None:
    changes = [FileChange("/w/a", large() + "tail", "head\n" + large(7, 900)), FileChange("/w/b", "", large())]
    assert texts_agree(write_patch(changes) or "", changes)


@given(st.text(), st.sampled_from(["", "\n--- /w/a\n+++ /w/a\n"]), st.text())
def test_nonsense_is_compared_without_a_word(head: str, sides: str, hunk: str) -> None:
    patch = f"diff --git {head}{sides}@@ {hunk}"
    change = FileChange("/w/a", "one\n", "two\n")
    assert texts_agree(patch, [change]) <= is_shown_by(patch, [change])


def test_time_to_compare_is_linear() -> None:
    count = 5_000
    changes = [FileChange(f"/w/{number}", "a\n", "b\n") for number in range(count)]
    patch = write_patch(changes[::-1]) or ""
    started = time.process_time()
    assert texts_agree(patch, changes)
    assert not texts_agree(patch, changes[1:])
    assert time.process_time() - started < limit(10)
