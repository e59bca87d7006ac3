"""Every block of the guide to testing is a test file that passes, in a project that has nothing but the package."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from accord import testing
from tests.limits import limit
from tests.plain_pytest import plain_pytest

GUIDE = (Path(__file__).parents[2] / "docs" / "testing.md").read_text(encoding="utf-8")


def test_every_block_passes_as_a_test_file(tmp_path: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)
    for number, code in enumerate(blocks):
        (tmp_path / f"test_block_{number}.py").write_text(code, encoding="utf-8")
    environment = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "PYTEST_ADDOPTS"}}

    finished = subprocess.run(
        [sys.executable, *plain_pytest(), "-W", "error", "--rootdir", ".", "."],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=limit(100),
        check=False,
    )

    assert len(blocks) == 5
    assert finished.returncode == 0, finished.stdout
    assert f"{len(blocks)} passed" in finished.stdout


def test_the_guide_names_everything_that_is_offered() -> None:
    # The failures of the checkers say themselves what they are; a message and a record are what is found.
    plain = {
        "JsonRpcMessage",
        "RecordedMessage",
        "StoreCheckFailed",
        "TransportCheckFailed",
        "UnexpectedQuestion",
        "write_files",
    }
    # Types of signatures are in the reference.
    plain |= {"AgentScript", "ClientScript", "Direction", "Greeting", "JoinOptions", "Question"}
    assert [name for name in testing.__all__ if name not in GUIDE and name not in plain] == []
