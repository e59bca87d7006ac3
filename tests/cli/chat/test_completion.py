from __future__ import annotations

from pathlib import Path

import pytest

from accord.cli.chat.completion import (
    FileList,
    complete_command,
    complete_file,
    mention_of,
    pasted_picture,
    path_prefix,
    prompt_of,
)
from accord.cli.chat.own_commands import OWN_COMMANDS
from accord.session.option import Command

COMMANDS = [Command("greet", "Greets", "who"), Command("review", "Looks"), Command("regret", "Undoes")]
OURS = [f"/{command.name} {command.hint or ''}".strip() for command in OWN_COMMANDS]


@pytest.mark.parametrize(
    ("before", "names"),
    [
        ("/", ["/greet <who>", "/review", "/regret", *OURS]),
        ("/re", ["/review", "/regret", "/greet <who>"]),
        ("/GRE", ["/greet <who>", "/regret"]),
        ("/greet Ada", None),
        ("say /greet", None),
        ("/xyz", None),
    ],
)
def test_commands_are_completed_at_the_begin(before: str, names: list[str] | None) -> None:
    completion = complete_command(before, COMMANDS)
    assert (None if completion is None else [each.name for each in completion.proposals]) == names


@pytest.mark.parametrize(
    ("before", "word"),
    [("@", ""), ("look at @src/a", "src/a"), ("(@a", "a"), ("me@home", None), ("@a b", None), ("line\n@x", "x")],
)
def test_a_word_behind_an_at_sign_is_a_file(before: str, word: str | None) -> None:
    assert path_prefix(before) == word


def test_files_are_ranked_by_name_then_path_then_letters() -> None:
    files = ["docs/apple.md", "src/app.py", "tests/test_app.py", "a/p/p.txt", "zebra"]
    completion = complete_file("@app", files)
    assert completion is not None
    assert [each.name for each in completion.proposals] == [
        "src/app.py", "docs/apple.md", "tests/test_app.py", "a/p/p.txt",
    ]  # fmt: skip


def test_a_name_with_blanks_is_quoted_and_found_again(tmp_path: Path) -> None:
    (tmp_path / "a b.txt").write_text("x")
    assert mention_of("a b.txt") == '@"a b.txt"'
    assert prompt_of('see @"a b.txt".', str(tmp_path)) == ['see @"a b.txt".', tmp_path / "a b.txt"]


def test_only_files_that_exist_are_sent_along_each_once(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x")
    assert prompt_of("@a.py, @a.py and @b.py? mail me@a.py", str(tmp_path)) == [
        "@a.py, @a.py and @b.py? mail me@a.py", tmp_path / "a.py",
    ]  # fmt: skip


def test_a_name_that_no_system_takes_is_no_file(tmp_path: Path) -> None:
    assert prompt_of("@" + "x" * 5_000 + " @a\0b", str(tmp_path)) == ["@" + "x" * 5_000 + " @a\0b"]


@pytest.mark.parametrize("wrap", ["{}", "'{}'", '"{}"', "file://{}", "  {}\n"])
def test_a_pasted_picture_is_known_in_every_form(tmp_path: Path, wrap: str) -> None:
    (tmp_path / "p.png").write_bytes(b"x")
    path = str(tmp_path / "p.png")
    assert pasted_picture(wrap.format(path), str(tmp_path)) == f"@{path}"


@pytest.mark.parametrize("text", ["", "hello", "/no/such.png", "a.png\nb.png", "/etc/hostname"])
def test_other_pastes_are_text(tmp_path: Path, text: str) -> None:
    assert pasted_picture(text, str(tmp_path)) is None


async def test_the_files_are_those_that_git_would_see(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("build/\n")
    (tmp_path / "build").mkdir()
    (tmp_path / "build" / "out").write_text("x")
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").write_text("x")
    (tmp_path / "away").symlink_to("/etc")
    files = await FileList(str(tmp_path)).refresh()
    assert {"src/", "src/a.py", ".gitignore"} <= set(files)
    assert not any(each.startswith(("build", "away/")) for each in files)


async def test_a_directory_that_is_gone_has_no_files(tmp_path: Path) -> None:
    assert await FileList(str(tmp_path / "gone")).refresh() == []
