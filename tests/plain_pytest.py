"""A run of pytest as a program, without the plugins that stand beside ours here: loading them takes twice its time."""

from __future__ import annotations

from collections.abc import Collection
from importlib.metadata import entry_points

__all__ = ["plain_pytest"]


def plain_pytest(*, plugins: Collection[str] = ()) -> list[str]:
    """What follows `python` in the line; our plugin is loaded, and those of others that are named."""
    names = {each.name for each in entry_points(group="pytest11") if not each.value.startswith("accord.")}
    left_out = ["cacheprovider", *sorted(names - set(plugins))]
    return ["-m", "pytest", "-q", *(word for name in left_out for word in ("-p", f"no:{name}"))]
