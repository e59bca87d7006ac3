"""Only the answer."""

from __future__ import annotations

import sys

from accord.cli.output.interface import Ending, Output
from accord.cli.show.screen import is_terminal
from accord.display import prose, whole

__all__ = ["FinalOutput"]


class FinalOutput(Output):
    """Writes what the agent said last, when it is over."""

    progress_is_shown = True

    def ended(self, ending: Ending) -> None:
        """Write it; on a terminal nothing in it can do harm, in a file it is what the agent wrote."""
        answer = prose(ending.answer) if is_terminal(sys.stdout) else whole(ending.answer)
        if answer:
            sys.stdout.write(answer if answer.endswith("\n") else f"{answer}\n")
            sys.stdout.flush()
