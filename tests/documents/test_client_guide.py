"""The guide for client authors: its programs compile, its links lead somewhere, and it names what there is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import accord

GUIDE = (Path(__file__).parents[2] / "docs" / "clients.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_every_program_of_the_guide_compiles(block: str) -> None:
    compile(block, "docs/clients.md", "exec")


def test_the_policy_of_the_guide_can_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (block,) = (each for each in BLOCKS if "accord.Policy(\n" in each)
    names: dict[str, object] = {}
    exec(block, names)  # noqa: S102 - our own guide

    assert isinstance(names["policy"], accord.Policy)


@pytest.mark.parametrize(
    "name",
    [
        "new_session",
        "load_session",
        "resume_session",
        "fork_session",
        "list_sessions",
        "request",
        "on_request",
        "login",
    ],
)
def test_the_guide_names_what_an_agent_has(name: str) -> None:
    assert hasattr(accord.client.ConnectedAgent, name)
    assert name in GUIDE
