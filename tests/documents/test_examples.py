"""Every example runs, and says what it should."""

import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_the_conversation_is_held_in_each_edition() -> None:
    finished = subprocess.run(
        [sys.executable, str(EXAMPLES / "conversation.py"), "one", "two"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    shown = finished.stdout
    assert shown.count("TextContent(text='two ')") == 3
    assert shown.count("may I? 'Repeat what you said'") == 3
    assert shown.count("exit status 0") == 3
    for edition in ("\nv1\n", "June", "November"):
        assert edition in shown
