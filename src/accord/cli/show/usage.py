"""What it has cost, in few words."""

from __future__ import annotations

from accord.cli.show.line import amount
from accord.display import SafeText, filled
from accord.protocol.model import UNSET
from accord.session.event import UsageChanged

__all__ = ["usage_words"]


def usage_words(usage: UsageChanged | None) -> list[SafeText]:
    """Tokens in the context, and money, as far as they are known."""
    if usage is None:
        return []
    used, size = amount(usage.used), amount(usage.size or 0)
    words = [filled("{}/{} tokens", used, size) if usage.size else filled("{} tokens", used)]
    if usage.cost is not UNSET and usage.cost is not None:
        money = f"{usage.cost.amount:.4f}".rstrip("0").rstrip(".")
        words.append(filled("{} {}", money, usage.cost.currency))
    return words
