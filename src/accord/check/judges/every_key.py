"""Keys that an edition does not name."""

from __future__ import annotations

from typing import Any

from accord.check.case import Case, Violation
from accord.check.entry import Entry, Record, is_request, messages_in
from accord.check.judge import judge
from accord.check.shape import pieces, shape_of
from accord.check.stage import VERSIONS

__all__: list[str] = []


@judge("ACP-SCHEMA-002", steps=("meet", "turns", "meet_able"))
def nothing_has_keys_that_the_schema_does_not_name(case: Case) -> None:
    found: dict[str, Entry] = {}
    for record in case.records:
        for piece in pieces(record):
            if piece.method == "initialize" and not _is_about(record, piece.value, VERSIONS[case.edition]):
                continue  # Another version has another shape.
            for key in shape_of(case.edition, piece).further:
                what = "result" if piece.is_result else "params"
                found.setdefault(f"{key!r} in the {what} of {piece.method}", piece.entry)
    if found:
        raise Violation(f"the schema does not name {', '.join(found)}", *list(found.values())[:2])


def _is_about(record: Record, result: Any, version: int) -> bool:
    """Whether the handshakes of a process were all for a version, and an answer is too."""
    if not isinstance(result, dict) or result.get("protocolVersion") != version:
        return False
    asked = [each for _, each in messages_in(record.entries, sent=True) if is_request(each, "initialize")]
    params = [each.get("params") for each in asked]
    return all(isinstance(each, dict) and each.get("protocolVersion") == version for each in params)
