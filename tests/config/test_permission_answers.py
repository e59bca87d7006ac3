"""Remembered answers on disk: bound to a key of ours, a directory and an agent, and to nothing an agent chooses."""

from __future__ import annotations

import json
import os
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

from accord.client import load_rules
from accord.config.permission import AnswerFiles, agent_identity, set_aside_old_answers
from accord.session.remembered import PathTarget, RememberedAnswer, decode_answers
from tests.tables import rows

FIXTURES = Path(__file__).with_name("fixtures")

ANSWER = RememberedAnswer("allow", targets=(PathTarget("edit", "/a\nallow all"),))
OTHER = RememberedAnswer("deny", "kind", kind="delete")


class Session:
    """As much of a session as a store looks at."""

    def __init__(self, cwd: Path, key: str = "k", id_: str = "s") -> None:
        self.cwd = str(cwd)
        self.key = key
        self.id = id_


def store(folder: Path, *agent: str) -> Any:
    return AnswerFiles(folder / "always", agent or ("/bin/agent", "--acp"))


def test_an_answer_holds_where_session_key_directory_and_agent_are_the_same(tmp_path: Path) -> None:
    here = Session(tmp_path)
    store(tmp_path).add(here, ANSWER)
    store(tmp_path).add(here, OTHER)
    store(tmp_path).add(here, OTHER)

    assert store(tmp_path).load(Session(tmp_path, id_="another")) == [OTHER, ANSWER]
    assert store(tmp_path).load(Session(tmp_path, key="l")) == []
    assert store(tmp_path).load(Session(tmp_path.parent)) == []
    assert store(tmp_path, "/bin/agent").load(here) == []
    assert store(tmp_path, "/opt/agent", "--acp").load(here) == []


def test_a_document_that_was_moved_to_another_session_does_not_hold(tmp_path: Path) -> None:
    answers = store(tmp_path)
    answers.add(Session(tmp_path), ANSWER)
    answers.add(Session(tmp_path, "l"), OTHER)
    one, two = (tmp_path / "always").iterdir()
    one.write_bytes(two.read_bytes())

    found = [answers.load(Session(tmp_path, key)) for key in ("k", "l")]
    assert found in ([[], [OTHER]], [[ANSWER], []])


@rows("change", [{"version": 2}, {"answers": "all"}, {"extra": 1}, {"session": "l"}])
def test_a_document_that_is_not_ours_is_not_used(tmp_path: Path, change: dict[str, Any]) -> None:
    answers = store(tmp_path)
    answers.add(Session(tmp_path), ANSWER)
    (path,) = (tmp_path / "always").iterdir()
    path.write_text(json.dumps({**json.loads(path.read_bytes()), **change}))

    assert answers.load(Session(tmp_path)) == []


@pytest.mark.skipif(sys.platform == "win32", reason="modes: run it on Linux or macOS")
def test_documents_are_private_whatever_the_umask_is(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        store(tmp_path).add(Session(tmp_path), ANSWER)
    finally:
        os.umask(before)
    (path,) = (tmp_path / "always").iterdir()

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_where_nothing_can_be_written_nothing_is_raised(tmp_path: Path) -> None:
    (tmp_path / "always").write_text("a file")

    store(tmp_path).add(Session(tmp_path), ANSWER)
    assert store(tmp_path).load(Session(tmp_path)) == []


def test_answers_of_earlier_versions_are_set_aside_once_and_not_used(tmp_path: Path) -> None:
    folder = tmp_path / "always"
    folder.mkdir()
    for name in ("a.rules", "b.rules"):
        (folder / name).write_text("allow edit\nallow all\n")

    assert set_aside_old_answers(folder) == 2
    assert set_aside_old_answers(folder) == 0
    assert sorted(path.name for path in folder.iterdir()) == ["a.rules.old", "b.rules.old"]
    assert set_aside_old_answers(tmp_path / "missing") == 0


def test_an_agent_is_its_program_path_with_all_arguments(tmp_path: Path) -> None:
    program = tmp_path / "agent"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)

    assert agent_identity(["agent", "--acp"], {"PATH": str(tmp_path)}) == (str(program), "--acp")
    assert agent_identity([str(program)]) != agent_identity([str(program), "--acp"])


def test_documents_of_version_one_open() -> None:
    document = decode_answers((FIXTURES / "answers-1.json").read_bytes())

    assert [(each.effect, each.scope) for each in document.answers] == [
        ("allow", "exact"),
        ("deny", "exact"),
        ("allow", "exact"),
        ("allow", "exact"),
        ("allow", "folder"),
        ("allow", "kind"),
        ("deny", "program"),
    ]
    assert (document.session, document.agent) == ("0123456789abcdef" * 2, ("/usr/bin/agent", "--acp"))


def test_a_rules_file_of_the_first_version_opens() -> None:
    assert [str(rule) for rule in load_rules(FIXTURES / "rules.txt")] == [
        "allow read",
        "allow search",
        "allow edit:src/**",
        "ask edit",
        "allow execute:git *",
        "deny execute:rm *",
        "deny _vendor:x",
    ]
