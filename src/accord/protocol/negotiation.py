"""Negotiation: the edition that an `initialize` selects, by the shape of its params or result, not the version alone.

Both v2 drafts announce version 2, and several agents answer 2 and then speak v1. The tests for either
side are in tables below, tried in order. Tolerant is the default; strict refuses everything that an edition forbids.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from accord.errors import InvalidParams, NegotiationFailed, RequestError, UnsupportedVersion
from accord.protocol.edition import V1, V2, V2_JUNE, Edition

__all__ = ["NEWEST_VERSION", "Selection", "select_as_agent", "select_as_client"]

NEWEST_VERSION = 2
_UINT16 = range(2**16)


class Selection(msgspec.Struct, frozen=True):
    """The edition to speak, and the version to announce in the answer.

    `exact` is False where the client asked for more than it gets: then its params are read leniently.
    """

    edition: Edition
    version: int
    exact: bool = True


class _Asked(msgspec.Struct, frozen=True):
    version: int
    info: bool
    client_info: bool
    capabilities: bool
    client_capabilities: bool


# Params of a client -> the edition it uses. The first test that holds decides.
_AS_AGENT: tuple[tuple[Callable[[_Asked], bool], Edition], ...] = (
    (lambda a: a.version <= 1, V1),
    (lambda a: a.client_capabilities and not a.capabilities, V1),
    (lambda a: a.info, V2),
    (lambda a: a.version == V2_JUNE.version, V2_JUNE),
    (lambda a: a.client_info and not a.capabilities, V1),
    (lambda _: True, V2),
)


def select_as_agent(params: Any, offered: Sequence[Edition], *, strict: bool = False) -> Selection | RequestError:
    """The answer of an agent with the editions `offered` to the raw params of an `initialize`.

    An error has to be sent instead of a result; the connection stays open for another try.
    """
    asked = _asked(params)
    if asked is None:
        data = {"field": "protocolVersion", "expected": "an integer of at least 0 and at most 65535"}
        return InvalidParams(data=data)
    wanted = next(edition for test, edition in _AS_AGENT if test(asked))
    found = _offered(wanted, offered)
    if strict and found is not None and wanted is V2_JUNE and not asked.client_info:
        return InvalidParams(data={"field": "info", "expected": "a value: it is required"})
    if found is not None:
        return Selection(found, found.version, exact=asked.version <= found.version)
    return _next_best(asked, offered)


def _next_best(asked: _Asked, offered: Sequence[Edition]) -> Selection | RequestError:
    """The selection where the edition that the client speaks is not offered."""
    fitting = [edition for edition in offered if edition.version <= asked.version]
    if fitting:
        best = max(fitting, key=lambda edition: edition.version)
        return Selection(best, best.version, exact=asked.version <= best.version)
    june = _offered(V2_JUNE, offered)
    if june is not None and _offered(V2, offered) is None:
        # The letter of June has no error for this: an agent answers with the newest version it has.
        return Selection(june, june.version)
    data = {"requested": asked.version, "supported": sorted({edition.version for edition in offered})}
    return UnsupportedVersion(data=data)


def _asked(params: Any) -> _Asked | None:
    if not isinstance(params, Mapping):
        return None
    version = params.get("protocolVersion")
    if type(version) is not int or version not in _UINT16:
        return None
    return _Asked(
        version,
        isinstance(params.get("info"), Mapping),
        isinstance(params.get("clientInfo"), Mapping),
        isinstance(params.get("capabilities"), Mapping),
        isinstance(params.get("clientCapabilities"), Mapping),
    )


class _Answered(msgspec.Struct, frozen=True):
    version: int
    info: bool
    capabilities: bool
    agent_capabilities: bool


_BARE = _Answered(V2_JUNE.version, info=False, capabilities=False, agent_capabilities=False)

# Result of an agent -> the edition it uses, also where it echoes our version and uses another edition.
_AS_CLIENT: tuple[tuple[Callable[[_Answered], bool], Edition], ...] = (
    (lambda a: a.version <= 1, V1),
    (lambda a: a.agent_capabilities and not a.info, V1),
    (lambda a: a.info, V2),
    (lambda a: a.capabilities, V2_JUNE),
    (lambda _: True, V1),
)


def select_as_client(result: Any, editions: Sequence[Edition], *, strict: bool = False) -> Edition:
    """The edition that the raw result of an `initialize` selects, among those the client speaks.

    Raises:
        NegotiationFailed: The agent speaks none of them, or a version that is not known yet, or gave none at all. A
            strict client also refuses a number that does not fit the shape of the answer.
    """
    version = result.get("protocolVersion") if isinstance(result, Mapping) else None
    if type(version) is not int or version not in _UINT16:
        raise NegotiationFailed("the agent's answer to initialize names no protocol version")
    answered = _Answered(
        version,
        isinstance(result.get("info"), Mapping),
        isinstance(result.get("capabilities"), Mapping),
        isinstance(result.get("agentCapabilities"), Mapping),
    )
    if version > NEWEST_VERSION:
        raise NegotiationFailed(f"the agent speaks version {version}, which is not known here", answered=version)
    wanted = next(edition for test, edition in _AS_CLIENT if test(answered))
    found = _offered(wanted, editions)
    if found is None and answered == _BARE:
        # June requires nothing but the version, so this is a complete answer for a client of June without v1.
        found = _offered(V2_JUNE, editions)
    if found is None:
        names = ", ".join(edition.name for edition in editions)
        answer = f"it answered version {version}"
        if version != wanted.version:
            answer = f"{answer}, in the form of {wanted.name}"
        raise NegotiationFailed(f"the agent speaks {wanted.name} ({answer}), this client {names}", answered=version)
    if strict and found.version != version:
        raise NegotiationFailed(f"the agent answered version {version} and speaks {found.name}", answered=version)
    return found


def _offered(wanted: Edition, offered: Sequence[Edition]) -> Edition | None:
    """The wanted edition, or its draft where that is offered."""
    return next((edition for edition in offered if edition.name == wanted.name), None)
