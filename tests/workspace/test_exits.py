"""Exit statuses as they are reported."""

from __future__ import annotations

import signal

from accord.workspace.output import Exit, exit_of
from tests.tables import rows


@rows(
    ("status", "expected"),
    [
        (0, Exit(0, None)),
        (1, Exit(1, None)),
        (255, Exit(255, None)),
        (-signal.SIGKILL, Exit(None, "SIGKILL")),
        (-signal.SIGTERM, Exit(None, "SIGTERM")),
        (-50, Exit(None, "SIG50")),
        (None, Exit(None, None)),
    ],
)
def test_a_status_is_a_code_or_a_signal(status: int | None, expected: Exit) -> None:
    assert exit_of(status) == expected
