"""The agent that a command line names."""

import pytest

from accord.cli.target import target_of


@pytest.mark.parametrize(
    ("name", "command", "has_name"),
    [
        ("demo", None, True),
        (None, ["python", "agent.py"], False),
        ("ws://127.0.0.1:8765/acp", None, False),
        ("https://agents.example.com/acp", None, False),
    ],
)
def test_only_an_agent_of_a_name_is_shown_by_that_name(
    name: str | None,
    command: list[str] | None,
    has_name: bool,  # noqa: FBT001 - a column of the table
) -> None:
    assert target_of(name, command).has_name is has_name
