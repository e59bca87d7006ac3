"""The report of a comparison: each agent's answer and diff, then a table; or records."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field
from typing import Any

from accord.cli.show.diff import counts, diff_lines
from accord.cli.show.line import Span, duration, table_lines
from accord.cli.show.screen import TextScreen, put
from accord.display import EMPTY, SafeText, exact, filled, json_line, own, prose, safe_lines
from accord.evaluation.copies import patch_of
from accord.session.tool import Diff, FileChange

HEADS = (own("agent"), own("exit"), own("time"), own("cost"), own("files"), own("lines"), own("end"))
DIFF_LINES = 200


@dataclass
class ComparedRun:
    """The result of one agent."""

    name: str
    begun: float = field(default_factory=time.monotonic)
    seconds: float | None = None
    status: int | None = None
    end: dict[str, Any] | None = None
    """The record `end`, if the run reached it."""
    error: str = ""
    changes: list[FileChange] = field(default_factory=list)
    session: str | None = None

    def take(self, record: dict[str, Any]) -> None:
        self.session = record.get("session") or self.session
        if record.get("type") == "end":
            self.end = record
        elif record.get("type") == "error":
            self.error = str(record.get("message"))


class CompareOutput:
    """The base of the forms of output; it writes nothing."""

    def happened(self, result: ComparedRun, record: dict[str, Any]) -> None:
        """A record of one of the runs."""

    def compared(self, result: ComparedRun) -> None:
        """A run is over, with its changes; called in the order of the line, when all are over."""

    def summary(self, results: list[ComparedRun]) -> None:
        """All runs are over."""


class CompareText(CompareOutput):
    def __init__(self, screen: TextScreen) -> None:
        self._screen = screen

    def compared(self, result: ComparedRun) -> None:
        screen = self._screen
        screen.line([Span(filled("── {} ", exact(result.name)), "bold")])
        answer = "" if result.end is None else str(result.end.get("answer", ""))
        for line in safe_lines(prose(answer.strip())) if answer.strip() else []:
            screen.line([Span(line)])
        if result.error:
            screen.line([Span(prose(result.error), "red")])
        for change in result.changes:
            screen.line([Span(filled("  {}  {}", exact(change.operation), exact(change.path)), "cyan")])
            if change.old is None and change.new is None:
                screen.line([Span(own("    no text, or more than 1 MiB"), "dim")])
            else:
                screen.lines(diff_lines(Diff([change]), DIFF_LINES))
        screen.flush()

    def summary(self, results: list[ComparedRun]) -> None:
        rows = [
            [
                exact(each.name), filled("{}", each.status or 0), duration(each.seconds or 0.0), _cost(each),
                filled("{}", len(each.changes)), _lines(each),
                exact(str((each.end or {}).get("stop_reason", "")) or "failed"),
            ]
            for each in results
        ]  # fmt: skip
        self._screen.line([Span(EMPTY)])
        self._screen.lines(table_lines(HEADS, rows))
        self._screen.flush()


class CompareEvents(CompareOutput):
    """The records of every run, with the agent's name, and `compared` for each at the end."""

    def happened(self, result: ComparedRun, record: dict[str, Any]) -> None:
        put(json_line({**record, "compare": result.name}))
        sys.stdout.flush()

    def compared(self, result: ComparedRun) -> None:
        end = result.end or {}
        record = {
            "type": "compared",
            "t": time.time(),
            "session": result.session,
            "compare": result.name,
            "code": result.status,
            "seconds": round(result.seconds or 0.0, 3),
            "stop_reason": end.get("stop_reason"),
            "answer": end.get("answer"),
            "cost": (end.get("usage") or {}).get("cost"),
            "changes": [{"path": each.path, "operation": each.operation} for each in result.changes],
            "patch": "".join(map(patch_of, result.changes)),
        }
        put(json_line(record))
        sys.stdout.flush()


def _lines(result: ComparedRun) -> SafeText:
    added, removed = counts(Diff(result.changes))
    return filled("+{} -{}", added, removed)


def _cost(result: ComparedRun) -> SafeText:
    cost = ((result.end or {}).get("usage") or {}).get("cost")
    return EMPTY if not cost else filled("{:.4g} {}", float(cost["amount"]), exact(str(cost["currency"])))
