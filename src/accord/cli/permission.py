"""The permission policy of one run: the rules of the line (`--allow`, `--deny`, `--rules`) before the config's.

After both come the remembered answers, and then the user.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from accord.cli.fault import phase
from accord.cli.status import UsageFailure
from accord.cli.target import Target
from accord.client import MachineRequest, Policy, Verdict, load_rules
from accord.client.question import PermissionCallback
from accord.config import ConfigPaths
from accord.config.permission import AnswerFiles, agent_identity, rules_for, set_aside_old_answers
from accord.session.rules import Rule, RuleError, parse_rule


def policy_of(
    target: Target,
    rules: Sequence[Rule],
    *,
    on_question: PermissionCallback | None,
    environment: dict[str, str] | None = None,
    notify: Callable[[str], Any] = lambda _: None,
    on_verdict: Callable[[Verdict], Any] | None = None,
    on_served: Callable[[MachineRequest], Any] | None = None,
    on_unasked: Callable[..., Any] | None = None,
) -> Policy:
    """The policy for `connect(permission=...)`; `on_question` is None where there is no user to ask.

    `on_unasked` gets a call and a rule, and `refused=True` where the agent had asked for it.

    Answers with "always" are kept in the state folder. `notify` gets a line for the user.
    """
    entry = target.entry
    folder = ConfigPaths.here().state / "always"
    count = set_aside_old_answers(folder)
    if count:
        notify(f"{count} files of answers from an earlier version were set aside in {folder}: you will be asked again")
    return Policy(
        [*rules, *rules_for(entry.permission_policy)],
        on_question=on_question,
        remember=AnswerFiles(folder, agent_identity(entry.argv, {**entry.env, **(environment or {})})),
        prefer_lasting=entry.permission_policy == "auto-approve",
        on_verdict=on_verdict,
        on_served=on_served,
        on_unasked=on_unasked,
        on_refused=None if on_unasked is None else partial(on_unasked, refused=True),
    )


def decided_by(verdict: Verdict, target: Target) -> str:
    """The value of `by` in the records: the config's policy is not a rule of the command line."""
    of_config = rules_for(target.entry.permission_policy)
    return "policy" if any(verdict.rule is rule for rule in of_config) else verdict.by


def rules_of(typed: Sequence[tuple[str, str]]) -> list[Rule]:
    """The rules; those of a file come at the place of its option.

    Raises:
        UsageFailure: One cannot be understood.
        CommandFailure: A file cannot be read.
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
