"""Times as people say them: how long ago."""

from __future__ import annotations

from datetime import UTC, datetime

__all__ = ["ago", "moment_of"]

MINUTE, HOUR, DAY, WEEK = 60, 3600, 86400, 7 * 86400


def moment_of(text: str | None) -> float | None:
    """A time in RFC 3339 as seconds; None where it is none."""
    try:
        moment = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def ago(moment: float | None, now: float) -> str:
    """How long ago it was."""
    if not moment:
        return ""
    seconds = max(0, now - moment)
    for limit, unit, name in ((MINUTE, 1, "s"), (HOUR, MINUTE, "min"), (DAY, HOUR, "h"), (WEEK, DAY, "d")):
        if seconds < limit:
            return f"{int(seconds // unit)} {name} ago"
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d")
