"""Knows where the words of a line end and the agent's own command begins: at the first `--`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any, NoReturn

from accord.cli.status import UsageFailure

__all__ = ["Parser", "split_command"]


def split_command(arguments: Sequence[str]) -> tuple[list[str], list[str] | None]:
    """The words before the first `--`, and the command behind it; None where there is no `--`.

    Raises:
        UsageFailure: Nothing is behind it that could be a program.
    """
    words = list(arguments)
    if "--" not in words:
        return words, None
    place = words.index("--")
    command = words[place + 1 :]
    if not command:
        raise UsageFailure("a command must follow --")
    if not command[0]:
        raise UsageFailure("the command behind -- is empty", advice="Its first word names the program")
    return words[:place], command


class Parser(argparse.ArgumentParser):
    """Options and words in any order; what is wrong is one line and the status 2."""

    def __init__(self, verb: str, usage: str, description: str, examples: str) -> None:
        super().__init__(
            prog=f"accord {verb}",
            usage=usage,
            description=description,
            epilog=f"to copy:\n{examples}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        self.verb = verb

    def read(self, words: Sequence[str]) -> argparse.Namespace:
        """What the words say.

        Raises:
            UsageFailure: Nothing that this verb understands.
        """
        return self.parse_intermixed_args(list(words))

    def error(self, message: str) -> NoReturn:
        """Say it in our way; argparse would print its usage and leave."""
        raise UsageFailure(message, advice=f"See: accord {self.verb} --help")


class InOrder(argparse.Action):
    """Keeps what several options say in one list, in the order of the line."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,  # noqa: ARG002 - how argparse calls it
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        """Add one more."""
        kept = list(getattr(namespace, self.dest) or ())
        kept.append(((option_string or "").lstrip("-"), values))
        setattr(namespace, self.dest, kept)
