"""What a client of v1 is asked for only where it offers it: files, terminals, forms."""

from __future__ import annotations

from typing import Any

from accord.check.case import Case, Violation
from accord.check.entry import messages_in
from accord.check.judge import judge
from accord.check.judges.v1_handshake import offers

__all__: list[str] = []

_STEPS = ("meet", "turns", "cancel", "meet_able")


def _offers_files(offered: dict[str, Any]) -> bool:
    files = offered.get("fs")
    return isinstance(files, dict) and any(files.values())


def _offers_forms(offered: dict[str, Any]) -> bool:
    modes = offered.get("elicitation")
    return isinstance(modes, dict) and any(isinstance(mode, dict) for mode in modes.values())


def _check(case: Case, prefix: str, what: str, offered: Any) -> None:
    for record in case.records:
        if offered(offers(record)):
            continue
        for entry, message in messages_in(record.entries):
            if str(message.get("method", "")).startswith(prefix):
                hello = next((each for each in record.entries if each.sent), None)
                raise Violation(f"{message['method']} is asked of a client that offers no {what}", hello, entry)


@judge("ACP-CLIENTCAP-001", steps=_STEPS, editions=("v1",))
def files_are_asked_for_only_where_they_are_offered(case: Case) -> None:
    _check(case, "fs/", "files", _offers_files)


@judge("ACP-CLIENTCAP-002", steps=_STEPS, editions=("v1",))
def terminals_are_asked_for_only_where_they_are_offered(case: Case) -> None:
    _check(case, "terminal/", "terminals", lambda offered: bool(offered.get("terminal")))


@judge("ACP-CLIENTCAP-003", steps=_STEPS, editions=("v1",))
def forms_are_shown_only_where_they_are_offered(case: Case) -> None:
    _check(case, "elicitation/create", "forms", _offers_forms)
