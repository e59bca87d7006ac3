"""A pytest that checks the changes of an agent in a folder: `pytest test_repository.py`.

It starts the agent beside it as a program; put your own command in `AGENT`.
"""

import sys
from pathlib import Path

import accord

AGENT = [sys.executable, str(Path(__file__).parents[1] / "agents" / "permission.py")]


def test_the_agent_changes_this_file_and_nothing_else(tmp_path: Path) -> None:
    """It asks for one edit, makes it, and changes nothing else."""
    (tmp_path / "notes.txt").write_text("the colour of the sea\n")
    (tmp_path / "other.txt").write_text("the colour of the sky\n")
    asked: list[str] = []

    def permit(question: accord.client.PermissionQuestion) -> bool:
        asked.append(question.title)
        return True

    environment = {"XDG_STATE_HOME": str(tmp_path / ".state")}
    with accord.open(*AGENT, cwd=tmp_path, permission=permit, env=environment) as session:
        reply = session.prompt("replace colour by color in notes.txt")

    assert reply.stop_reason == "end_turn"
    assert asked == ["Edit notes.txt"]
    assert (tmp_path / "notes.txt").read_text() == "the color of the sea\n"
    assert (tmp_path / "other.txt").read_text() == "the colour of the sky\n"
    assert [(call.kind, call.status) for call in session.transcript.tool_calls.values()] == [("edit", "completed")]
