"""What it has cost, in few words."""

from __future__ import annotations

from accord.cli.show.line import amount
from accord.cli.show.safe import safe_line
from accord.protocol.model import UNSET
from accord.session.event import UsageChanged

__all__ = ["usage_words"]


def usage_words(usage: UsageChanged | None) -> list[str]:
    """Tokens in the context, and money, as far as they are known."""
    if usage is None:
        return []
    words = [f"{amount(usage.used)}/{amount(usage.size)} tokens" if usage.size else f"{amount(usage.used)} tokens"]
    if usage.cost is not UNSET and usage.cost is not None:
        money = f"{usage.cost.amount:.4f}".rstrip("0").rstrip(".")
        words.append(f"{money} {safe_line(usage.cost.currency)}")
    return words
