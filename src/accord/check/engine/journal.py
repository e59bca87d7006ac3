"""The journal and the ledger of settings that a check changes, so that all of them are restored.

The journal is on disk before a change is sent, and gone when all of it was set back: one JSON document per agent (its
command and the directory it is started in), below the state folder. A run holds the lock of its agent from its first
change on: a journal whose lock is free was left by a run that was killed.

The ledger observes every wire. A request that gives a setting another value is in the ledger, and in the journal,
before it is sent; one that may not be sent is kept back. So no step can change a setting that is not restored.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from accord.check.engine.settings import Key, Setting, Value, caution_of, set_by, settings_in
from accord.check.engine.wire import RecordedWire
from accord.check.rule import EDITIONS, EditionName, Options
from accord.config.paths import ConfigPaths

if sys.platform != "win32":
    import fcntl


FORMAT, VERSION = "accord-check-journal", 1
_FIELDS = {"format", "version", "argv", "cwd", "env", "edition", "changes"}
_CHANGE_FIELDS = {"kind", "id", "old", "new"}


class JournalError(Exception):
    """The journal cannot be written or read; has the reason in one line."""


@dataclass
class Change:
    """One setting that was changed: its value before the check, and every value that the check caused."""

    key: Key
    old: Value
    new: list[Value] = field(default_factory=list)


@dataclass
class Page:
    """The changes of one run."""

    edition: EditionName
    env: str
    """A digest of the variables that the agent was given: with others it may be another agent."""
    changes: list[Change]


class Journal:
    """The journal of one agent.

    Raises:
        JournalError: There is no state folder for this user.
    """

    def __init__(self, argv: Sequence[str], env: Mapping[str, str | None]) -> None:
        try:
            self._folder = ConfigPaths.here().state / "check"
            self._cwd = os.getcwd()  # noqa: PTH109 - as text, like argv
        except (OSError, RuntimeError) as error:
            raise JournalError(f"there is no folder for the journal of changes: {error}") from error
        self._argv = list(argv)
        self.env = _digest(sorted((name, value) for name, value in env.items()))
        name = _digest([self._argv, self._cwd])[:32]
        self.path = self._folder / f"{name}.json"
        self._lock_path = self._folder / f"{name}.lock"
        self._lock: int | None = None

    # --- the lock

    def lock(self) -> bool:
        """Take the lock of the agent; False while another run holds it.

        Raises:
            JournalError: The state folder cannot be written.
        """
        if self._lock is not None or sys.platform == "win32":
            return True
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(self._lock_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise JournalError(f"the journal of changes cannot be written: {_cause(error)}") from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
            return False
        self._lock = descriptor
        return True

    def unlock(self) -> None:
        """Release the lock; the file stays."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    # --- the document

    def write(self, page: Page) -> None:
        """Put a page on disk, in one piece and synced; an empty one removes the file.

        Raises:
            JournalError: It could not be written.
        """
        try:
            if page.changes:
                self._write(page)
            else:
                self.path.unlink(missing_ok=True)
            _sync_folder(self._folder)
        except OSError as error:
            raise JournalError(f"the journal of changes cannot be written: {_cause(error)}") from error

    def _write(self, page: Page) -> None:
        changes = [
            {"kind": each.key.kind, "id": each.key.id, "old": each.old, "new": each.new} for each in page.changes
        ]
        document = {"format": FORMAT, "version": VERSION, "argv": self._argv, "cwd": self._cwd}
        document |= {"env": page.env, "edition": page.edition, "changes": changes}
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=self._folder, prefix=".journal-", suffix=".new")
        try:
            with os.fdopen(descriptor, "w", encoding="ascii") as file:
                file.write(json.dumps(document, indent=1) + "\n")
                file.flush()
                os.fsync(file.fileno())
            Path(name).replace(self.path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise

    def read(self) -> Page | None:
        """The changes that an earlier run left; None if there are none.

        Raises:
            JournalError: The file is not a journal of this agent, or one of a later version.
        """
        try:
            text = self.path.read_text(encoding="ascii")
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, UnicodeDecodeError) as error:
            raise JournalError(f"{self.path} cannot be read: {_cause(error)}") from error
        try:
            document = json.loads(text)
        except (ValueError, RecursionError):
            raise JournalError(f"{self.path} is no JSON document") from None
        return self._parse(document)

    def _parse(self, document: Any) -> Page:
        if not isinstance(document, dict) or document.get("format") != FORMAT:
            raise JournalError(f"{self.path} is not a journal of accord check")
        if document.get("version") != VERSION or isinstance(document.get("version"), bool):
            found = document.get("version")
            raise JournalError(f"{self.path} has version {found!r}, and this version of Accord reads {VERSION}")
        is_sound = document.keys() == _FIELDS and document["edition"] in EDITIONS and isinstance(document["env"], str)
        if not is_sound or document["argv"] != self._argv or document["cwd"] != self._cwd:
            raise JournalError(f"{self.path} is not the journal of this agent")
        changes = document["changes"]
        if not isinstance(changes, list) or not all(map(_is_change, changes)):
            raise JournalError(f"{self.path} has an entry that is no change")
        found = [Change(Key(each["kind"], each["id"]), each["old"], each["new"]) for each in changes]
        return Page(document["edition"], document["env"], found)


