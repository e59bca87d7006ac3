"""How full the context is and what a session has cost, in few words."""

from __future__ import annotations

from accord.cli.show.line import amount
from accord.display import SafeText, exact, filled
from accord.protocol.model import UNSET
from accord.session.event import UsageChanged

__all__ = ["usage_words"]

CENTS = 0.1


def usage_words(usage: UsageChanged | None) -> list[SafeText]:
    """Tokens in the context with the share of it that is used, and money, as far as they are known."""
    if usage is None:
        return []
    if usage.size:
        words = [filled("{}/{} tokens {}%", amount(usage.used), amount(usage.size), usage.used * 100 // usage.size)]
    else:
        words = [filled("{} tokens", amount(usage.used))]
    cost = usage.cost
    if cost is not UNSET and cost is not None:
        money = f"{cost.amount:.2f}" if cost.amount >= CENTS or not cost.amount else f"{cost.amount:.4f}"
        is_dollars = cost.currency == "USD"
        words.append(filled("${}", money) if is_dollars else filled("{} {}", money, exact(cost.currency, 8)))
    return words
