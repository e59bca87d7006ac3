"""The editor of the user's `acp.json`, which keeps everything else in the file: keys, order, both shapes."""

from __future__ import annotations

import codecs
import contextlib
import errno
import json
import os
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from accord.config.acp_json import check_version
from accord.config.errors import ConfigError, Problem, UnknownAgent
from accord.config.fields import Notes, Table, join_key, parse_object, read_bytes
from accord.config.paths import ConfigPaths
from accord.stores.folder import make_folder
from accord.time_scale import scaled

if sys.platform != "win32":
    import fcntl

__all__ = ["add_agent", "remove_agent", "set_default"]

LOCK_SECONDS = scaled(10.0)
_RETRY_SECONDS = 0.02
_SURROGATES = re.compile("[\ud800-\udfff]")


def add_agent(
    name: str,
    argv: Sequence[str],
    *,
    env: Mapping[str, str | None] | None = None,
    settings: Mapping[str, Any] | None = None,
    replace: bool = False,
    path: str | os.PathLike[str] | None = None,
) -> Path:
    """Keep an agent in the user's file, in the shape that the file has; returns the file.

    `settings` are further keys of the entry (`cwd`, `timeoutMs`, `permissionPolicy`, ...). With `replace` an entry of
    that name is changed: other keys stay.

    Raises:
        ConfigError: The name is taken, or the file is invalid; then it is not changed.
    """
    if not name.strip() or not argv or not argv[0].strip():
        raise ValueError("an agent has a name and a command")
    entry: dict[str, Any] = {"command": argv[0], "args": list(argv[1:]), **({"env": dict(env)} if env else {})}
    entry.update(settings or {})
    place = _place(path)
    with _changing(place) as document:
        existing = _entry(document, name)
        if existing is None:
            _append(document, name, entry, place)
        elif not replace:
            key = join_key("agent_servers", name)
            raise ConfigError(str(place), [Problem(key, f"a new name; there is an agent {name!r} already")])
        else:
            existing.update(entry)
    return place


def remove_agent(name: str, *, path: str | os.PathLike[str] | None = None) -> Path:
    """Remove an agent from the user's file, also as the default; returns the file.

    Raises:
        UnknownAgent: The file has none of that name. ConfigError: The file is invalid; then it is not changed.
    """
    place = _place(path)
    with _changing(place) as document:
        if _entry(document, name) is None:
            raise UnknownAgent(name, hint=f"in {place}")
        if isinstance(document.get("agent_servers"), dict):
            document["agent_servers"].pop(name, None)
        if isinstance(document.get("servers"), list):
            document["servers"] = [each for each in document["servers"] if not _is_named(each, name)]
        if document.get("defaultServer") == name:
            del document["defaultServer"]
    return place


def set_default(name: str, *, path: str | os.PathLike[str] | None = None) -> Path:
    """Make an agent the default in the user's file; its entry may be in another file. Returns the file."""
    place = _place(path)
    with _changing(place) as document:
        document["defaultServer"] = name
    return place


def _place(path: str | os.PathLike[str] | None) -> Path:
    # Through a link: a user who keeps the real file elsewhere expects the change there.
    return Path(os.path.realpath(ConfigPaths.here().user_file if path is None else path))


def _is_named(entry: Any, name: str) -> bool:
    return isinstance(entry, dict) and entry.get("name") == name


def _entry(document: dict[str, Any], name: str) -> dict[str, Any] | None:
    servers, named = document.get("servers"), document.get("agent_servers")
    found: list[Any] = [each for each in servers if _is_named(each, name)] if isinstance(servers, list) else []
    if isinstance(named, dict) and isinstance(named.get(name), dict):
        found.append(named[name])
    return found[0] if found else None


def _append(document: dict[str, Any], name: str, entry: dict[str, Any], place: Path) -> None:
    if "servers" in document and "agent_servers" not in document:
        if not isinstance(document["servers"], list):
            raise ConfigError(str(place), [Problem("servers", "a list of objects")])
        document["servers"].append({"name": name, **entry})
        return
    named = document.setdefault("agent_servers", {})
    if not isinstance(named, dict):
        raise ConfigError(str(place), [Problem("agent_servers", "an object of objects, by name")])
    named[name] = entry


@contextlib.contextmanager
def _changing(place: Path) -> Iterator[dict[str, Any]]:
    """The document, to be changed; written back in one step if nothing went wrong, and by one process at a time."""
    try:
        make_folder(place.parent)
        with _alone(place.parent):
            content = read_bytes(place)
            document: dict[str, Any] = {}
            if content is not None:
                document, repeated = parse_object(content, str(place))
                check_version(Table(document, "", Notes()), str(place))
                if repeated:
                    expected = "one value; the key occurs more than once, and a change would lose the others"
                    raise ConfigError(str(place), [Problem(key, expected) for key in repeated])
            yield document
            mark = codecs.BOM_UTF8 if content is not None and content.startswith(codecs.BOM_UTF8) else b""
            _write(place, mark + _serialized(document, place))
    except OSError as error:
        raise ConfigError(str(place), [Problem("", f"a file that can be written ({error.strerror})")]) from error


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Hold the folder's lock: a lock on the file would be lost when the file is replaced.

    Raises:
        OSError: Another process holds it for too long.
    """
    if sys.platform == "win32":
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        deadline = time.monotonic() + LOCK_SECONDS
        while not _locked(descriptor):
            if time.monotonic() >= deadline:
                raise TimeoutError(errno.ETIMEDOUT, "another process keeps its folder locked")
            time.sleep(_RETRY_SECONDS)
        yield
    finally:
        os.close(descriptor)


def _locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _serialized(document: dict[str, Any], place: Path) -> bytes:
    try:
        text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
    except ValueError as error:
        problem = Problem("", "numbers that JSON has; NaN, Infinity and 1e999 are none")
        raise ConfigError(str(place), [problem]) from error
    # A lone surrogate has no UTF-8, but a JSON escape.
    return (_SURROGATES.sub(lambda half: f"\\u{ord(half[0]):04x}", text) + "\n").encode()


def _write(place: Path, content: bytes) -> None:
    mode = place.stat().st_mode & 0o777 if place.exists() else 0o600
    descriptor, name = tempfile.mkstemp(dir=place.parent, prefix=".acp-", suffix=".new")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(mode)
        Path(name).replace(place)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
