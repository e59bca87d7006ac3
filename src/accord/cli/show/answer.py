"""The answers to a permission request as texts: the agent's options, the wider meanings of "always", and decisions.

`question` has the lines of the request itself.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from accord.cli.show.diff import place_of
from accord.cli.show.presentation import about
from accord.client import PermissionQuestion, Verdict
from accord.client.question import WiderAnswer
from accord.display import SafeText, exact, filled, json_text, own
from accord.session.entry import ToolCall
from accord.session.option import PermissionOption
from accord.session.remembered import RememberedAnswer
from accord.session.rules import KINDS, Rule, wider_answers

OPTION_CHARACTERS = 100
_REASONS = {
    "policy": own("by the config's policy"),
    "remembered": own("as you answered before"),
    "question": own("as you allowed in this turn"),
    "default": own("inside the session's directories"),
    "nobody": own("there is no user to ask, and no rule allows it"),
}
WIDE_KEYS = {"folder": "f", "program": "p", "kind": "e"}
"""The key at the terminal for each wider scope."""


@dataclass(frozen=True)
class WideChoice:
    """A wider meaning of "always" that can be chosen: its key at the terminal, its name, and the answer."""

    key: str
    name: SafeText
    answer: WiderAnswer


def wide_choices(question: PermissionQuestion) -> list[WideChoice]:
    """The wider meanings of "always", beyond exactly what is shown; none where those are not known."""
    option = question.option("allow_always", "allow_once")
    if option is None or question.subject is None:
        return []
    return [_wide_choice(question, option, answer) for answer in wider_answers(question.subject)]


def _wide_choice(question: PermissionQuestion, option: PermissionOption, answer: RememberedAnswer) -> WideChoice:
    given = WiderAnswer(option, answer)
    if answer.scope == "folder":
        place = place_of(answer.folder or "", question.session.cwd)
        return WideChoice(
            WIDE_KEYS["folder"], filled("every {} below {}/", _kind_name(answer.kind or ""), place.rstrip("/")), given
        )
    if answer.scope == "program":
        return WideChoice(WIDE_KEYS["program"], filled("every command of {}", shlex.quote(answer.program or "")), given)
    return WideChoice(WIDE_KEYS["kind"], filled("every {}", _kind_name(answer.kind or "")), given)


def _kind_name(kind: str) -> SafeText:
    """A kind of call; one of the agent's own in quotes, because it may be any text."""
    return exact(kind) if kind in KINDS else filled("call that the agent calls {}", json_text(kind, None, 60))


def option_name(option: PermissionOption) -> SafeText:
    """The agent's name for an answer. Where we remember the answer and the name does not say so, we do."""
    name = exact(option.name, OPTION_CHARACTERS)
    words = option.name.casefold().split()
    if not option.is_lasting or ("always" in words and "once" not in words):
        return name
    return filled("{} (always)", name)


def contradiction_text(count: int) -> SafeText:
    """The remark about options that cannot be given."""
    if count == 1:
        return own("one answer of the agent contradicts itself or another, and cannot be given")
    return filled("{} answers of the agent contradict themselves or each other, and cannot be given", count)


# --- decisions


def verdict_text(verdict: Verdict, decided_by: str) -> SafeText:
    """A decision that was made without asking the user."""
    verdict_name = own("allowed") if verdict.is_allowed else own("denied")
    if decided_by in _REASONS:
        return filled("{}: {}", verdict_name, _REASONS[decided_by])
    return filled("{}: by the rule: {}", verdict_name, str(verdict.rule))


def unasked_text(call: ToolCall, rule: Rule, cwd: str, *, refused: bool = False) -> SafeText:
    """The remark that a call which a rule denies was completed, so that the rule is not trusted as a guard."""
    done = own("the agent did this without asking, which a rule denies")
    if refused:
        done = own("reported as done although it was refused")
    return filled("{} ({}): {} {}", done, str(rule), exact(call.kind, 20), about(call, cwd))
