"""Times as people say them: how long ago."""

from __future__ import annotations

from datetime import UTC, datetime

from accord.display import EMPTY, SafeText, exact, filled, own

__all__ = ["ago", "moment_of"]

MINUTE, HOUR, DAY, WEEK = 60, 3600, 86400, 7 * 86400
_UNITS = ((MINUTE, 1, own("s")), (HOUR, MINUTE, own("min")), (DAY, HOUR, own("h")), (WEEK, DAY, own("d")))


def moment_of(text: str | None) -> float | None:
    """A time in RFC 3339 as seconds; None where it is none."""
    try:
        moment = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def ago(moment: float | None, now: float) -> SafeText:
    """How long ago it was."""
    if not moment:
        return EMPTY
    seconds = max(0, now - moment)
    for limit, unit, name in _UNITS:
        if seconds < limit:
            return filled("{} {} ago", int(seconds // unit), name)
    return exact(datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d"))
