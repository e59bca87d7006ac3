"""The handshake in v2 and in June: versions, who the agent is, and what it can do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from accord.check.case import Case, Violation
from accord.check.judge import judge
from accord.check.judges.v2_fit import misfit
from accord.check.judges.v2_sight import BOTH, JUNE, V2, VERSION, asked_in, handshake, handshakes, is_whole

__all__: list[str] = []

UNSUPPORTED_VERSION = -32022
FAR_FUTURE = 65535

_NOTHING: dict[str, Any] = {}
_SESSION: dict[str, Any] = {
    "prompt": {"image": {}, "audio": {}, "embeddedContext": {}},
    "mcp": {"stdio": {}, "http": {}},
    "delete": {},
    "additionalDirectories": {},
}
MARKERS: dict[str, dict[str, Any]] = {
    "v2": {"session": _SESSION, "auth": {}},
    "v2_june": {
        "session": {**_SESSION, "load": {}, "list": {}, "resume": {}, "close": {}},
        "auth": {"logout": {}},
    },
}
"""The capabilities of each edition as a tree."""
UNSTABLE = {
    "": {"providers", "nes", "positionEncoding"},
    "auth": {"status"},
    "session": {"fork", "archive", "status", "title", "systemPrompt"},
    "session.mcp": {"acp"},
}
"""What the unstable texts add to it: no vendor's."""


def _version(value: dict[str, Any]) -> int | None:
    version = value.get("protocolVersion")
    return version if type(version) is int else None


@judge("ACP-INIT-001", steps=("meet",), editions=BOTH)
def the_handshake_succeeds(case: Case) -> None:
    handshake(case)


@judge("ACP-INIT-201", steps=("meet",), editions=BOTH)
def the_version_is_one_that_was_asked_for(case: Case) -> None:
    asked, result = handshake(case)
    version = _version(result)
    # There is no version above the one that is asked for.
    if version is None or not 1 <= version <= VERSION:
        raise Violation(
            f"the version is {result.get('protocolVersion')!r}, and 2 was asked for", asked.entry, asked.answer_entry
        )


@judge("ACP-INIT-003", steps=("meet", "oversized_version"), editions=BOTH)
def a_version_from_the_far_future_is_not_echoed(case: Case) -> None:
    asked, result = handshake(case)
    (probe,) = asked_in(case.begun("oversized_version"), "initialize")
    if probe.result is None:
        raise Violation("who asks for version 65535 gets no version", probe.entry, probe.answer_entry)
    version, plain = _version(probe.result), _version(result)
    if version is None or version == FAR_FUTURE:
        raise Violation(
            f"who asks for version 65535 is told {probe.result.get('protocolVersion')!r}",
            probe.entry,
            probe.answer_entry,
        )
    if plain is not None and version < plain:
        raise Violation(
            f"who asks for version 65535 is told {version}, and who asks for 2 is told {plain}",
            asked.answer_entry,
            probe.answer_entry,
        )


@judge("ACP-INIT-202", steps=("version_one",), editions=BOTH)
def who_asks_for_version_one_is_told_a_version(case: Case) -> str:
    (probe,) = asked_in(case.begun("version_one"), "initialize")
    error = probe.answer.get("error")
    if case.edition == "v2" and isinstance(error, dict) and error.get("code") == UNSUPPORTED_VERSION:
        return "there is no version so low"
    version = None if probe.result is None else _version(probe.result)
    if version not in {1, 2}:
        raise Violation("who asks for version 1 is told neither 1 nor 2", probe.entry, probe.answer_entry)
    return f"version {version}"


@judge("ACP-INIT-203", steps=("meet",), editions=V2)
def the_agent_tells_its_name_and_version(case: Case) -> None:
    asked = handshakes(case)[0]
    info = (asked.result or _NOTHING).get("info")
    if not isinstance(info, dict):
        raise Violation("there is no info", asked.answer_entry)
    for key in ("name", "version"):
        if not is_whole(info.get(key)):
            raise Violation(f"info.{key} is {info.get(key)!r}", asked.answer_entry)


@judge("ACP-INIT-004", steps=("meet",), editions=JUNE)
def the_agent_tells_its_name(case: Case) -> None:
    asked = handshakes(case)[0]
    info = (asked.result or _NOTHING).get("agentInfo")
    # That both are texts is for the rule about the schema.
    if not isinstance(info, dict) or not info.get("name") or not info.get("version"):
        raise Violation(f"agentInfo is {info!r}", asked.answer_entry)


def _markers(said: Any, tree: dict[str, Any], path: str) -> Iterator[tuple[str, Any]]:
    """Every capability that an edition knows and an agent told, with its path."""
    yield path, said
    if isinstance(said, dict):
        for key, inner in tree.items():
            if key in said:
                yield from _markers(said[key], inner, f"{path}.{key}")


@judge("ACP-INIT-204", steps=("meet",), editions=BOTH)
def capabilities_are_objects(case: Case) -> None:
    for asked in handshakes(case):
        said = (asked.result or {}).get("capabilities")
        for path, marker in _markers(said, MARKERS[case.edition], "capabilities"):
            if marker is not None and not isinstance(marker, dict):
                raise Violation(f"{path} is {marker!r}, and no object", asked.answer_entry)


@judge("ACP-SCHEMA-001", steps=("meet",), editions=BOTH)
def the_handshake_fits_the_schema(case: Case) -> None:
    for asked in handshakes(case):
        if asked.result is None:
            continue
        wrong = misfit(case.edition, "initialize", asked.result, is_result=True)
        if wrong:
            raise Violation(f"the answer to the handshake does not fit: {wrong}", asked.answer_entry)


def _strangers(said: Any, tree: dict[str, Any], path: str = "") -> Iterator[str]:
    """Every key in the capabilities that no text of the protocol has."""
    if isinstance(said, dict):
        for key, inner in said.items():
            name = f"{path}.{key}".lstrip(".")
            if key in tree:
                yield from _strangers(inner, tree[key], name)
            elif key != "_meta" and key not in UNSTABLE.get(path, set()):
                yield name


@judge("ACP-EXT-202", steps=("meet",), editions=BOTH)
def capabilities_beside_the_protocol_are_metadata(case: Case) -> None:
    for asked in handshakes(case):
        for name in _strangers((asked.result or _NOTHING).get("capabilities"), MARKERS[case.edition]):
            raise Violation(f"capabilities.{name} is not of the protocol and no metadata", asked.answer_entry)
