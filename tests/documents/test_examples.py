"""Every example conversation runs, and says what it should."""

import subprocess
from pathlib import Path

from tests.forking_python import forking_python
from tests.limits import limit

EXAMPLES = Path(__file__).parents[2] / "examples"


def run(name: str, *words: str) -> str:
    finished = subprocess.run(
        [forking_python(), EXAMPLES / name, *words], capture_output=True, text=True, timeout=limit(100), check=False
    )
    assert finished.returncode == 0, finished.stderr
    for edition in ("\nv1\n", "June", "November"):
        assert edition in finished.stdout
    return finished.stdout


def test_the_conversation_is_held_in_each_edition() -> None:
    shown = run("conversation.py", "sea")
    assert shown.count("plan: List the files [in_progress]") == 3
    assert shown.count("says: '1 times'") == 3
    assert shown.count("may I? 'Edit notes.txt'") == 3
    assert shown.count("notes.txt is now 'The color of the sky") == 3
    assert shown.count("ends the turn: end_turn") == 6


def test_the_conversation_on_the_bare_engine_is_held_in_each_edition() -> None:
    shown = run("engine_conversation.py", "one", "two")
    assert shown.count("TextContent(text='two ')") == 3
    assert shown.count("may I? 'Repeat what you said'") == 3
    assert shown.count("exit status 0") == 3
