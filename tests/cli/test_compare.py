"""`accord run --compare`: several agents, each in its own copy of the folder."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from accord.evaluation.copies import FolderCopy, changes_between, patch_of, remove_folder
from tests.cli.command import SCRIPTS, SECONDS, Accord, is_gone

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="processes and links as POSIX has them")


@pytest.fixture
def two(accord: Accord) -> Accord:
    """Besides the demo there are agents of the config, and a file with a typing error."""
    program = [sys.executable, "-P", "-m", "accord.testing.program"]
    names = ("plain", "exits", "stalls")
    servers = {name: {"command": program[0], "args": [*program[1:], f"{SCRIPTS}:{name}"]} for name in names}
    accord.config.write_text(json.dumps({"agent_servers": servers}), encoding="utf-8")
    (accord.cwd / "a.py").write_text("pritn('hi')\n", encoding="utf-8")
    return accord


def copies(accord: Accord) -> list[Path]:
    return sorted((accord.home / ".cache/accord/compare").glob("*"))


def test_each_agent_works_in_its_own_copy_which_is_gone_afterwards(two: Accord) -> None:
    result = two("run", "--compare", "demo,plain", "replace pritn with print in a.py", "--allow", "all")
    assert (result.status, result.stderr) == (0, "")
    assert "── demo" in result.stdout
    assert "Replaced 1 occurrence in a.py." in result.stdout
    assert "+ print('hi')" in result.stdout
    assert "── plain" in result.stdout
    assert "hello" in result.stdout
    assert (two.cwd / "a.py").read_text(encoding="utf-8") == "pritn('hi')\n"
    assert not (two.cwd / "journal").exists()
    assert copies(two) == []
    assert json.loads(two("sessions", "ls", "--all", "--json").stdout) == []


def test_the_records_say_whose_they_are_and_what_came_of_each(two: Accord) -> None:
    result = two("run", "--compare", "demo,plain", "replace pritn with print in a.py", "--allow", "all", "-o", "events")
    assert result.status == 0
    assert {record["compare"] for record in result.records} == {"demo", "plain"}
    demo, plain = result.of_type("compared")
    assert (demo["compare"], demo["code"], demo["stop_reason"]) == ("demo", 0, "end_turn")
    assert demo["changes"] == [{"path": "a.py", "operation": "modify"}]
    assert "+print('hi')\n" in demo["patch"]
    assert plain["answer"] == "hello"


def test_what_no_rule_allows_is_denied_since_nobody_is_asked(two: Accord) -> None:
    result = two("run", "--compare", "demo,plain", "replace pritn with print in a.py", "-o", "events")
    assert result.status == 5
    assert [record["code"] for record in result.of_type("compared")] == [5, 0]


def test_an_agent_that_fails_does_not_stop_the_others(two: Accord) -> None:
    result = two("run", "--compare", "exits,plain", "go")
    assert result.status == 7
    assert "hello" in result.stdout
    assert copies(two) == []


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "words",
    [
        ("demo",), ("demo,",), ("demo,demo",), ("demo,plain", "-c"), ("demo,plain", "--dir", "."),
        ("demo,plain", "-o", "wire"), ("demo,nobody",), ("demo,plain", "--", "true"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_usage(two: Accord, words: tuple[str, ...]) -> None:
    assert two("run", "text", "--compare", *words).status == 2
    assert copies(two) == []


def test_after_ctrl_c_everything_is_gone(two: Accord) -> None:
    words = ("run", "--compare", "stalls,plain", "go", "-o", "events")
    with two.start(*words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        for line in process.stdout:
            record = json.loads(line)
            if record["type"] == "message_chunk" and record["compare"] == "stalls":
                break
        (root,) = copies(two)
        (journal,) = root.glob("trial-0/*/journal")
        agent = int(journal.read_text(encoding="utf-8").split()[1])
        process.send_signal(signal.SIGINT)
        assert process.wait(SECONDS) == 130
    assert copies(two) == []
    assert is_gone(agent)


def test_what_a_killed_comparison_left_is_removed_by_the_next(two: Accord) -> None:
    left = two.home / ".cache/accord/compare" / ("0" * 32)
    left.mkdir(parents=True)
    (left / "file").touch()
    assert two("run", "--compare", "plain,exits", "go").status == 7
    assert copies(two) == []


# --- copies


def test_a_copy_has_everything_and_follows_no_link(tmp_path: Path) -> None:
    source, outside = tmp_path / "source", tmp_path / "outside"
    (source / "sub" / "empty").mkdir(parents=True)
    outside.mkdir()
    (outside / "secret").write_text("s", encoding="utf-8")
    (source / ".gitignore").write_text("ignored\n", encoding="utf-8")
    (source / "ignored").write_text("i", encoding="utf-8")
    (source / "sub" / "run").write_text("x", encoding="utf-8")
    (source / "sub" / "run").chmod(0o755)
    (source / "out").symlink_to(outside)
    (source / "relative").symlink_to("sub/run")
    (source / "absolute").symlink_to(source / "sub" / "run")
    (source / "dangling").symlink_to("nowhere")
    os.mkfifo(source / "fifo")
    target = tmp_path / "target"
    FolderCopy(source, leave_out=tmp_path / "none").make(target)
    assert sorted(each.name for each in target.iterdir()) == [
        ".gitignore", "absolute", "dangling", "ignored", "out", "relative", "sub",
    ]  # fmt: skip
    assert (target / "out").readlink() == outside
    assert (target / "absolute").readlink() == target / "sub" / "run"
    assert (target / "relative").readlink() == Path("sub/run")
    assert (target / "sub" / "run").stat().st_mode & 0o777 == 0o755
    assert (target / "sub" / "empty").is_dir()
    (target / "sub").chmod(0o500)
    remove_folder(target)
    assert not target.exists()
    assert (outside / "secret").exists()


def test_a_folder_that_holds_its_own_copies_is_copied_without_them(tmp_path: Path) -> None:
    place = tmp_path / "source" / "cache"
    place.mkdir(parents=True)
    (tmp_path / "source" / "file").touch()
    FolderCopy(tmp_path / "source", leave_out=place).make(place / "copy")
    assert [each.name for each in (place / "copy").iterdir()] == ["file"]


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_the_copy_of_a_git_worktree_shares_nothing_with_it(tmp_path: Path) -> None:
    def git(folder: Path, *words: str) -> str:
        names = ["-c", "user.name=ada", "-c", "user.email=ada@example.org"]
        done = subprocess.run(
            ["git", *names, *words], cwd=folder, check=True, capture_output=True, text=True, timeout=SECONDS
        )
        return done.stdout

    main, tree = tmp_path / "main", tmp_path / "tree"
    main.mkdir()
    git(main, "init", "-q")
    (main / "a").write_text("1\n", encoding="utf-8")
    git(main, "add", "a")
    git(main, "commit", "-qm", "one")
    git(main, "worktree", "add", "-q", str(tree), "-b", "side")
    (tree / "a").write_text("2\n", encoding="utf-8")
    (tree / "untracked").touch()
    for number, source in enumerate((main, tree)):
        copy = tmp_path / f"copy{number}"
        state = git(source, "status", "--porcelain")
        FolderCopy(source, leave_out=tmp_path / "none").make(copy)
        assert git(copy, "status", "--porcelain") == state
        assert git(copy, "rev-parse", "--show-toplevel").strip() == str(copy)
        assert not (copy / ".git" / "worktrees").exists()
        git(copy, "add", "-A")
        git(copy, "commit", "-q", "--allow-empty", "-m", "in the copy")
        assert git(source, "status", "--porcelain") == state
        assert "in the copy" not in git(source, "log", "--all", "--format=%s")


def test_a_git_file_that_names_a_place_in_the_folder_names_that_of_the_copy(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    (source / ".git" / "modules" / "sub").mkdir(parents=True)
    for name, leads_to in (("sub", source / ".git" / "modules" / "sub"), ("near", Path("../.git/modules/sub"))):
        (source / name).mkdir()
        (source / name / ".git").write_text(f"gitdir: {leads_to}\n", encoding="utf-8")
    FolderCopy(source, leave_out=tmp_path / "none").make(target)
    inside = target / ".git" / "modules" / "sub"
    assert (target / "sub" / ".git").read_text(encoding="utf-8") == f"gitdir: {inside}\n"
    assert (target / "near" / ".git").read_text(encoding="utf-8") == "gitdir: ../.git/modules/sub\n"


def test_changes_are_found_whatever_they_are(tmp_path: Path) -> None:
    before, after = tmp_path / "before", tmp_path / "after"
    before.mkdir()
    (before / "same").write_text("s", encoding="utf-8")
    (before / "gone").write_text("g\n", encoding="utf-8")
    (before / "changed").write_text("1\n2", encoding="utf-8")
    (before / "link").symlink_to(before / "same")
    FolderCopy(before, leave_out=tmp_path / "none").make(after)
    (after / "gone").unlink()
    (after / "changed").write_text("1\n3", encoding="utf-8")
    (after / "new").write_bytes(b"\0\xff")
    (after / ".git").mkdir()
    (after / ".git" / "index").touch()
    found = changes_between(before, after)
    assert [(each.path, each.operation) for each in found] == [
        ("changed", "modify"), ("gone", "delete"), ("new", "add"),
    ]  # fmt: skip
    assert "-2\n\\ No newline at end of file\n+3\n" in patch_of(found[0])
    assert "Binary" in patch_of(found[2])
