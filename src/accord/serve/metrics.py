"""Counters of a server, and their text in the format of Prometheus."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["Metrics"]


@dataclass
class Metrics:
    """Counts since the start. No name of a principal or session is in them; `node` is a label of all of them."""

    node: str = ""
    opened_connections: int = 0
    received_messages: int = 0
    sent_messages: int = 0
    resumed_links: int = 0
    lost_links: int = 0
    """Links that ended while their connection went on."""
    refusals: Counter[str] = field(default_factory=Counter)
    """By cause: `token`, `origin`, `host`, `limit`, …"""

    def text(self, gauges: dict[str, float], more: dict[str, float], errors: Mapping[str, int]) -> str:
        """All counters, also those of the fleet and its store, and the gauges of this moment."""
        counters = {
            "opened_connections": self.opened_connections,
            "received_messages": self.received_messages,
            "sent_messages": self.sent_messages,
            "resumed_links": self.resumed_links,
            "lost_links": self.lost_links,
            **more,
        }
        lines: list[str] = []
        for name, value in counters.items():
            lines += [f"# TYPE accord_{name}_total counter", f"accord_{name}_total{self._labels()} {value:.12g}"]
        lines.append("# TYPE accord_refusals_total counter")
        for cause, count in sorted(self.refusals.items()):
            lines.append(f"accord_refusals_total{self._labels(cause=cause)} {count}")
        if more:
            lines.append("# TYPE accord_store_errors_total counter")
        for reason, count in sorted(errors.items()):
            lines.append(f"accord_store_errors_total{self._labels(reason=reason)} {count}")
        for name, amount in gauges.items():
            lines += [f"# TYPE accord_{name} gauge", f"accord_{name}{self._labels()} {amount:g}"]
        return "\n".join(lines) + "\n"

    def _labels(self, **labels: str) -> str:
        given = {**({"node": self.node} if self.node else {}), **labels}
        return "{" + ",".join(f'{name}="{value}"' for name, value in given.items()) + "}" if given else ""