def _is_change(said: Any) -> bool:
    if not isinstance(said, dict) or said.keys() != _CHANGE_FIELDS or not isinstance(said["new"], list):
        return False
    values = [said["old"], *said["new"]]
    if said["kind"] not in ("option", "mode", "model") or not isinstance(said["id"], str):
        return False
    return all(isinstance(each, str | bool) for each in values)


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value).encode("ascii")).hexdigest()


def _cause(error: Exception) -> str:
    return str(error.strerror) if isinstance(error, OSError) and error.strerror else type(error).__name__


def _sync_folder(folder: Path) -> None:
    """A name that was replaced or removed is on disk when its folder is."""
    if sys.platform == "win32" or not folder.exists():
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


_OPENING = ("session/new", "session/load", "session/resume")
_SETTING = ("session/set_config_option", "session/set_mode", "session/set_model")
FLAGS = {"model": "--touch-model", "permission": "--touch-permission"}


class Untouched(Exception):
    """A setting must not be changed; has the reason."""


class SettingsLedger:
    """The settings that the processes of one check changed."""

    def __init__(self, options: Options, journal: Journal | str | None) -> None:
        self._options = options
        self._journal = journal
        """The journal; None where none is needed, or the reason why there is none, so that nothing may be changed."""
        self._first: dict[Key, Value] = {}
        """The values in a new session before anything was changed."""
        self._views: dict[tuple[str, str], dict[Key, Setting]] = {}
        """The latest settings of each session of each process."""
        self._asked: dict[tuple[str, str], dict[str, Any]] = {}
        """Pending requests whose results contain settings."""
        self._changed_in: dict[tuple[str, str], list[Key]] = {}
        self.changes: dict[Key, Change] = {}

    # --- allowed changes

    def why_not(self, setting: Setting, value: Any) -> str:
        """The reason why a setting must not get a value; "" if it may."""
        caution = caution_of(setting, value)
        allowed = {"": True, "model": self._options.touch_model, "permission": self._options.touch_permission}
        if allowed[caution]:
            return ""
        what = "picks the model" if caution == "model" else "may loosen permission"
        return f"{setting.key} {what} and is left alone: give {FLAGS[caution]}"

    def settings(self, wire: RecordedWire, session: Any) -> dict[Key, Setting]:
        return dict(self._views.get((wire.name, str(session)), {}))

    def changed_in(self, wire: RecordedWire) -> dict[str, list[Key]]:
        """The sessions of a process with changed settings, and their keys in the order of the changes."""
        return {session: list(keys) for (name, session), keys in self._changed_in.items() if name == wire.name}

    def is_back(self, wire: RecordedWire, session: str) -> bool:
        """Whether all changed settings of a session have their old values; then the session counts as restored."""
        view = self.settings(wire, session)
        keys = self._changed_in.get((wire.name, session), [])
        if any(key not in view or view[key].value != self.changes[key].old for key in keys):
            return False
        self._changed_in.pop((wire.name, session), None)
        return True

    def forget(self, key: Key) -> None:
        """Remove a change: a new session of a new process has the old value again.

        Raises:
            JournalError: That could not be written.
        """
        self.changes.pop(key, None)
        self._write()

    def close(self) -> None:
        if isinstance(self._journal, Journal):
            self._journal.unlock()

    # --- messages

    def sending(self, wire: RecordedWire, message: Any) -> None:
        """See `Observer`.

        Raises:
            Untouched: It would change a protected setting.
        """
        for session, key, value in set_by(message):
            self._before_change(wire, str(session), key, value)
        for each in message if isinstance(message, list) else [message]:
            method = each.get("method") if isinstance(each, dict) else None
            if method in (*_OPENING, *_SETTING) and "id" in each:
                self._asked[wire.name, repr(each["id"])] = each

    def _before_change(self, wire: RecordedWire, session: str, key: Key, value: Any) -> None:
        setting = self._views.get((wire.name, session), {}).get(key)
        if setting is None or not isinstance(value, str | bool):
            return  # There is no such setting: the agent has to refuse it.
        if value == self._first.get(key, setting.value) == setting.value:
            return
        is_back = key in self.changes and value == self.changes[key].old
        reason = "" if is_back else self.why_not(setting, value)
        if reason:
            raise Untouched(reason)
        self._note(key, value, setting.value)
        keys = self._changed_in.setdefault((wire.name, session), [])
        if key not in keys:
            keys.append(key)

    def _note(self, key: Key, value: Value, current: Value) -> None:
        known = self.changes.get(key)
        change = known or Change(key, self._first.get(key, current))
        if known and value in (known.old, *known.new):
            return
        self.changes[key] = Change(key, change.old, [*change.new, *([value] if value != change.old else [])])
        try:
            self._write()
        except JournalError as error:
            if known is None:
                del self.changes[key]
            else:
                self.changes[key] = known
            raise Untouched(f"{error}; nothing is changed without it") from error

    def _write(self) -> None:
        if isinstance(self._journal, str):
            raise JournalError(self._journal)
        if self._journal is not None:
            if not self._journal.lock():
                raise JournalError("another check of this agent is changing its options")
            page = Page(self._options.edition, self._journal.env, list(self.changes.values()))
            self._journal.write(page)

    def received(self, wire: RecordedWire, message: Any) -> None:
        for each in message if isinstance(message, list) else [message]:
            if not isinstance(each, dict):
                continue
            params = each.get("params")
            if each.get("method") == "session/update" and isinstance(params, dict):
                self._take(wire, params.get("sessionId"), settings_in(params.get("update")), whole=False)
            elif "method" not in each and "id" in each:
                request = self._asked.pop((wire.name, repr(each["id"])), None)
                if request is not None and "result" in each:
                    self._answered(wire, request, each["result"])

    def _answered(self, wire: RecordedWire, request: dict[str, Any], result: Any) -> None:
        settings = settings_in(result)
        params = request.get("params")
        session = params.get("sessionId") if isinstance(params, dict) else None
        if request["method"] == "session/new":
            session = result.get("sessionId") if isinstance(result, dict) else None
            for setting in settings:
                self._first.setdefault(setting.key, setting.value)
        for _, key, value in set_by(request):
            # The results of `set_mode` and `set_model` contain no settings: success has to be enough.
            before = self._views.get((wire.name, str(session)), {}).get(key)
            if before is not None and all(setting.key != key for setting in settings):
                settings.append(replace(before, value=value))
        self._take(wire, session, settings, whole=request["method"] in _OPENING)

    def _take(self, wire: RecordedWire, session: Any, settings: list[Setting], *, whole: bool) -> None:
        place = (wire.name, str(session))
        view = {} if whole else self._views.get(place, {})
        self._views[place] = view
        for setting in settings:
            before = view.get(setting.key)
            # An update of the mode names the mode alone.
            is_bare = before is not None and not setting.text
            view[setting.key] = replace(before, value=setting.value) if before is not None and is_bare else setting
            first = self._first.get(setting.key)
            is_moved = before is not None and before.value != setting.value and first not in (None, setting.value)
            if not whole and is_moved and place in self._changed_in:
                self._follow(place, setting, before.value)  # type: ignore[union-attr]

    def _follow(self, place: tuple[str, str], setting: Setting, before: Value) -> None:
        """One change may cause others: they are restored as well."""
        if setting.key not in self._changed_in[place]:
            self._changed_in[place].append(setting.key)
        # Where it cannot be written: it has happened already, and its cause is in the journal.
        with suppress(Untouched):
            self._note(setting.key, setting.value, before)
