"""`scripts/test --changed`: the tests that a change can reach."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from scripts import affected

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("path", "reaches", "leaves"),
    [
        # By an import, of the module itself or of one that imports it.
        ("src/accord/wire/lines.py", "tests/wire/test_lines.py", "tests/session/test_transcript.py"),
        ("src/accord/wire/lines.py", "tests/conversations/test_conversations.py", "tests/test_rows.py"),
        # By the first use of a name of a package.
        ("src/accord/stores/sqlite.py", "tests/agent/test_stores.py", "tests/wire/test_lines.py"),
        # By a verb of the command, which a test starts as a process.
        ("src/accord/cli/verbs/trace.py", "tests/cli/test_trace.py", "tests/agent/test_publisher.py"),
        # By the program of a test, and by what all tests of a folder use.
        ("tests/cli/scripts.py", "tests/cli/test_run.py", "tests/client/test_deadlines.py"),
        ("tests/serve/conftest.py", "tests/serve/test_http.py", "tests/client/test_deadlines.py"),
        # By an entry point.
        ("src/accord/simse/update.py", "tests/simse/test_agent.py", "tests/wire/test_lines.py"),
        # Files that are no modules.
        ("docs/quickstart.md", "tests/documents/test_quickstart.py", "tests/wire/test_lines.py"),
        ("pyproject.toml", "tests/wire/test_lines.py", "tests/limits.py"),
        # A module that is gone.
        ("src/accord/wire/gone.py", "tests/architecture/test_lines.py", "tests/agent/test_publisher.py"),
    ],
)
def test_a_change_reaches_what_imports_or_starts_it_and_no_more(path: str, reaches: str, leaves: str) -> None:
    found = affected.affected([path])
    assert reaches in found
    assert leaves not in found
    assert (ROOT / reaches).exists()
    assert (ROOT / leaves).exists()


def test_what_differs_are_commits_since_changes_and_new_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def git(*words: str) -> str:
        line = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *words]
        return subprocess.run(line, cwd=tmp_path, check=True, capture_output=True, text=True).stdout.strip()

    monkeypatch.setattr(affected, "ROOT", tmp_path)
    git("init", "-q")
    for name in ("first.py", "second.py", "third.py"):
        (tmp_path / name).write_text("", encoding="utf-8")
        git("add", name)
        git("commit", "-q", "-m", name)
    (tmp_path / "first.py").write_text("changed = 1\n", encoding="utf-8")
    (tmp_path / "new.py").write_text("", encoding="utf-8")
    assert affected.changed(None) == ["first.py", "new.py"]
    assert affected.changed("HEAD~1") == ["first.py", "new.py", "third.py"]
    with pytest.raises(SystemExit):
        affected.changed("nowhere")
