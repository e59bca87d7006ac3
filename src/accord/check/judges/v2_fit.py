"""Whether what an agent says fits the open types of v2 and June: words that nobody knows do, wrong types do not."""

from __future__ import annotations

from typing import Any

from accord.protocol.codec import Codec, Misfit
from accord.protocol.edition import V2, V2_JUNE, Edition

__all__ = ["misfit"]

_EDITIONS: dict[str, Edition] = {"v2": V2, "v2_june": V2_JUNE}


def misfit(edition: str, method: str, value: Any, *, is_result: bool) -> str:
    """What does not fit in params of the agent's or in a result of its, "" if all does.

    Unknown words are for other rules, which say what they may be; what a lenient reader would drop does not fit.
    """
    kind = _type_of(_EDITIONS[edition], method, is_result=is_result)
    if kind is None:
        return ""
    codec = Codec()
    try:
        codec.convert(kind, value)
        if codec.dropped:
            Codec(strict=True).convert(kind, value)
    except Misfit as wrong:
        return str(wrong)
    return "a part of it is of the wrong type" if codec.dropped else ""


def _type_of(edition: Edition, method: str, *, is_result: bool) -> Any:
    if is_result:
        served = edition.request("agent", method)
        return None if served is None else served.result
    said = edition.request("client", method) or edition.notification("client", method)
    return None if said is None else said.params
