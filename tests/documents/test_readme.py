"""What the README shows runs as it is printed there."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def programs() -> dict[str, str]:
    """The programs of the README by the file name in their first line."""
    blocks = re.findall(
        r"```python\n# (\S+\.py)\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL
    )
    return dict(blocks)


def test_the_two_commands_come_first() -> None:
    first = (ROOT / "README.md").read_text(encoding="utf-8").split("```")[1]
    assert "scripts/test" in first
    assert "scripts/run" in first


def test_the_agent_and_the_client_of_the_readme_talk(tmp_path: Path) -> None:
    for name, text in programs().items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    finished = subprocess.run(
        [sys.executable, "ask.py"], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert finished.stderr == ""
    assert finished.stdout.splitlines() == ["HELLO", "PromptResponse(stop_reason='end_turn')"]
