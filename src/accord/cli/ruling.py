"""The rules of a line, in its order: `--allow`, `--deny`, and the files of `--rules`."""

from __future__ import annotations

from collections.abc import Sequence

from accord.cli.fault import phase
from accord.cli.status import UsageFailure
from accord.client import load_rules
from accord.session.rules import Rule, RuleError, parse_rule

__all__ = ["rules_of"]


def rules_of(typed: Sequence[tuple[str, str]]) -> list[Rule]:
    """The rules; those of a file stand where the file was named.

    Raises:
        UsageFailure: One cannot be understood.
        Failure: A file cannot be read.
    """
    rules: list[Rule] = []
    for name, text in typed:
        if name == "rules":
            with phase("config"):
                rules += load_rules(text)
            continue
        try:
            rules.append(parse_rule(text, "allow" if name == "allow" else "deny"))
        except RuleError as error:
            raise UsageFailure(f"--{name}: {error}") from error
    return rules
